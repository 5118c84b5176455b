"""Attachments in what is exported: shown as what they are, without secrets, and sent again after an import."""

from pathlib import Path

import pytest

from prunecli.features.export.exporters.formats import exported
from prunecli.features.export.exporters.redact import redacted
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    Attached,
    PrunApplied,
    Record,
    SessionStarted,
    Spilled,
    UserMessage,
)
from prunecli.model.messages import PDF, Document, Image, Text
from prunecli.session.importers.source import read_source
from tests.session.exporters.sample import PIXEL, numbered
from tests.session.points import sent

SECRET = "sk-ant-api03-" + "a1B2c3D4" * 11 + "-aaaaaAAA"


def attachment(name: str, *content: Text | Image | Document) -> UserMessage:
    read = Attached("read", {"path": name}, {"path": f"/w/{name}"})
    return UserMessage((Text(f"[attached: {name}]"), *content), "attachment", attached=read)


def session() -> list[Record]:
    return numbered(
        SessionStarted("s-1", "/w", "claude-x"),
        UserMessage((Text("compare @a.py @b.py @c.png"),)),
        attachment("a.py", Text("first file")),
        attachment("b.py", Text("second file")),
        attachment("c.png", Image("image/png", PIXEL, 8, 8)),
        AssistantMessage((Text("Done."),), "claude-x"),
        PrunApplied("user", (Edit("clear", 2, None, "[cleared stub]"),)),
    )


@pytest.mark.parametrize(("form", "count"), [("messages", 7), ("pi", 6)])
def test_the_conversation_comes_back(tmp_path: Path, form: str, count: int) -> None:
    """pi has no form for the prune of anything but a result."""
    records = session()[:count]
    (tmp_path / "file").write_text(exported(records, form, keep_secrets=True).text)
    assert sent(read_source(tmp_path / "file").records) == sent(records)


def test_a_page_shows_them_as_attached(tmp_path: Path) -> None:
    page = exported(session(), "html").text
    assert page.count("<b>Attached</b>") == 3
    assert "second file" in page
    assert f"data:image/png;base64,{PIXEL}" in page
    document = exported(session(), "markdown").text
    assert "[attached: b.py]" in document
    assert "second file" in document


def test_their_secrets_are_left_out_everywhere() -> None:
    read = Attached("read", {"path": SECRET}, {"path": SECRET}, Spilled(3, f"shown {SECRET}"))
    content = Text("[attached: x]"), Text(f"KEY={SECRET}"), Document(PDF, "JVBERi0=", 1)
    records = numbered(
        SessionStarted("s-1", "/w", "claude-x"), UserMessage(content, "attachment", attached=read)
    )
    for form in ("messages", "markdown", "html", "pi"):
        assert SECRET not in exported(records, form).text
    assert SECRET not in repr(redacted(records)[0])


def test_an_export_of_the_whole_has_what_was_held_back() -> None:
    read = Attached("read", {"path": "x"}, spilled=Spilled(3, "only this was shown"))
    content = Text("[attached: x]"), Text("all of the file")
    records = numbered(
        SessionStarted("s-1", "/w", "claude-x"), UserMessage(content, "attachment", attached=read)
    )
    assert "only this was shown" in exported(records, "messages").text
    whole = exported(records, "messages", whole=True).text
    assert "all of the file" in whole
    assert "only this was shown" not in whole
