"""Sessions of other agents in this directory: listed by the lines that tell, found as typed, imported once."""

import gzip
import json
import os
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from prunecli.model.events import AssistantMessage
from prunecli.runtime.sessions import facts_of
from prunecli.session.importers.finding import listed
from prunecli.session.importers.handoff import check_some, find, hand_over
from prunecli.session.importers.heads import head_of
from prunecli.session.importers.source import read_source
from prunecli.session.log import read_log
from prunecli.session.store import Listed, Store
from prunecli.session.verify import verify_session
from prunecli.util.errors import SessionError, SessionNotFound, UsageError
from tests.session.importers.stores import RESUMED, environment, opencode_store, put

NEW = ("claude-code.jsonl", "codex.jsonl", "gemini-cli.jsonl", "gemini-cli-twice.jsonl", "pi.jsonl")


def agent_of(name: str) -> str:
    return f"@{name.partition('-')[0].partition('.')[0]}"


def here(environ: dict[str, str], agent: str, cwd: Path) -> list[Listed]:
    problems: list[str] = []
    found = list(listed(agent, environ, cwd, problems))
    assert problems == []
    return found


@pytest.mark.parametrize("name", NEW)
def test_a_list_shows_prompts_tokens_and_model_as_an_import_does(tmp_path: Path, name: str) -> None:
    agent = agent_of(name)
    environ, cwd = environment(tmp_path, name)
    [one] = here(environ, agent, cwd)
    assert (one.digest.prompts, one.digest.first, one.digest.last) == (
        3,
        "Read the notes.",
        "Thank you, that is all.",
    )
    assert one.cwd == str(cwd)
    events = [record.event for record in read_source(one.path).records]
    answers = [event for event in events if isinstance(event, AssistantMessage)]
    assert one.digest.context == answers[-1].usage.prompt_tokens > 0
    assert list(one.digest.spent) == [answers[-1].model]
    assert facts_of(one, one.changed + 7_200_000).startswith("3 prompts · ")
    assert facts_of(one, one.changed + 7_200_000).endswith(" tokens · 2h ago")
    assert here(environ, agent, tmp_path) == []


def test_opencodes_sessions_are_listed_from_its_database(tmp_path: Path) -> None:
    environ, cwd = environment(tmp_path)
    store = opencode_store(Path(environ["HOME"]), cwd)
    [one] = here(environ, "@opencode", cwd)
    assert (one.id, one.digest.prompts, one.digest.first) == ("ses_1", 1, "list it")
    assert (one.digest.context, list(one.digest.spent)) == (15, ["m"])
    assert one.path == store / "ses_1"
    moved = tmp_path / "elsewhere.db"
    store.rename(moved)
    assert [one.path for one in here({**environ, "OPENCODE_DB": str(moved)}, "@opencode", cwd)] == [
        moved / "ses_1"
    ]
    moved.write_text("no database at all, but a text that is long enough to look at")
    problems: list[str] = []
    assert list(listed("@opencode", {**environ, "OPENCODE_DB": str(moved)}, cwd, problems)) == []
    assert "not an OpenCode database" in problems[0]


def test_the_newest_comes_first_and_ids_prefixes_and_names_find_one(tmp_path: Path) -> None:
    environ, cwd = environment(tmp_path, "claude-code.jsonl", "claude-code-slash.jsonl")
    newest, older = here(environ, "@claude", cwd)
    assert newest.name == "colour of notes"
    assert newest.changed > older.changed
    for wanted in ("last", newest.id, newest.id[:6], "colour of notes"):
        assert find(f"@claude:{wanted}", environ, cwd).path == newest.path
    assert find(f"@claude:{older.id[:12]}", environ, cwd).path == older.path
    with pytest.raises(UsageError) as several:
        find("@claude", environ, cwd)
    assert newest.id in several.value.hint
    assert "sessions import @claude" in several.value.hint
    older.path.unlink()
    assert find("@claude", environ, cwd).path == newest.path, "the only one"


def test_no_session_and_unreadable_files_are_said(tmp_path: Path) -> None:
    environ, cwd = environment(tmp_path)
    with pytest.raises(SessionNotFound, match=r"no session of pi in "):
        find("@pi", environ, cwd)
    with pytest.raises(SessionNotFound, match="'abc'"):
        find("@pi:abc", environ, cwd)
    put(Path(environ["HOME"]) / ".pi/agent/sessions/x/1.jsonl", b"\x00\x01 this is no session\n" * 300)
    put(Path(environ["HOME"]) / ".pi/agent/sessions/x/empty.jsonl", b"")
    with pytest.raises(SessionNotFound) as none:
        check_some("@pi", environ, cwd)
    assert "1.jsonl: no JSON in its first lines" in none.value.hint
    assert "empty.jsonl" not in none.value.hint
    with pytest.raises(UsageError, match="no agent named '@vim'"):
        list(listed("@vim", environ, cwd, []))


def test_a_folder_reached_by_a_link_and_another_worktree_is_the_same_folder(tmp_path: Path) -> None:
    environ, cwd = environment(tmp_path, "codex.jsonl", "gemini-cli.jsonl")
    link = tmp_path / "link"
    link.symlink_to(cwd)
    assert len(here(environ, "@codex", link)) == 1
    assert len(here(environ, "@gemini", link)) == 1
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b")
    for words in (
        ("init", "-q"),
        ("commit", "-q", "--allow-empty", "-m", "one"),
        ("worktree", "add", "-q", "../tree"),
    ):
        subprocess.run([*git, *words], cwd=cwd, check=True, capture_output=True)
    tree = cwd.parent / "tree"
    assert [one.cwd for one in here(environ, "@codex", tree)] == [str(cwd)]
    assert len(here(environ, "@gemini", tree)) == 1
    (tree / "inner").mkdir()
    assert here(environ, "@codex", tree / "inner") == [], "another folder of the repository"


