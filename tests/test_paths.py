"""Where things are found: in a checkout, in an installed package, and in the folders of a user."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.util.paths import PACKAGE, Places, is_name, names_in, slug

ROOT = PACKAGE.parent


def test_a_bare_environment_gives_the_standard_folders():
    places = Places.of({"HOME": "/home/ada"}, "linux")
    assert places.config_file == Path("/home/ada/.config/prunecli/config.toml")
    assert places.settings_file == Path("/home/ada/.config/prunecli/settings.toml")
    assert places.sessions == Path("/home/ada/.local/share/prunecli/sessions")


def test_macos_keeps_data_in_application_support():
    places = Places.of({"HOME": "/Users/ada", "XDG_DATA_HOME": "/elsewhere"}, "darwin")
    assert places.data == Path("/Users/ada/Library/Application Support/prunecli")
    assert places.config == Path("/Users/ada/.config/prunecli")


def test_variables_move_the_folders():
    environ = {"HOME": "/home/ada", "XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d"}
    places = Places.of(environ, "linux")
    assert (places.config, places.data) == (Path("/c/prunecli"), Path("/d/prunecli"))
    assert Places.of({**environ, "PRUNECLI_HOME": "/p"}, "linux").data == Path("/p")
    assert Places.of({**environ, "PRUNECLI_HOME": "~/p"}, "linux").data == Path("/home/ada/p")


@pytest.mark.parametrize("name", ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "PRUNECLI_HOME"])
def test_a_relative_path_in_a_variable_never_leads_into_the_working_directory(name):
    places = Places.of({"HOME": "/home/ada", name: "repo/.evil"}, "linux")
    assert places.config.is_absolute()
    assert places.data.is_absolute()
    assert "repo" not in {*places.config.parts, *places.data.parts}


def test_without_a_home_there_still_are_places():
    assert Places.of({}, "linux").config.is_absolute()


def test_a_checkout_has_its_themes_beside_the_package():
    places = Places.of({"HOME": "/home/ada"})
    assert places.themes == ROOT / "themes"
    assert names_in(places.themes, ".toml")
    assert (places.shipped_data / "models.json").is_file()


def test_an_installed_package_ignores_what_lies_beside_it(tmp_path):
    package = tmp_path / "site-packages" / "prunecli"
    (package / "themes").mkdir(parents=True)
    (tmp_path / "site-packages" / "themes").mkdir()
    places = Places.of({"HOME": "/home/ada"}, package=package)
    assert places.themes == package / "themes"


@pytest.mark.slow
def test_what_is_built_carries_its_themes_and_the_marker_of_its_types(tmp_path):
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for name in ("pyproject.toml", "LICENSE", "sample-config.toml", "CHANGELOG.md", "hatch_build.py"):
        shutil.copy(ROOT / name, checkout)
    (checkout / "README.md").touch()
    for name in ("prunecli", "themes"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
    build = (
        "import sys; from hatchling.build import build_sdist, build_wheel\n"
        "print(build_wheel(sys.argv[1]), build_sdist(sys.argv[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)],
        cwd=checkout,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    built_wheel, built_sdist = done.stdout.split()[-2:]
    with zipfile.ZipFile(tmp_path / built_wheel) as wheel:
        wheel.extractall(tmp_path / "site-packages")
    with tarfile.open(tmp_path / built_sdist) as sdist:
        shipped = {name.partition("/")[2] for name in sdist.getnames()}
    assert (tmp_path / "site-packages" / "prunecli" / "py.typed").is_file()
    assert {"prunecli/py.typed", "sample-config.toml", "CHANGELOG.md"} <= shipped
    shutil.rmtree(checkout)
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from prunecli.util.paths import Places\n"
        "places = Places.of({'HOME': '/'})\n"
        "print(len(list(places.themes.iterdir())))"
    )
    arguments = [str(tmp_path / "site-packages")]
    done = subprocess.run(
        [sys.executable, "-I", "-c", script, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.split() == [str(len(list((ROOT / "themes").iterdir())))], done.stderr


@pytest.mark.slow
def test_the_source_distribution_is_smaller_than_five_megabytes(tmp_path):
    """The token table takes 2 of them, so that counting starts in 8 ms and 3 MB instead of 220 ms and 72 MB."""
    build = "import sys; from hatchling.build import build_sdist; print(build_sdist(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    [built] = tmp_path.glob("*.tar.gz")
    with tarfile.open(built) as sdist:
        largest = sorted(((one.size, one.name) for one in sdist.getmembers()), reverse=True)[:20]
    assert built.stat().st_size < 5 * 1024 * 1024, largest


def test_a_slug_is_readable_and_tells_directories_apart():
    assert slug(Path("/home/ada/src/app")).startswith("home-ada-src-app-")
    assert slug(Path("/a/b-c")) != slug(Path("/a-b/c"))
    assert slug(Path("/")).startswith("root-")


@given(st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=400))
def test_a_slug_is_a_name_that_every_file_system_takes(text):
    name = slug(Path("/") / text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape"))
    assert name.isascii()
    assert "/" not in name
    assert 0 < len(name) <= 90
    assert not name.startswith((".", "-"))


def test_sessions_of_a_linked_directory_are_those_of_the_directory(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    places = Places.of({"HOME": "/home/ada"})
    assert places.sessions_of(tmp_path / "link") == places.sessions_of(tmp_path / "real")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../a", "a.b", "_a", "-a", "a\0b", "a\n", "é", "a" * 65]
)
def test_a_name_can_not_lead_out_of_its_folder(name):
    assert not is_name(name)


def test_a_folder_lists_names_without_opening_files(tmp_path):
    for name in ("pi.py", "_shared.py", "no_pruning.py", "notes.txt", "a b.py", ".hidden.py"):
        (tmp_path / name).touch(mode=0)
    assert names_in(tmp_path, ".py") == ("no_pruning", "pi")
    assert names_in(tmp_path / "absent", ".py") == ()


def test_a_path_is_shown_with_a_tilde():
    places = Places.of({"HOME": "/home/ada"}, "linux")
    assert places.shown(Path("/home/ada/.config/x")) == "~/.config/x"
    assert places.shown(Path("/home/adam/x")) == "/home/adam/x"
    assert places.shown(Path("/home/ada/work/.claude/a.md"), Path("/home/ada/work")) == ".claude/a.md"
    assert places.shown(Path("/home/ada/.config/x"), Path("/home/ada/work")) == "~/.config/x"
