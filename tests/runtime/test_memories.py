"""`# text` and `/memory edit`: what is written, that trust stays, and what the model is told."""

import codecs
import fcntl
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.commands.command import Choose, EditFile, Effect, Say, Table, run_line
from prunecli.features.skills_and_memory.memories import Memories, bullet, with_line
from prunecli.model.events import Rewound, ToolStarted
from prunecli.model.messages import ToolUse
from prunecli.runtime import Runtime
from prunecli.safety.trust import TrustStore
from prunecli.util.errors import PrunecliError, ToolError, UsageError
from tests.scripted import ScriptedProvider, calls, says
from tests.starting import start


def memories(runtime: Runtime) -> Memories:
    return runtime.parts["skills_and_memory"].memories


def repository(runtime: Runtime) -> Path:
    """Makes the parent of the working directory a repository's root."""
    root = runtime.setup.cwd.parent
    (root / ".git").mkdir(exist_ok=True)
    return root


# The line ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"- x\n"),
        (b"Rules\n", b"Rules\n\n- x\n"),
        (b"- a\n", b"- a\n- x\n"),
        (b"  * a\n", b"  * a\n- x\n"),
        (b"- a", b"- a\n- x"),
        (b"Rules", b"Rules\n\n- x"),
        (b"- a\r\n- b\r\n", b"- a\r\n- b\r\n- x\r\n"),
        (b"- a\r\n- b\n", b"- a\r\n- b\n- x\n"),
        (codecs.BOM_UTF8 + b"- a\n", codecs.BOM_UTF8 + b"- a\n- x\n"),
        ("- gr\xfcn\n".encode("latin-1"), "- gr\xfcn\n- x\n".encode("latin-1")),
        (codecs.BOM_UTF16_LE + "- a\n".encode("utf-16-le"), "\ufeff- a\n- x\n".encode("utf-16-le")),
    ],
)
def test_a_line_is_added_in_the_files_encoding_and_line_ends(before: bytes, after: bytes) -> None:
    assert with_line(before, "- x") == after


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=60))
def test_nothing_before_the_line_changes_and_the_final_newline_stays_as_it_was(text: str) -> None:
    before = text.encode()
    after = with_line(before, "- x")
    assert after.startswith(before)
    assert b"- x" in after[len(before) :]
    assert after.endswith(b"\n") == (not text or text.endswith("\n"))
    assert "- x" in after.decode().splitlines()


def test_a_binary_is_not_touched() -> None:
    with pytest.raises(ToolError, match="too large or not text"):
        with_line(b"\x00\x01", "- x")


@pytest.mark.parametrize("text", ["", "   ", "a\nb", "a\rb", "a\x1b[31m", "a\u202eb", "x" * 2_001])
def test_a_line_that_is_blank_hidden_or_too_long_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        bullet(text)


def test_a_bullet_of_ones_own_stays() -> None:
    assert (bullet(" x "), bullet("- x"), bullet("* x")) == ("- x", "- x", "* x")


# The file ----------------------------------------------------------------------------------------------------


