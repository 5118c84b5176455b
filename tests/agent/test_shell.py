"""The strict parser of shell lines, and which lines pass without a question."""

import contextlib
import os
import random
import re
import shutil
import stat
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from prunecli.model.shell import MAX_COMMANDS, MAX_LINE, Doubt, Line, Open, Value, parse
from prunecli.model.shell_script import parse_script
from prunecli.safety.permissions.harmless import is_listed, read_command
from prunecli.safety.permissions.harmless_commands import FORMS
from prunecli.safety.permissions.scope import CommandScope
from prunecli.safety.permissions.verdict import MODES, Rules
from tests.agent.judged import Scene, corpus, scene

BYPASSES = corpus("bypass_corpus.txt")
BENIGN = corpus("benign_corpus.txt")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return scene(tmp_path_factory.mktemp("scene"))


# The parser --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "commands", "joins"),
    [
        ("ls", [["ls"]], []),
        ("  ls   -la  ", [["ls", "-la"]], []),
        ("grep 'a b' \"c d\" e'f'\"g\"", [["grep", "a b", "c d", "efg"]], []),
        ("a|b&&c;d||e", [["a"], ["b"], ["c"], ["d"], ["e"]], ["|", "&&", ";", "||"]),
        ('grep "foo\\|bar\\d" x', [["grep", "foo\\|bar\\d", "x"]], []),
        ("ls 2>&1 | head >/dev/null", [["ls"], ["head"]], ["|"]),
        ("ls > /dev/null 2>/dev/null&&b", [["ls"], ["b"]], ["&&"]),
        ("echo '' \"\"", [["echo", "", ""]], []),
        ("\nls\n\n  cat x &&\n b 2>/dev/null\nc\n", [["ls"], ["cat", "x"], ["b"], ["c"]], [";", "&&", ";"]),
        ("find \\( ! -name \\*.go \\)", [["find", "(", "!", "-name", "*.go", ")"]], []),
        ('grep "\\$x\\`\\\\" "(a|b)$" "a$|b$"', [["grep", "$x`\\", "(a|b)$", "a$|b$"]], []),
        ("git diff HEAD~2 HEAD^ a@b", [["git", "diff", "HEAD~2", "HEAD^", "a@b"]], []),
        ("echo 'größe' \"→\" '$x `y` \\z !'", [["echo", "größe", "→", "$x `y` \\z !"]], []),
    ],
)
def test_plain_lines_are_split_as_bash_splits_them(
    text: str, commands: list[list[str]], joins: list[str]
) -> None:
    assert parse(text) == Line(tuple(map(tuple, commands)), tuple(joins))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it contains an empty command"),
        ("ls;", "it contains an empty command"),
        ("| ls", "it contains an empty command"),
        ("ls &&", "it contains an empty command"),
        ("ls ;; ls", "it contains an empty command"),
        ("ls & ls", "it runs a command in the background"),
        ("ls |& ls", "it uses a redirection"),
        ("echo $x", "it uses a variable or substitution"),
        ('echo "$x"', "it uses a variable or substitution"),
        ("echo `x`", "it uses a substitution"),
        ("ls [a", "it uses a wildcard"),
        ("ls 'a'*", "it uses a wildcard"),
        ("* x", "it uses a wildcard"),
        ("ls {a,b}", "it uses braces"),
        ("(ls)", "it uses a subshell"),
        ("cat < x", "it uses a redirection"),
        ("ls > x", "it redirects output to a file"),
        ("ls 2>&1x", "it redirects output to a file"),
        ("ls >/dev/null/x", "it redirects output to a file"),
        ("foo2>&1", "it redirects output to a file"),
        ("cat ~/x", "it uses a tilde"),
        ("echo a=~/x", "it uses a tilde"),
        ("echo a:~", "it uses a tilde"),
        ("echo ''~", "it uses a tilde"),
        ("echo \\\nrm", "it contains a backslash"),
        ("ls \\; rm", "it contains a backslash"),
        ("echo \\é", "it contains a backslash"),
        ("echo \\", "it contains a backslash"),
        ("ls \\.*", "it uses a wildcard"),
        ('echo "\\!"', "it contains a backslash"),
        ('echo "\\\\$x"', "it uses a variable or substitution"),
        ('echo "$\'x"', "it uses a variable or substitution"),
        ('echo "$(x)"', "it uses a variable or substitution"),
        ('echo "a\nb"', "it contains a line break"),
        ("ls\n;rm", "it contains an empty command"),
        ("ls\n# rm", "it contains a comment"),
        ("ls !x", "it uses history expansion or negation"),
        ("ls | ! rm", "it uses history expansion or negation"),
        ('echo "a\\', "it contains a backslash"),
        ("echo 'a", "it has an unclosed quote"),
        ('echo "a', "it has an unclosed quote"),
        ("echo 'a\nb'", "it contains a line break"),
        ("ls\trm", "it contains the character U+0009"),
        ("ls\u00a0rm", "it contains the character U+00A0"),
        ("ls 'a\u202eb'", "it contains the character U+202E"),
        ("ls \ud800", "it contains the character U+D800"),
        ("ls é", "it contains the character é"),
        ("ls #x", "it contains a comment"),
        ("! ls", "it uses history expansion or negation"),
        ("A=1 ls", "it sets a variable"),
        ("if ls", "it uses the shell keyword 'if'"),
        ("'time' ls", "it uses the shell keyword 'time'"),
    ],
)
def test_what_bash_could_read_in_another_way_is_doubt(text: str, reason: str) -> None:
    with pytest.raises(Doubt) as caught:
        parse(text)
    assert caught.value.reason == reason


