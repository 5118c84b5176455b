"""The HTML page: complete in itself, structured, and nothing that was said can act in it."""

import base64
import re
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prunecli.model.events import AssistantMessage, CompactionApplied, SessionStarted, ToolResult, UserMessage
from prunecli.model.messages import Image, Opaque, Text, Thinking, ToolUse
from prunecli.session.exporters.html import write
from tests.session.exporters.sample import HOSTILE, numbered, sample

VOID = {"meta", "input", "img", "br"}


class Page(HTMLParser):
    """The elements of a page, checked to be nested, and the text of each kind."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self.open[-1] if self.open else "", []).append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def outline(page: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(tag, tuple(attributes)) for tag, attributes in Page(page).elements]


def everywhere(text: str) -> str:
    """A page in which a text stands in every place that a session can put it."""
    use = ToolUse(text, text, {text: text, "path": text})
    return write(
        numbered(
            SessionStarted(text, text, text),
            UserMessage((Text(text), Opaque({"type": text}))),
            AssistantMessage((Thinking(text, "s"), Text(text), use), text),
            ToolResult(text, text, (Text(text), Image("image/png", f"!{text}"))),
            UserMessage((Text(text), Text(text)), "command"),
            CompactionApplied(text, 1, 3),
        )
    )


def test_every_entry_has_its_place_and_pruned_ones_say_what_the_model_sees() -> None:
    page = write(sample())
    articles = Page(page).all("article")
    assert [one["id"] for one in articles] == ["e1", "e2", "e3", "e4", "e5", "e6", "e7", "e10", "e11", "e12"]
    pruned = [one["id"] for one in articles if "pruned" in str(one["class"])]
    assert pruned == ["e3", "e4", "e5"]
    assert "pruned: cleared by pi; the model sees:" in page
    assert "[cleared stub]" in page
    assert "long output" in page
    assert "pruned: left out by the model" in page
    assert "<title>Reading</title>" in page


def test_results_calls_and_thinking_are_folded() -> None:
    assert len(Page(write(sample())).all("details")) == 3 + 3 + 1 + 1


def test_the_page_loads_nothing_and_runs_only_its_own_script() -> None:
    page = write(sample())
    parsed = Page(page)
    [script] = parsed.texts["script"]
    policy = next(one["content"] or "" for one in parsed.all("meta") if one.get("http-equiv"))
    digest = base64.b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert not re.search(r"https?://|@import|url\(", page)
    assert "prefers-color-scheme: dark" in page
    sources = [one.get("src") or "" for _, one in parsed.elements if "src" in one]
    assert sources == ["data:image/png;base64,iVBORw0KGgo="]
    assert not any(name.startswith("on") for _, one in parsed.elements for name in one)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_makes_an_element_or_an_attribute(text: str) -> None:
    assert outline(everywhere(text)) == outline(everywhere("plain"))


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.text(st.sampled_from("<>&\"'/=-! scriptdetalo\n\x00\u2028`"), min_size=1, max_size=24))
def test_no_made_up_text_makes_an_element_or_an_attribute(text: str) -> None:
    plain = [tag for tag, _ in outline(everywhere("x")) if tag not in ("p", "div")]
    assert [tag for tag, _ in outline(everywhere(text)) if tag not in ("p", "div")] == plain


def test_what_moves_a_cursor_or_hides_is_made_visible() -> None:
    page = everywhere("\x1b[2J\u202eabc\x00")
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", page)


def test_an_image_of_an_unknown_kind_or_without_base64_is_named_and_not_shown() -> None:
    hidden = Image("image/svg+xml", "PHN2Zz4="), Image("image/png", 'AA" onerror="alert(1)')
    page = write(numbered(UserMessage(hidden)))
    assert Page(page).all("img") == []
    assert "[image, image/svg+xml]" in page
    assert "[image, image/png]" in page


def test_entries_that_a_summary_replaced_are_marked() -> None:
    page = everywhere("x")
    assert page.count("pruned: replaced by a summary") == 2


def test_a_session_without_entries_is_a_page_too() -> None:
    assert Page(write([])).all("article") == []
