"""What is exported and imported again is the same conversation; so are real sessions at each of their points."""

import json
from pathlib import Path

import pytest

from prunecli.features.export.exporters.formats import ENDINGS, exported
from prunecli.model.events import CompactionApplied, Record, UserMessage
from prunecli.model.messages import Text
from prunecli.session.importers.source import read_source
from tests.session.exporters.sample import numbered, sample
from tests.session.points import sent, valid_points
from tests.sessions import SESSIONS

TESTS = Path(__file__).parents[2]
SAMPLES = sorted((TESTS / "imports").glob("*.gz"))
SHORT = [path for path in SESSIONS if path.stat().st_size < 16_000][:8]


def again(folder: Path, records: list[Record], format_: str) -> list[Record]:
    (folder / "file").write_text(exported(records, format_, keep_secrets=True).text)
    return read_source(folder / "file").records


@pytest.mark.parametrize(
    "path",
    [
        *SAMPLES,
        *SHORT,
        *(pytest.param(path, marks=pytest.mark.long) for path in SESSIONS if path not in SHORT),
    ],
    ids=lambda path: path.name,
)
def test_real_sessions_are_valid_at_each_point_and_come_back_unchanged(tmp_path: Path, path: Path) -> None:
    found = read_source(path, compactions=True)
    assert found.notices == ()
    assert valid_points(found.records) > 1
    for name in ("markdown", "html"):
        assert len(exported(found.records, name).text) > 1000
    for name in ("messages", "pi"):
        assert sent(again(tmp_path, found.records, name)) == sent(found.records)


@pytest.mark.parametrize("format_", ["messages", "pi"])
def test_prunes_memos_images_and_commands_survive(tmp_path: Path, format_: str) -> None:
    assert sent(again(tmp_path, sample(), format_)) == sent(sample())
    text = json.dumps(sent(sample()))
    assert "long output" not in text
    assert "memo of it" in text


def test_pi_gets_what_was_pruned_too_and_messages_only_what_would_be_sent() -> None:
    assert "long output" in exported(sample(), "pi").text
    assert "long output" not in exported(sample(), "messages").text
    assert "long output" in exported(sample(), "messages", whole=True).text


def test_a_summary_keeps_what_stood_before_and_after_it(tmp_path: Path) -> None:
    words = [UserMessage((Text(word),)) for word in ("first", "second", "third")]
    records = numbered(*words, CompactionApplied("the summary", 0, 2), UserMessage((Text("fourth"),)))
    shown = [block["text"] for one in sent(again(tmp_path, records, "pi")) for block in one["content"]]
    assert shown[1:] == ["third", "fourth"]
    assert "first\n\nthe summary" in shown[0]
    assert "second" not in shown[0]


def test_a_summary_for_pi_keeps_what_was_typed_and_not_what_a_command_printed(tmp_path: Path) -> None:
    shell = UserMessage((Text("!find ."), Text("x\n" * 99)), "command")
    records = numbered(shell, UserMessage((Text("second"),)), CompactionApplied("the summary", 0, 2))
    shown = [block["text"] for one in sent(again(tmp_path, records, "pi")) for block in one["content"]]
    assert "!find .\n\nthe summary" in shown[0]
    assert "x\nx" not in shown[0]


@pytest.mark.parametrize("format_", list(ENDINGS))
def test_an_empty_session_can_be_exported(format_: str) -> None:
    assert exported([], format_).text


@pytest.mark.parametrize("secret", ["", "ghp_" + "a1B2" * 9])
def test_a_signed_summary_leaves_as_it_is_or_as_text_where_it_held_a_secret(secret: str) -> None:
    block = {"type": "compaction", "content": f"the gist {secret}", "signature": "c2ln"}
    event = CompactionApplied("as text", -1, 2, block=block, words=f"my words {secret}")
    records = numbered(UserMessage((Text("first"),)), UserMessage((Text("second"),)), event)
    body = json.loads(exported(records, "messages").text)["messages"]
    assert (body[0]["content"][0] == block) == (not secret)
    assert ("as text" in json.dumps(body)) == bool(secret)
    assert "my words" in json.dumps(body)
    assert not secret or secret not in json.dumps(body)