_WORDS = st.text(st.characters(exclude_categories=("C", "Z"), include_characters=" "))  # what is printable
_COMMANDS = st.lists(
    st.tuples(st.sampled_from(["ls", "npm", "git", "./x", "a.b"]), st.lists(_WORDS)), min_size=1, max_size=4
)


@given(commands=_COMMANDS, joins=st.lists(st.sampled_from(["|", "&&", ";", "||"]), min_size=3, max_size=3))
def test_a_line_written_out_is_read_back_as_itself(
    commands: list[tuple[str, list[str]]], joins: list[str]
) -> None:
    """What an offered rule says is what it will match."""
    line = Line(tuple((name, *words) for name, words in commands), tuple(joins[: len(commands) - 1]))
    assert parse(str(line)) == line


# The corpora -------------------------------------------------------------------------------------------------


def test_the_corpora_are_as_large_as_they_are_said_to_be() -> None:
    assert len(set(BYPASSES)) == len(BYPASSES) >= 120
    assert len(set(BENIGN)) == len(BENIGN) >= 60


def test_no_line_of_the_bypass_corpus_runs_where_nothing_is_trusted(here: Scene) -> None:
    """`permissions/test_corpora.py` judges every known way around a list of harmless commands in the other modes."""
    passed = [line for line in BYPASSES if here.bash(line, mode="auto", trusted=False).kind != "deny"]
    assert not passed


def test_nine_of_ten_everyday_lines_pass_without_a_question(here: Scene) -> None:
    """The other side of the scale."""
    asked = [line for line in BENIGN if here.bash(line).kind != "allow"]
    assert len(asked) * 10 <= len(BENIGN), asked


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "auto"])
def test_a_harmless_line_passes_in_every_mode(here: Scene, mode: str) -> None:
    assert here.bash("git log --oneline -5 | head -3", mode=mode).kind == "allow"


def test_a_directory_outside_of_the_workspace_leaves_no_command_harmless(here: Scene) -> None:
    """A line is judged with the directory it really runs in."""
    assert here.bash("cat x", cwd=here.outside).kind == "ask"
    assert here.bash("cat ../README.md", cwd=here.workspace / "src").kind == "allow"
    assert here.bash("cat ../../outside/x", cwd=here.workspace / "src").kind == "ask"
    assert here.bash("cat x", cwd=here.workspace / "out").kind == "ask"


def test_an_input_that_the_judgment_does_not_know_is_asked_about(here: Scene) -> None:
    """A directory or environment given by the model never passes unseen."""
    for extra in ({"cwd": "/etc"}, {"env": {"PATH": "."}}):
        assert here.judge("bash", {"command": "ls", **extra}).kind == "ask"
    assert here.judge("bash", {"command": "ls", "timeout": 5}).kind == "allow"


@pytest.mark.parametrize(
    "line",
    [
        " && ".join(["ls"] * 10_000),
        " | ".join(["cat README.md"] * (MAX_COMMANDS + 1)),
        "echo " + "a" * 1_000_000,
        "echo " + "'" * 999_999,
        "ls " + "-a " * MAX_LINE,
        "$(" * 100_000,
    ],
    ids=["ten thousand commands", "too many commands", "a megabyte", "quotes", "options", "nesting"],
)
def test_an_oversized_line_is_asked_about_and_denied_under_a_deny_rule(here: Scene, line: str) -> None:
    """Size never turns a denial or a question into consent."""
    assert here.bash(line).kind == "ask"
    for mode in MODES:
        verdict = here.bash(line + "; rm -rf /", rules=Rules(deny=("bash(rm:*)", "read(secret)")), mode=mode)
        assert verdict.kind in ("ask", "deny")