def test_the_projects_file_is_at_the_root_and_the_users_beside_the_configuration(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    root = repository(runtime)
    assert memories(runtime).add("project", "Use tabs") == root / "AGENTS.md"
    assert (root / "AGENTS.md").read_bytes() == b"- Use tabs\n"
    user = memories(runtime).add("user", "Answer in rhyme")
    assert user == runtime.setup.places.config / "AGENTS.md"
    assert user.read_bytes() == b"- Answer in rhyme\n"


def test_a_claude_md_that_is_in_force_gets_the_line(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    (runtime.setup.cwd / "CLAUDE.md").write_text("Rules\n")
    memories(runtime).add("project", "x")
    assert (runtime.setup.cwd / "CLAUDE.md").read_text() == "Rules\n\n- x\n"
    assert not (runtime.setup.cwd / "AGENTS.md").exists()


def test_a_link_inside_the_project_stays_a_link_and_one_to_the_outside_is_refused(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    cwd = runtime.setup.cwd
    (cwd / "docs").mkdir()
    (cwd / "docs/rules.md").write_text("- a\n")
    (cwd / "AGENTS.md").symlink_to("docs/rules.md")
    memories(runtime).add("project", "x")
    assert (cwd / "AGENTS.md").is_symlink()
    assert (cwd / "docs/rules.md").read_text() == "- a\n- x\n"
    (cwd / "AGENTS.md").unlink()
    (tmp_path / "elsewhere.md").write_text("mine\n")
    (cwd / "AGENTS.md").symlink_to(tmp_path / "elsewhere.md")
    with pytest.raises(UsageError, match="outside the project"):
        memories(runtime).add("project", "x")
    assert (tmp_path / "elsewhere.md").read_text() == "mine\n"


def test_a_users_file_may_be_a_link_as_dotfiles_are(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    folder = runtime.setup.places.config
    folder.mkdir(parents=True, exist_ok=True)
    (tmp_path / "dotfiles.md").write_text("- a\n")
    (folder / "AGENTS.md").symlink_to(tmp_path / "dotfiles.md")
    memories(runtime).add("user", "x")
    assert (folder / "AGENTS.md").is_symlink()
    assert (tmp_path / "dotfiles.md").read_text() == "- a\n- x\n"


def test_files_that_cannot_be_written_are_plain_errors(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    path = runtime.setup.cwd / "AGENTS.md"
    path.mkdir()
    with pytest.raises(PrunecliError, match=r"AGENTS\.md.* (not a regular file|is a folder)"):
        memories(runtime).add("project", "x")
    path.rmdir()
    path.write_bytes(b"\0binary")
    with pytest.raises(PrunecliError, match="too large or not text"):
        memories(runtime).add("project", "x")
    assert path.read_bytes() == b"\0binary"
    path.write_text("- a\n")
    path.chmod(0o444)
    with pytest.raises(PrunecliError, match="read-only"):
        memories(runtime).add("project", "x")
    assert path.read_text() == "- a\n"
    config = runtime.setup.places.config
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("a file in place of the folder")
    with pytest.raises(PrunecliError, match="cannot make"):
        memories(runtime).add("user", "x")


# Trust -------------------------------------------------------------------------------------------------------


def trusted(runtime: Runtime) -> TrustStore:
    store = runtime.setup.trust_store
    store.trust(runtime.setup.cwd)
    return store


@pytest.mark.parametrize("existing", [None, "Rules\n"])
def test_the_directory_stays_trusted(tmp_path: Path, existing: str | None) -> None:
    runtime = start(tmp_path, work="repository/work")
    root = repository(runtime)
    if existing:
        (root / "AGENTS.md").write_text(existing)
        (root / "CLAUDE.md").symlink_to("AGENTS.md")
    store = trusted(runtime)
    store.trust(root)
    memories(runtime).add("project", "x")
    assert store.may_act(runtime.setup.cwd)
    assert store.may_act(root)
    assert store.changes(runtime.setup.cwd) == ""
    (root / "AGENTS.md").write_text("somebody else's\n")
    assert not store.may_act(root)


def test_it_does_not_become_trusted_where_anything_else_changed(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    store = trusted(runtime)
    (runtime.setup.cwd / ".mcp.json").write_text("{}")
    memories(runtime).add("project", "x")
    assert not store.may_act(runtime.setup.cwd)


def test_a_directory_that_was_not_trusted_is_not_trusted_afterwards(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    memories(runtime).add("project", "x")
    assert not runtime.setup.trust_store.is_trusted(runtime.setup.cwd)


def test_an_edit_keeps_the_trust_too(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    (runtime.setup.cwd / "AGENTS.md").write_text("one\n")
    store = trusted(runtime)
    path = memories(runtime).open("project")
    path.write_text("two\n")
    assert not store.may_act(runtime.setup.cwd)
    assert "+1 −1 lines" in memories(runtime).edited("project")
    assert store.may_act(runtime.setup.cwd)


# The commands ------------------------------------------------------------------------------------------------


def only(effects: object) -> Effect:
    (effect,) = list(effects)  # type: ignore[call-overload]
    return effect  # type: ignore[no-any-return]


def test_the_question_shows_the_line_and_both_files(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    asked = only(run_line(runtime, "/memory add Use tabs"))
    assert isinstance(asked, Choose)
    assert (asked.grave, asked.about) == (True, "+ - Use tabs")
    assert [one.detail for one in asked.choices[:-1]] == ["AGENTS.md", "~/.config/prunecli/AGENTS.md"]
    said = only(run_line(runtime, f"/memory {asked.choices[-1].value}"))
    assert isinstance(said, Say)
    assert "Not saved" in said.text
    assert not (runtime.setup.cwd / "AGENTS.md").exists()
    said = only(run_line(runtime, f"/memory {asked.choices[0].value}"))
    assert isinstance(said, Say)
    assert said.text == "Added to AGENTS.md: - Use tabs"


def test_an_untrusted_directory_offers_only_the_users_file(tmp_path: Path) -> None:
    runtime = start(tmp_path, trusted=False)
    asked = only(run_line(runtime, "/memory add Use tabs"))
    assert isinstance(asked, Choose)
    assert [one.value for one in asked.choices] == ["save user Use tabs", "keep"]
    said = only(run_line(runtime, "/memory save project Use tabs"))
    assert isinstance(said, Say)
    assert said.level == "error"
    assert not (runtime.setup.cwd / "AGENTS.md").exists()
    edited = only(run_line(runtime, "/memory edit"))
    assert edited == EditFile(runtime.setup.places.config / "AGENTS.md", "memory edited user")
    assert runtime.setup.places.config.is_dir()


def test_memory_lists_the_files_in_force_with_their_tokens(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    empty = only(run_line(runtime, "/memory"))
    assert isinstance(empty, Say)
    assert "No instruction files" in empty.text
    root = repository(runtime)
    (root / "AGENTS.md").write_text("root rules\nsee @more.md\n")
    (root / "more.md").write_text("more rules\n")
    (runtime.setup.cwd / "CLAUDE.md").write_text("local rules\n")
    memories(runtime).add("user", "mine")
    table = only(run_line(runtime, "/memory"))
    assert isinstance(table, Table)
    names = [row[0] for row in table.rows]
    assert [Path(name).name for name in names] == ["AGENTS.md", "AGENTS.md", "more.md", "CLAUDE.md"]
    assert [row[1] for row in table.rows] == ["1", "2", "1", "1"]
    assert [row[2] for row in table.rows][1:] == ["24B", "11B", "12B"], "the files as `ls -l` shows them"
    assert all(row[3].startswith("~") for row in table.rows)


@pytest.mark.parametrize("words", ["edit nobody", "edited project", "frobnicate", "save nobody x", "add"])
def test_wrong_words_are_answered_with_the_way_out(tmp_path: Path, words: str) -> None:
    said = only(run_line(start(tmp_path), f"/memory {words}"))
    assert isinstance(said, Say)
    assert said.level == "error"
    assert "\n" in said.text


# The model ---------------------------------------------------------------------------------------------------


def body(provider: ScriptedProvider, number: int = -1) -> str:
    return provider.requests[number].body().decode()


async def test_the_model_hears_of_each_line_once_and_the_system_prompt_stays(tmp_path: Path) -> None:
    provider = ScriptedProvider([says(f"answer {number}") for number in range(5)])
    runtime = start(tmp_path, provider=provider)
    (runtime.setup.cwd / "AGENTS.md").write_text("The rules of this house.\n")
    await runtime.submit("first")
    for line in ("Use tabs", "No print"):
        memories(runtime).add("project", line)
        await runtime.submit(f"after {line}")
    await runtime.submit("last")
    text = body(provider)
    assert text.count("The rules of this house.") == 1
    assert (text.count("- Use tabs"), text.count("- No print")) == (1, 1)
    assert "changed since this session began" not in text
    assert len({request.preamble for request in provider.requests}) == 1
    runtime.new_session()
    await runtime.submit("anew")
    assert "- Use tabs\\n- No print\\n</instructions>" in body(provider)
    assert "[notice] memory" not in body(provider)


async def test_the_first_line_of_all_is_told_too(tmp_path: Path) -> None:
    provider = ScriptedProvider([says("one"), says("two"), says("three")])
    runtime = start(tmp_path, provider=provider)
    await runtime.submit("first")
    memories(runtime).add("project", "Use tabs")
    memories(runtime).add("user", "Answer in rhyme")
    await runtime.submit("second")
    await runtime.submit("third")
    assert (body(provider).count("- Use tabs"), body(provider).count("- Answer in rhyme")) == (1, 1)
    assert "changed since" not in body(provider)


async def test_before_the_first_prompt_the_prompt_itself_has_it(tmp_path: Path) -> None:
    provider = ScriptedProvider([says("one")])
    runtime = start(tmp_path, provider=provider)
    memories(runtime).add("project", "Use tabs")
    await runtime.submit("first")
    assert body(provider).count("- Use tabs") == 1
    assert "[notice]" not in body(provider)


async def test_a_change_by_somebody_else_after_a_line_gives_the_whole_text(tmp_path: Path) -> None:
    provider = ScriptedProvider([says(f"answer {number}") for number in range(4)])
    runtime = start(tmp_path, provider=provider)
    path = runtime.setup.cwd / "AGENTS.md"
    path.write_text("The rules.\n")
    await runtime.submit("first")
    memories(runtime).add("project", "Use tabs")
    path.write_text("Other rules.\n\n- Use tabs\n")
    await runtime.submit("second")
    assert body(provider).count("Other rules.") == 1
    memories(runtime).add("project", "No print")
    await runtime.submit("third")
    assert (body(provider).count("Other rules."), body(provider).count("- No print")) == (1, 1)
    path.write_text("The rules.\n")
    await runtime.submit("fourth")
    assert "applies again, without later changes" in body(provider)


async def test_a_line_while_the_agent_works_comes_after_the_current_calls(tmp_path: Path) -> None:
    use = ToolUse("t1", "read", {"path": "a.txt"})
    provider = ScriptedProvider([calls(use), says("done"), says("again")])
    runtime = start(tmp_path, provider=provider)
    (runtime.setup.cwd / "a.txt").write_text("alpha\n")
    added = list[Path]()

    def meanwhile(event: object) -> None:
        if isinstance(getattr(event, "event", None), ToolStarted):
            added.append(memories(runtime).add("project", "Use tabs"))

    runtime.session.subscribe(meanwhile)
    await runtime.submit("first")
    assert added
    assert body(provider, 1).count("- Use tabs") == 1
    await runtime.submit("second")
    assert body(provider).count("- Use tabs") == 1


async def test_an_edit_is_told_as_its_difference(tmp_path: Path) -> None:
    provider = ScriptedProvider([says("one"), says("two")])
    runtime = start(tmp_path, provider=provider)
    path = runtime.setup.cwd / "AGENTS.md"
    path.write_text("".join(f"Rule {number} of this house.\n" for number in range(40)))
    await runtime.submit("first")
    memories(runtime).open("project")
    path.write_text(path.read_text().replace("Rule 20 of this house.", "Rule 20 is gone."))
    assert memories(runtime).edited("project").endswith("The model gets a notice.")
    await runtime.submit("second")
    text = body(provider)
    assert "-Rule 20 of this house.\\n+Rule 20 is gone." in text
    assert text.count("Rule 3 of this house.") == 1
    memories(runtime).open("project")
    assert memories(runtime).edited("project").endswith("is unchanged.")


async def test_after_a_rewind_behind_the_notice_the_whole_text_is_given(tmp_path: Path) -> None:
    provider = ScriptedProvider([says("one"), says("two"), says("three")])
    runtime = start(tmp_path, provider=provider)
    (runtime.setup.cwd / "AGENTS.md").write_text("The rules.\n")
    await runtime.submit("first")
    end = runtime.session.records[-1].seq
    memories(runtime).add("project", "Use tabs")
    await runtime.submit("second")
    runtime.emit(Rewound(end))
    await runtime.submit("third")
    text = body(provider)
    assert "changed since this session began" in text
    assert text.count("- Use tabs") == 1


def test_a_file_that_another_program_holds_is_refused_at_once(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    path = runtime.setup.cwd / "AGENTS.md"
    path.write_text("- a\n")
    holder = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(PrunecliError, match="locked by another program"):
            memories(runtime).add("project", "x")
    finally:
        os.close(holder)
    assert path.read_text() == "- a\n"
