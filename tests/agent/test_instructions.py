"""Imports in instruction files: what is read with them, and what is left as it is written."""

from pathlib import Path

from prunecli.agent.instructions import MAX_CHARS, Instructions
from tests.files import put


def found(tmp_path: Path, text: str, *, trusted: bool = True) -> list[str]:
    """The names of the files read for a project with this AGENTS.md, from its folder."""
    cwd, home = tmp_path / "p", tmp_path / "home"
    (cwd / ".git").mkdir(parents=True, exist_ok=True)
    put(cwd / "AGENTS.md", text)
    read = Instructions(cwd, home / ".config/prunecli", home, trusted=trusted).at_start()
    return [path.relative_to(tmp_path).as_posix() for path, _ in read]


def missed(tmp_path: Path, text: str) -> list[str]:
    """The files that are named as not read for a trusted project with this AGENTS.md."""
    found(tmp_path, text)
    read = Instructions(tmp_path / "p", tmp_path / "config", tmp_path / "home", trusted=True)
    read.at_start()
    return [line.removeprefix(f"{tmp_path}/p/AGENTS.md: ") for line in read.missed]


def test_the_files_in_the_folders_of_claude_code_and_prunecli_are_read_once(tmp_path: Path) -> None:
    put(tmp_path / "home/.claude/CLAUDE.md", "@mine.md")
    put(tmp_path / "home/.claude/mine.md", "Mine.")
    put(tmp_path / "home/.config/prunecli/CLAUDE.md", "Mine, too.")
    put(tmp_path / "p/.prunecli/AGENTS.md", "x")
    (tmp_path / "p/.claude").mkdir()
    (tmp_path / "p/.claude/CLAUDE.md").symlink_to("../AGENTS.md")
    users = ["home/.config/prunecli/CLAUDE.md", "home/.claude/CLAUDE.md", "home/.claude/mine.md"]
    assert found(tmp_path, "a") == [*users, "p/AGENTS.md", "p/.prunecli/AGENTS.md"]
    (tmp_path / "p/.claude/CLAUDE.md").unlink()
    put(tmp_path / "p/.claude/CLAUDE.md", "b")
    assert found(tmp_path, "a")[-1] == "p/.claude/CLAUDE.md"
    assert found(tmp_path, "a", trusted=False) == users


def test_names_with_spaces_are_imported(tmp_path: Path) -> None:
    put(tmp_path / "p/docs/my style.md", "x")
    put(tmp_path / "p/docs/my rules.md", "x")
    text = '@docs/my\\ style.md, and @"docs/my rules.md".'
    assert found(tmp_path, text)[1:] == ["p/docs/my style.md", "p/docs/my rules.md"]