def test_every_listed_command_runs_nothing_when_an_unknown_option_is_added(here: Scene) -> None:
    around = CommandScope(here.workspace, here.workspace, here.home)
    for name in [*FORMS, "find"]:
        assert is_listed(name)
        if name == "echo":
            continue
        for option in ("--no-such-option", "--exec=x", "-%"):
            with pytest.raises(Doubt):
                read_command((name, option), around)


# The same line, read by bash ---------------------------------------------------------------------------------

UNSEEN = frozenset({"<", "[[", ":", "ulimit"})
"""Commands that the shell runs by itself."""
NAMES = sorted(
    {
        *FORMS,
        "[",
        "test",
        "git",
        "find",
        "rm",
        "tee",
        "sh",
        *(
            "xargs",
            "seq",
            "sleep",
            "date",
            "uname",
            "id",
            "whoami",
            "hostname",
            "nproc",
            "uptime",
            "free",
            "which",
        ),
        *("awk", "jq", "pwd", "true", "false"),
        "node",
        "python",
        "python3",
        "gcc",
        "make",
        "cmake",
    }
    - UNSEEN
)
BUILTINS = ("echo", "pwd", "test", "[", "true", "false", "type", "command", "printf")
_SHIM = """#!/bin/sh
{ printf '%s\\0' "${0##*/}" "$@"; } > "LOG/$$"
"""


Commands = Counter[tuple[str, ...]]


class Recorder:
    """A PATH of programs that only write down what they were called with, and a bash that has no other."""

    def __init__(self, folder: Path) -> None:
        self.log, self.bin, self.cwd = folder / "log", folder / "bin", folder / "cwd"
        for path in (self.log, self.bin, self.cwd):
            path.mkdir()
        shim = folder / "shim"
        shim.write_text(_SHIM.replace("LOG", str(self.log)))
        shim.chmod(shim.stat().st_mode | stat.S_IXUSR)
        for name in NAMES:
            os.symlink(shim, self.bin / name)

    def run(self, line: str) -> Commands:
        """The argument vectors that bash ran for the line, builtins included."""
        for path in self.log.iterdir():
            path.unlink()
        subprocess.run(
            ["/bin/bash", "-c", f"enable -n {' '.join(BUILTINS)}\n{line}"],
            env={"PATH": str(self.bin), "LC_ALL": "C.UTF-8"},
            cwd=self.cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30,
            check=False,
        )
        records = [path.read_bytes().split(b"\0")[:-1] for path in self.log.iterdir()]
        return Counter(tuple(word.decode() for word in record) for record in records)


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    if not shutil.which("bash", path="/bin"):
        pytest.skip("needs /bin/bash")
    return Recorder(tmp_path_factory.mktemp("recorder"))


_SAFE_BENIGN = [line for line in BENIGN if "/usr" not in line and "command" not in line]
_INSERTED = st.one_of(
    st.sampled_from(list("|&;()<>$`\\\"'*?[]{}~!#=%^ \t\n\r:,@+-/")),
    st.sampled_from(
        ["&&", "||", "|&", ">&", "2>", "$(", "${", "<<", "\\\n", "2>&1", ">/dev/null", "''", "--", " rm a "],
    ),
    st.sampled_from(
        [
            *("; done", "; do ", " fi", "; then ", "for a in b; do ", "<(", ") ", "{a,b}", "$f", '"$f"'),
            *("$?", "# ", "[[ ", "! "),
        ]
    ),
    st.characters(codec="utf-8", exclude_categories=["Cs"]),
)


