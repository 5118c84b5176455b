"""The files that `@` offers."""

from pathlib import Path

from prunecli.front.presentation import completion as files
from tests.files import put


def test_what_git_ignores_is_not_offered(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("build/\n*.log\n")
    for name in ("src/app.py", "build/out.js", "debug.log", "README.md"):
        path = tmp_path / name
        put(path, "")
    assert files.listed(str(tmp_path)) == ([".gitignore", "README.md", "src/", "src/app.py"], True)


def test_names_that_cannot_be_shown_are_left_out(tmp_path: Path) -> None:
    """A name with an escape sequence in it never reaches the screen."""
    for name in ("ok.txt", "a\x1b[31m.txt", "two words.txt", "line\nfeed"):
        (tmp_path / name).write_text("")
    assert files.listed(str(tmp_path))[0] == ["ok.txt", "two words.txt"]


def test_it_stops_when_it_is_told_to_and_says_that_there_is_more(tmp_path: Path) -> None:
    for number in range(450):
        (tmp_path / f"f{number:03}").write_text("")
    found, whole = files.listed(str(tmp_path), lambda: True)
    assert (len(found), whole) == (199, False)


def test_a_folder_that_is_gone_has_no_files(tmp_path: Path) -> None:
    assert files.listed(str(tmp_path / "gone")) == ([], True)


def test_what_tools_leave_behind_is_not_offered_also_without_ignore_files(tmp_path: Path) -> None:
    for name in (
        "app.py",
        "__pycache__/app.pyc",
        "node_modules/left/pad.js",
        "src/__pycache__/x.pyc",
        "src/x.py",
    ):
        path = tmp_path / name
        put(path, "")
    assert files.listed(str(tmp_path)) == (["app.py", "src/", "src/x.py"], True)
