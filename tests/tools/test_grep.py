"""The grep tool: what it finds, in what order, and that ripgrep and our own search agree."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prunecli.tools.searching import search
from prunecli.tools.searching.matches import Matches
from tests.tools.calling import Caller, processes_with
from tests.waiting import until

needs_ripgrep = pytest.mark.skipif(shutil.which("rg") is None, reason="needs ripgrep")


@pytest.fixture(params=["rg", "python"])
def either(request: pytest.FixtureRequest, workspace: Path) -> Caller:
    """Tools with ripgrep, and tools without."""
    if request.param == "python":
        return without_ripgrep(Caller(workspace))
    if shutil.which("rg") is None:
        pytest.skip("needs ripgrep")
    return Caller(workspace)


def without_ripgrep(tools: Caller) -> Caller:
    return tools.with_(env={**tools.context.env, "PATH": "/nowhere"})


@pytest.fixture
def tree(workspace: Path) -> Path:
    """A small repository with everything that a search meets."""
    files = {
        "src/a.py": "import os\ndef alpha():\n    return 1\n\n\ndef beta():\n    return 2",
        "src/b.ts": "function alpha() {}\r\nconst x = interface{}\n",
        "src.d/z.py": "alpha = 1\n",
        "docs/ünï.md": "Ünïcode ALPHA alpha\n",
        ".github/ci.yml": "run: alpha\n",
        ".hidden": "alpha\n",
        "build/out.py": "alpha\n",
        "long.txt": "x" * 700 + " alpha " + "y" * 5_000 + "\n",
        "longer.txt": "alpha " + "é" * 5_000 + "\n",
        ".gitignore": "build/\n*.log\n!kept.log\n",
        "x.log": "alpha\n",
        "kept.log": "alpha\n",
        "new\nline.txt": "alpha\n",
        "colon:1:x.txt": "alpha: one\n",
        "-rf": "alpha\n",
    }
    for name, text in files.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_bytes(text.encode())
    (workspace / "binary").write_bytes(b"alpha\0alpha\n")
    (workspace / "latin").write_bytes(b"alpha caf\xe9\n")
    (workspace / "wide").write_bytes("alpha\n".encode("utf-16"))
    (workspace / "late").write_bytes(
        b"alpha early\n" + b"word and word\n" * 20_000 + b"\nmiddle\n\0 alpha late\n"
    )
    (workspace / "link.py").symlink_to("src/a.py")
    (workspace / "folder").symlink_to("src")
    os.mkfifo(workspace / "pipe")
    (workspace / ".git").mkdir()
    (workspace / ".git/config").write_text("alpha\n")
    return workspace


async def test_matches_are_lines_with_path_and_number(either: Caller, tree: Path) -> None:
    text = await either.text("grep", pattern=r"def \w+\(", path="src")
    assert text == "src/a.py:2:def alpha():\nsrc/a.py:6:def beta():"


async def test_ignored_hidden_by_git_binary_and_linked_files_are_left_out(either: Caller, tree: Path) -> None:
    text = await either.text("grep", pattern="alpha", glob="!long*")
    found = [line.split(":")[0] for line in text.splitlines()]
    assert found == [
        "-rf",
        ".github/ci.yml",
        ".hidden",
        "colon",
        "docs/ünï.md",
        "kept.log",
        "late",
        "latin",
        "new\\x0aline.txt",
        "src/a.py",
        "src/b.ts",
        "src.d/z.py",
        "wide",
    ]


async def test_lines_around_a_match_are_marked_and_groups_are_separated(either: Caller, tree: Path) -> None:
    text = await either.text("grep", pattern="def ", path="src/a.py", context=1)
    assert text.splitlines() == [
        "src/a.py-1-import os",
        "src/a.py:2:def alpha():",
        "src/a.py-3-    return 1",
        "--",
        "src/a.py-5-",
        "src/a.py:6:def beta():",
        "src/a.py-7-    return 2",
    ]


async def test_long_lines_are_cut_at_five_hundred_characters(either: Caller, tree: Path) -> None:
    text = await either.text("grep", pattern="alpha", glob="long*.txt")
    assert text.splitlines() == [
        "long.txt:1:…" + "x" * 99 + " alpha " + "y" * 394 + "…",
        "longer.txt:1:alpha " + "é" * 494 + "…",
    ]


async def test_the_shown_part_of_a_long_line_has_the_first_match(either: Caller, workspace: Path) -> None:
    lines = [
        "é" * before + "alpha" + "z" * after
        for before in (0, 380, 480, 1_900, 2_040, 400_000)
        for after in (0, 600)
    ]
    (workspace / "a").write_text("\n".join([*lines, "short", "q" * 1_100_000 + "alpha"]))
    found = (await either.text("grep", pattern="alpha", context=1)).splitlines()
    shown = [line.split(":", 2)[2] for line in found if line.startswith("a:")]
    assert all("alpha" in line and len(line) <= 502 for line in shown[:-1])
    assert [line.endswith("…") for line in shown[:-1]] == [False, True] * 6
    assert shown[0] == "alpha"
    assert shown[-1] == "q" * 500 + "…", "so late in its line that the search does not print it"
    assert "a-13-short" in found


async def test_text_is_found_in_utf_16_and_after_a_byte_order_mark(either: Caller, workspace: Path) -> None:
    for name, encoding in (("a", "utf-16-le"), ("b", "utf-16-be"), ("c", "utf-8")):
        (workspace / name).write_bytes(
            ("\ufeffone 漢字\r\ntwo 漢字\r\n" + "x\r\n" * 40_000 + "last").encode(encoding)
        )
    found = await either.text("grep", pattern="^one 漢|^last$")
    assert found == "\n".join(f"{name}:1:one 漢字\n{name}:40003:last" for name in "abc")


async def test_a_searched_file_that_is_ignored_is_searched_all_the_same(either: Caller, tree: Path) -> None:
    assert await either.text("grep", pattern="alpha", path="build/out.py") == "build/out.py:1:alpha"
    assert await either.text("grep", pattern="alpha", path="build") == "build/out.py:1:alpha"


async def test_the_end_of_a_line_is_found_in_files_from_windows(either: Caller, workspace: Path) -> None:
    (workspace / "f").write_bytes(b"ax\r\nbx\n\r\ncx$\r\n")
    assert await either.text("grep", pattern="x$") == "f:1:ax\nf:2:bx"
    assert await either.text("grep", pattern="(^$|a)") == "f:1:ax\nf:3:"
    assert await either.text("grep", pattern=r"x\$$|[$]b") == "f:4:cx$"
    assert await either.text("grep", pattern=r"x\r$") == "f:1:ax"


async def test_a_glob_may_begin_with_the_searched_folder(either: Caller, tree: Path) -> None:
    relative = await either.text("grep", pattern="alpha", glob="src/*.py")
    assert "src/a.py:" in relative
    assert await either.text("grep", pattern="alpha", glob=f"{tree}/src/*.py") == relative
    name = f"{tree}/src/a.py"
    assert "a.py:" in await either.text("grep", pattern="alpha", path="src", glob=name)


async def test_paths_outside_the_working_directory_are_absolute(either: Caller, tree: Path) -> None:
    inside = either.with_(cwd=tree / "src")
    assert await inside.text("grep", pattern="alpha", path="../src.d") == f"{tree}/src.d/z.py:1:alpha = 1"
    assert (await inside.text("grep", pattern="beta")) == "a.py:6:def beta():"


async def test_at_most_two_hundred_matches_in_the_order_of_their_paths(
    either: Caller, workspace: Path
) -> None:
    for name in ("b", "a", "c"):
        (workspace / name).write_text("match\n" * 90)
    text = await either.text("grep", pattern="match")
    lines = text.splitlines()
    assert lines[-1] == "[the first 200 matches; narrow pattern, path or glob]"
    assert [line.split(":")[0] for line in lines[:-1]] == ["a"] * 90 + ["b"] * 90 + ["c"] * 20
    output = await either.output("grep", pattern="match")
    assert output.details == {"matches": 200, "files": 3, "truncated": True}


async def test_exactly_two_hundred_matches_are_all(either: Caller, workspace: Path) -> None:
    (workspace / "a").write_text("match\n" * 200)
    assert "narrow" not in await either.text("grep", pattern="match")


async def test_no_match_is_no_error(either: Caller, tree: Path) -> None:
    output = await either.output("grep", pattern="nowhere to be found")
    assert not output.is_error
    said = await either.text("grep", pattern="nowhere to be found")
    assert said == "No matches.\n[2 ignored: build/, x.log; name one as path to search it]"
    assert await either.text("grep", pattern="nowhere to be found", path="src") == "No matches."


async def test_the_output_limit_holds(either: Caller, workspace: Path) -> None:
    (workspace / "f").write_text("é match\n" * 300)
    text = await either.limited(1_000).text("grep", pattern="match", context=3)
    assert len(text.encode()) <= 1_000
    assert "[OUTPUT TRUNCATED]" in text or "fill the output" in text


@pytest.mark.parametrize("pattern", ["-e", "--pre=touch hacked", "-f/etc/passwd", "--", "--files"])
async def test_a_pattern_is_never_an_option(either: Caller, workspace: Path, pattern: str) -> None:
    (workspace / "f").write_text(f"x {pattern} y\n")
    assert await either.text("grep", pattern=pattern) == f"f:1:x {pattern} y"
    assert os.listdir(workspace) == ["f"]


@pytest.mark.parametrize("name", ["--pre=touch hacked", "-rf", "a:b", "\x1b[31m"])
async def test_a_path_is_never_an_option(either: Caller, workspace: Path, name: str) -> None:
    (workspace / name).write_text("x\n")
    assert (await either.text("grep", pattern="x", path=name)).endswith(":1:x")


async def test_a_glob_is_never_an_option(either: Caller, tree: Path) -> None:
    assert (await either.text("grep", pattern="alpha", glob="--pre=touch hacked")).startswith("No matches.")


async def test_the_configuration_of_ripgrep_is_not_read(workspace: Path) -> None:
    if shutil.which("rg") is None:
        pytest.skip("needs ripgrep")
    (workspace / "rc").write_text("--invert-match\n")
    (workspace / "f").write_text("one\ntwo\n")
    tools = Caller(workspace)
    tools = tools.with_(env={**tools.context.env, "RIPGREP_CONFIG_PATH": str(workspace / "rc")})
    assert await tools.text("grep", pattern="one", glob="f") == "f:1:one"


async def test_a_ripgrep_of_the_repository_is_not_run(workspace: Path) -> None:
    (workspace / "bin").mkdir()
    (workspace / "bin/rg").write_text("#!/bin/sh\ntouch hacked\n")
    (workspace / "bin/rg").chmod(0o755)
    (workspace / "f").write_text("needle\n")
    tools = Caller(workspace)
    poisoned = tools.with_(env={**tools.context.env, "PATH": f"{workspace}/bin:bin:."})
    assert await poisoned.text("grep", pattern="needle") == "f:1:needle"
    assert not (workspace / "hacked").exists()


# Bad input


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"pattern": ""}, "empty"),
        ({"pattern": "(a"}, "not a valid regular expression"),
        ({"pattern": "a{99999999999999999999}"}, "not a valid regular expression"),
        ({"pattern": "x", "path": "missing"}, "does not exist"),
        ({"pattern": "x", "path": "pipe"}, "neither a folder nor a regular file"),
        ({"pattern": "x", "path": "/dev/zero"}, "neither a folder nor a regular file"),
        ({"pattern": "x", "context": -1}, "from 0 to 20"),
        ({"pattern": "x", "context": 21}, "from 0 to 20"),
    ],
)
async def test_bad_input_is_refused(
    either: Caller, workspace: Path, given: dict[str, object], hint: str
) -> None:
    os.mkfifo(workspace / "pipe")
    assert hint in await either.error("grep", **given)


async def test_a_pattern_over_several_lines_is_explained(either: Caller, workspace: Path) -> None:
    (workspace / "f").write_text("a\nb\n")
    for pattern in ("a\nb", r"a\nb"):
        assert "line by line" in await either.error("grep", pattern=pattern)
    assert await either.text("grep", pattern=r"\\n") == "No matches."
    assert await either.text("grep", pattern=r"[^\n]b|b") == "f:2:b"


@pytest.mark.parametrize(
    "pattern", [r"(?<=def )alpha", r"(?P<x>al)pha\b", "interface{", r"alpha(?! )", r"(a)lph\1"]
)
async def test_a_pattern_that_only_python_knows_works_either_way(
    either: Caller, tree: Path, pattern: str
) -> None:
    assert ":" in await either.text("grep", pattern=pattern, path="src")


# Time


async def _evil(tools: Caller, workspace: Path) -> asyncio.Task[str]:
    (workspace / "a_found").write_text("aaab\n")
    (workspace / "evil").write_text("a" * 60 + "\n")
    return asyncio.create_task(without_ripgrep(tools).text("grep", pattern="^(a+)+b$"))


async def test_a_pattern_that_never_ends_is_cut_short_with_what_was_found(
    tools: Caller, workspace: Path
) -> None:
    """What was not searched to its end is not said to hold nothing."""
    call = await _evil(tools, workspace)
    nothing = without_ripgrep(tools).text("grep", pattern="^(a+)+b$", path="evil")
    found, not_found = await asyncio.gather(call, nothing)
    stopped = "[stopped after 5 s; narrow pattern, path or glob]"
    assert found == f"a_found:1:aaab\n{stopped}"
    assert not_found == f"No matches before the search was stopped.\n{stopped}"
    assert processes_with(str(workspace)) == []


async def test_a_search_is_canceled_at_once(tools: Caller, workspace: Path) -> None:
    """Nothing of it is left when the call is over; KILL needs no patience."""
    call = await _evil(tools, workspace)
    await until(lambda: any("line_search" in _line(pid) for pid in processes_with(str(workspace))))
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert processes_with(str(workspace)) == []


def _line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


# Both ways agree

PATTERNS = [
    "alpha", "ALPHA", "^def", r"\d$", r"\bx\b", "é", ".", "^$", r"\s+return", "a|b", "[a-z]+\\(", "$", r"\w+ \w+",
    "(?i)alpha", "function.*\\{", "x{3,}", "ünï", "[^\\n]a",
]  # fmt: skip
SCOPES: list[dict[str, object]] = [
    {"ignore_case": True},
    {"context": 2},
    {"glob": "*.py"},
    {"glob": "src/**"},
    {"glob": "*.{py,ts}", "context": 1},
    {"glob": "!*.txt"},
    {"path": "src"},
    {"path": "src/a.py", "context": 1},
    {"path": "folder"},
]


@needs_ripgrep
@pytest.mark.parametrize(
    "given",
    [{"pattern": pattern} for pattern in PATTERNS]
    + [{"pattern": pattern, **scope} for scope in SCOPES for pattern in ("alpha", r"\w+ \w")],
    ids=str,
)
async def test_ripgrep_and_our_own_search_give_the_same_text(tree: Path, given: dict[str, object]) -> None:
    tools = Caller(tree)
    ours = await without_ripgrep(tools).text("grep", **given)
    assert ours == await tools.text("grep", **given)


texts = st.lists(st.text(st.sampled_from("ab é\r\t"), max_size=6), max_size=12).map("\n".join)


@pytest.mark.slow
@needs_ripgrep
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(
    st.lists(texts, min_size=1, max_size=4),
    st.sampled_from(["a", "b+", "a b", "^a", "b$", r"\S\s\S", "[^a]", "a.b", "(a|é)b?"]),
    st.integers(0, 3),
    st.booleans(),
)
async def test_they_agree_on_any_text(
    tmp_path: Path, contents: list[str], pattern: str, context: int, ignore_case: bool
) -> None:
    for number, content in enumerate(contents):
        (tmp_path / f"f{number}").write_bytes(content.encode())
    for number in range(len(contents), 4):
        (tmp_path / f"f{number}").unlink(missing_ok=True)
    tools = Caller(tmp_path)
    given = {"pattern": pattern, "context": context, "ignore_case": ignore_case}
    assert await without_ripgrep(tools).text("grep", **given) == await tools.text("grep", **given)


@given(st.binary(max_size=80), st.integers(1, 20))
def test_any_output_of_a_search_is_understood_or_left(data: bytes, size: int) -> None:
    matches = Matches("", 1_000, lambda _: True)
    for at in range(0, len(data), size):
        matches.take(data[at : at + size])
    assert matches.text(separated=True).encode().decode() == matches.text(separated=True)


def test_searches_are_bounded_to_the_seconds_of_the_rule() -> None:
    assert search.MAX_SECONDS <= 5