COMPOUND = [
    *("tr a-z A-Z < README.md", "cat < README.md | wc -l", 'echo "$(pwd) $?"', "ls $(pwd)"),
    *("echo $(wc -l < README.md)", 'for f in src/a.py src/b.py; do cat "$f"; done'),
    *("for f in src/*.py; do wc -l $f; done", "cat src/{a,b}.py", "(cd src && ls); cat README.md"),
    *("{ ls; pwd; } | head", "if [ -f README.md ]; then ls; else pwd; fi; ls", "[[ -d src ]] && ls src"),
    *("! grep -q x README.md", "diff <(sort README.md) <(cat src/a.py)", "# all\nls\npwd"),
    *("git log $(git merge-base HEAD main)..HEAD", "for i in {1..3}; do echo $i; done", "ls src/*.{py,ts}"),
    *("if ls; then pwd; elif cat README.md; then id; fi", 'test "$(ls)" = x && ls'),
    *("grep -rl a src | xargs wc -l", "for f in $(grep -rl a src); do cat $f; done"),
    *("awk '{n += $1} END {print n}' README.md", "sed 's/a/b/' README.md"),
]


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A benign line with up to three things put in, taken out or doubled."""
    line = draw(st.sampled_from(_SAFE_BENIGN + COMPOUND))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(line)))
        cut = draw(st.integers(0, 2))
        line = line[:at] + draw(st.one_of(st.just(""), _INSERTED)) + line[at + cut :]
    return line


def _is_one_of(ran: tuple[str, ...], commands: Sequence[tuple[str, ...]]) -> bool:
    """Whether a command that ran is a parsed one, whose unknown words may be anything."""
    return any(
        (len(ran) == len(words) and all(map(_may_be, words, ran))) or _split(words, ran) for words in commands
    )


def _may_be(word: str, ran: str) -> bool:
    if not isinstance(word, Open):
        return word == ran
    parts = (".*" if isinstance(part, Value) else re.escape(part) for part in word.parts)
    return re.fullmatch("".join(parts), ran, re.DOTALL) is not None


def _split(words: tuple[str, ...], ran: tuple[str, ...]) -> bool:
    """Whether unquoted substitutions made more or fewer words, after the ones that are known."""
    fixed = next((at for at, word in enumerate(words) if isinstance(word, Open)), len(words))
    return fixed < len(words) and ran[:fixed] == words[:fixed]


def _differs(here: Scene, recorder: Recorder, line: str) -> str:
    """Runs an allowed line and returns the difference between what bash ran and what was parsed, or "".

    Of a line with || or compound commands not all needs to run.
    """
    if "\0" in line or here.bash(line).kind != "allow":
        return ""
    parsed = parse_script(line)
    return _difference(recorder.run(line), parsed)


def _difference(ran: Commands, parsed: Line) -> str:
    commands = [words for words in parsed.commands if words[0] not in UNSEEN]
    if parsed.flat:
        same = ran <= Counter(commands) if "||" in parsed.joins else ran == Counter(commands)
        return "" if same else f"{ran} is not {commands}"
    return next((f"{words} is not in {commands}" for words in ran if not _is_one_of(words, commands)), "")


@settings(max_examples=125, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=mutated())
def test_bash_runs_exactly_what_was_allowed(here: Scene, recorder: Recorder, line: str) -> None:
    """A short dose: an allowed mutation of a benign line runs the parsed words and nothing else."""
    assert not _differs(here, recorder, line)


@pytest.mark.long
def test_bash_runs_exactly_what_was_allowed_in_a_long_run(here: Scene, recorder: Recorder) -> None:
    """Many mutations, most of which are asked about at once."""

    @settings(max_examples=20_000, deadline=None, database=None)
    @given(line=mutated())
    def run(line: str) -> None:
        assert not _differs(here, recorder, line)

    run()


_PIECES = st.one_of(
    st.sampled_from(
        [
            *("ls", "rm", "echo", "cat", "tee", " ", " ", " ", "|", "&&", ";", "||", "'", '"', "\\", "\n"),
            *("$", "a", "b~", "~"),
        ]
    ),
    st.sampled_from(
        [
            *("$(", ")", "(", "for f in ", "; do ", "; done", "$f", '"$f"', "if ", "; then ", "; fi"),
            *("./{a,b}", "{1..2}"),
        ]
    ),
    st.sampled_from(
        ["<", "<(", "{ ", "; }", "# a\n", "! ", "[[ ", " ]]", "$?", "$HOME", "else ", "&>/dev/null"]
    ),
    st.sampled_from(
        [
            *("2>&1", ">/dev/null", "2>/dev/null", "=", "#", "-x", "--", "é", "!", "^", "%1", ":", "{", "}"),
            *("[", "*"),
        ]
    ),
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(_PIECES, min_size=1, max_size=14))
def test_what_the_parser_accepts_bash_reads_the_same_way(recorder: Recorder, pieces: list[str]) -> None:
    """Not only harmless lines; a rule of the user's may allow any program."""
    line = "".join(pieces)
    try:
        parsed = parse_script(line)
    except Doubt:
        return
    assume(all(words[0] in NAMES or words[0] in UNSEEN for words in parsed.commands))
    assert not _difference(recorder.run(line), parsed)
    with contextlib.suppress(Doubt):
        assert parse(line) == parsed


def test_the_recorder_notices_a_line_that_runs_something_else(recorder: Recorder) -> None:
    """Otherwise the tests above could not fail."""
    assert recorder.run("ls $(rm a)") == Counter({("ls",): 1, ("rm", "a"): 1})
    assert recorder.run("echo 'a b' \"c\\|d\" | cat -n && pwd") == Counter(
        {("echo", "a b", "c\\|d"): 1, ("cat", "-n"): 1, ("pwd",): 1}
    )


def test_benign_lines_run_as_parsed(here: Scene, recorder: Recorder) -> None:
    for line in random.Random(1).sample(_SAFE_BENIGN, 20):
        assert not _differs(here, recorder, line)