def test_utf_16_is_read(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_bytes("Use tabs.\r\nAlways.".encode("utf-16"))
    read = Instructions(tmp_path, tmp_path / "config", tmp_path / "home", trusted=True).at_start()
    assert [text for _, text in read] == ["Use tabs.\nAlways."]


def test_an_import_that_fails_is_named_unless_no_file_is_meant(tmp_path: Path) -> None:
    put(tmp_path / "p/image.png", "a\0b")
    put(tmp_path / "p/.env", "KEY=1")
    (tmp_path / "p/src").mkdir()
    text = (
        "@docs/missing.md @missing.md @image.png @.env @../out.md @property @pytest.fixture @types/node @src"
    )
    assert missed(tmp_path, text) == [
        "@docs/missing.md was not imported: it does not exist.",
        "@missing.md was not imported: it does not exist.",
        "@image.png was not imported: it is not text.",
        "@.env was not imported: it may contain secrets.",
        "@../out.md was not imported: it is outside the project.",
    ]
    for number in range(9):
        put(tmp_path / f"p/{number}.md", f"@{number + 1}.md")
    assert "imports end at 5 levels" in missed(tmp_path, "@0.md")[0]


def test_an_instruction_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    assert missed(tmp_path, "a\0b") == [f"{tmp_path}/p/AGENTS.md was not read: it is not text."]


def test_imports_follow_their_file_and_are_relative_to_it(tmp_path: Path) -> None:
    put(tmp_path / "p/docs/style.md", "See @more.md.")
    put(tmp_path / "p/docs/more.md", "@style.md again")
    put(tmp_path / "home/.claude/mine.md", "Mine.")
    put(tmp_path / "home/.claude/settings.json", "{}")
    text = "Read @docs/style.md, @none.md, me@docs/more.md and @~/.claude/mine.md (@~/.claude/settings.json)"
    assert found(tmp_path, text) == [
        "p/AGENTS.md",
        "p/docs/style.md",
        "home/.claude/mine.md",
        "p/docs/more.md",
    ]


def test_code_imports_nothing(tmp_path: Path) -> None:
    for name in "abcd":
        put(tmp_path / f"p/{name}.md", "x")
    text = "`@a.md` and ``x ` @b.md``\n```sh\n@c.md\n```\n@d.md\n~~~\n@a.md"
    assert found(tmp_path, text) == ["p/AGENTS.md", "p/d.md"]


def test_imports_go_five_deep_and_stay_bounded(tmp_path: Path) -> None:
    for number in range(9):
        put(tmp_path / f"p/{number}.md", f"@{number + 1}.md")
    assert found(tmp_path, "@0.md") == ["p/AGENTS.md", *(f"p/{number}.md" for number in range(5))]
    for number in range(60):
        put(tmp_path / f"p/many/{number}.md", "x" * 4_000)
    names = found(tmp_path, " ".join(f"@many/{number}.md" for number in range(60)))
    assert len(names) == 1 + MAX_CHARS // 4_000


def test_secrets_links_out_of_the_project_and_what_is_no_text_are_not_imported(tmp_path: Path) -> None:
    put(tmp_path / "out.md", "x")
    put(tmp_path / "p/.env", "KEY=1")
    put(tmp_path / "p/image", "a\0b")
    (tmp_path / "p/link.md").symlink_to(tmp_path / "out.md")
    (tmp_path / "p/folder").mkdir()
    text = f"@.env @image @link.md @folder @../out.md @{tmp_path}/out.md @/etc/passwd @~nobody/x.md"
    assert found(tmp_path, text) == ["p/AGENTS.md"]
    assert found(tmp_path, text, trusted=False) == []


def test_the_users_own_file_imports_only_the_users_files_where_the_project_is_not_trusted(
    tmp_path: Path,
) -> None:
    home, cwd = tmp_path / "home", tmp_path / "p"
    put(home / ".config/prunecli/AGENTS.md", f"@own.md @{cwd}/x.md")
    own, of_project = put(home / ".config/prunecli/own.md", "Own."), put(cwd / "x.md", "Theirs.")

    def read(*, trusted: bool) -> list[Path]:
        return [path for path, _ in Instructions(cwd, home / ".config/prunecli", home, trusted).at_start()][
            1:
        ]

    assert read(trusted=False) == [own]
    assert read(trusted=True) == [own, of_project]


def test_a_local_file_comes_last_and_rules_for_all_files_before_it(tmp_path: Path) -> None:
    put(tmp_path / "home/.claude/rules/mine.md", "Mine.")
    put(tmp_path / "p/CLAUDE.local.md", "@own.md")
    put(tmp_path / "p/own.md", "Own.")
    put(tmp_path / "p/.claude/rules/deep/b.md", "---\ndescription: x\n---\nB.")
    put(tmp_path / "p/.claude/rules/a.md", "See @more.md.")
    put(tmp_path / "p/.claude/rules/more.txt", "Not a rule.")
    put(tmp_path / "p/.claude/rules/ts.md", "---\npaths: '**/*.ts'\n---\nOnly for some.")
    users, rules = ["home/.claude/rules/mine.md"], ["p/.claude/rules/a.md", "p/.claude/rules/deep/b.md"]
    assert found(tmp_path, "a") == [*users, "p/AGENTS.md", *rules, "p/CLAUDE.local.md", "p/own.md"]
    assert found(tmp_path, "a", trusted=False) == users
    read = Instructions(tmp_path / "p", tmp_path / "config", tmp_path / "home", trusted=True).at_start()
    assert [text for path, text in read if path.name == "b.md"] == ["B."]


def test_a_rule_that_cannot_be_read_is_named_and_costs_only_itself(tmp_path: Path) -> None:
    rules = tmp_path / "p/.claude/rules"
    put(rules / "damaged.md", "---\n- src\n---\nx")
    put(rules / "open.md", "---\npaths: x")
    put(rules / "data.md", "a\0b")
    put(rules / "braces.md", "---\npaths: '" + "{a,b}" * 20 + "'\n---\nx")
    put(tmp_path / "secret.md", "x")
    (rules / "link.md").symlink_to(tmp_path / "secret.md")
    put(rules / "good.md", "Good.")
    lines = missed(tmp_path, "a")
    assert [Path(line.split(": ")[0].split(" was ")[0]).name for line in lines] == [
        *("braces.md", "damaged.md", "data.md", "link.md", "open.md"),
    ]
    assert found(tmp_path, "a") == ["p/AGENTS.md", "p/.claude/rules/good.md"]


def test_more_rules_than_anybody_writes_are_not_read(tmp_path: Path) -> None:
    for number in range(205):
        put(tmp_path / f"p/.claude/rules/{number:03}.md", "x")
    assert "only the first 200 files were read" in missed(tmp_path, "a")[0]
    assert len(found(tmp_path, "a")) == 201