def test_gemini_names_a_folder_by_its_digest_in_older_versions(tmp_path: Path) -> None:
    environ, cwd = environment(tmp_path)
    digest = sha256(os.fsencode(cwd)).hexdigest()
    rows = gzip.decompress((RESUMED / "gemini-cli.jsonl.gz").read_bytes())
    put(Path(environ["HOME"]) / f".gemini/tmp/{digest}/chats/session-1.jsonl", rows)
    [one] = here(environ, "@gemini", cwd)
    assert one.cwd == str(cwd)


def test_a_subagents_session_and_one_without_a_prompt_are_not_listed(tmp_path: Path) -> None:
    environ, cwd = environment(tmp_path)
    sessions = Path(environ["HOME"]) / ".codex/sessions"
    source = {"subagent": {"thread_spawn": {}}}
    prompt = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}
    for name, origin, items in (("a", source, [prompt]), ("b", "cli", []), ("c", "cli", [prompt])):
        meta = {"id": name, "cwd": str(cwd), "source": origin, "timestamp": "2026-11-22T07:00:00Z"}
        rows = [{"type": "session_meta", "payload": meta}]
        rows += [{"type": "response_item", "payload": item} for item in items]
        put(sessions / f"{name}.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())
    assert [one.id for one in here(environ, "@codex", cwd)] == ["c"]


def test_a_session_that_is_being_written_is_listed_and_read_up_to_its_last_whole_line(tmp_path: Path) -> None:
    environ, cwd = environment(tmp_path, "claude-code.jsonl")
    [one] = here(environ, "@claude", cwd)
    whole = one.path.read_bytes()
    with one.path.open("ab") as file:
        file.write(b'{"type":"assistant","message":{"usage":{"input_tok')
    [again] = here(environ, "@claude", cwd)
    assert again.digest.context == one.digest.context
    done = hand_over(again.path, "@claude", Store(tmp_path / "sessions"), cwd)
    assert "1 unreadable (line " in done.note
    assert one.path.read_bytes()[: len(whole)] == whole, "nothing is written to it"


def test_a_file_of_another_folder_is_left_after_its_first_lines(tmp_path: Path) -> None:
    rows = gzip.decompress((RESUMED / "claude-code.jsonl.gz").read_bytes())
    path = put(tmp_path / "big.jsonl", rows + b'{"type":"user"}\n' * 200_000)
    asked: list[str] = []

    def elsewhere(folder: str) -> bool:
        asked.append(folder)
        return False

    assert head_of(path, "claude", elsewhere) is None
    assert asked == ["/home/me/demo"]


@pytest.mark.parametrize("name", NEW)
def test_a_second_handoff_opens_the_first_and_one_of_a_grown_session_is_another(
    tmp_path: Path, name: str
) -> None:
    agent = agent_of(name)
    environ, cwd = environment(tmp_path, name)
    [one] = here(environ, agent, cwd)
    store = Store(tmp_path / "sessions")
    first = hand_over(one.path, agent, store, cwd)
    assert "3 prompts, 5 responses, 2 results" in first.note
    assert "Left out: " in first.note
    assert "\n" not in first.note
    assert first.path == store.last(cwd)
    assert verify_session(first.path, read_log(first.path)).clean
    again = hand_over(one.path, agent, store, cwd)
    assert again.path == first.path
    assert "has not changed" in again.note
    more = {
        "@claude": {"type": "user", "uuid": "u-9", "parentUuid": "", "message": {"content": "More."}},
        "@codex": {
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "More."}],
            },
        },
        "@gemini": {"id": "m-9", "type": "user", "content": [{"text": "More."}]},
        "@pi": {"type": "message", "id": "e-9", "message": {"role": "user", "content": "More."}},
    }[agent]
    rows = one.path.read_bytes()
    if "parentUuid" in more:
        more["parentUuid"] = [
            json.loads(line).get("uuid") for line in rows.splitlines() if b'"uuid"' in line
        ][-1]
    if agent == "@pi":
        more["parentId"] = json.loads(rows.splitlines()[-1])["id"]
    one.path.write_bytes(rows + json.dumps(more).encode() + b"\n")
    grown = hand_over(one.path, agent, store, cwd)
    assert grown.path != first.path
    assert "4 prompts" in grown.note
    assert f"grown since the import {first.path.stem}, which stays" in grown.note
    assert hand_over(one.path, agent, store, cwd).path == grown.path
    one.path.write_bytes(rows)
    assert hand_over(one.path, agent, store, cwd).path == first.path


def test_what_was_left_out_names_subagents_and_lumps_bookkeeping(tmp_path: Path) -> None:
    environ, cwd = environment(tmp_path, "claude-code-commands.jsonl")
    [one] = here(environ, "@claude", cwd)
    note = hand_over(one.path, "@claude", Store(tmp_path / "sessions"), cwd).note
    assert "1 subagent files (claude-code-commands/subagents; import each separately)" in note
    assert " records of the program itself" in note
    assert "permission-mode" not in note


def test_a_file_that_is_gone_or_none_is_said(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions")
    with pytest.raises(SessionError, match="cannot read"):
        hand_over(tmp_path / "gone.jsonl", "@claude", store, tmp_path)
    path = put(tmp_path / "odd.jsonl", b"hello\n")
    with pytest.raises(SessionError, match="unknown session format"):
        hand_over(path, "@claude", store, tmp_path)
