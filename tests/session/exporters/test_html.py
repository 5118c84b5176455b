"""The HTML page: complete in itself, structured, and nothing that was said can act in it."""

import base64
import re
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prunecli.features.export.exporters.html import write
from prunecli.features.export.exporters.html_code import Colors
from prunecli.model.events import AssistantMessage, CompactionApplied, SessionStarted, ToolResult, UserMessage
from prunecli.model.messages import Image, Opaque, Text, Thinking, ToolUse
from tests.session.exporters.sample import HOSTILE, numbered, sample

VOID = {"meta", "input", "img", "br", "hr"}


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
    assert [one["id"] for one in articles] == ["e1", "e2", "e4", "e6", "e10", "e11", "e12"]
    results = Page(page).all("section")
    assert [one["id"] for one in results] == ["e3", "e5", "e7"]
    assert [one["id"] for one in [*articles, *results] if "pruned" in str(one["class"])] == ["e4", "e3", "e5"]
    assert "pruned: cleared by pi; the model sees:" in page
    assert "[cleared stub]" in page
    assert "long output" in page
    assert "pruned: left out by the model" in page
    assert "<title>Reading</title>" in page


def test_a_call_stands_with_its_result_in_one_fold() -> None:
    page = write(sample())
    assert len(Page(page).all("details")) == 3 + 1 + 1  # calls, thinking, the output of a command
    call = page.partition('<div class="call">')[2].partition("</details>")[0]
    assert "<code>read</code> file1.txt · 1 line · ✂ pruned" in call
    assert '<section id="e3" class="result pruned">' in call
    assert "long output" in call


def test_a_call_without_a_result_says_so() -> None:
    page = write(numbered(AssistantMessage((ToolUse("t", "bash", {"command": "ls"}),), "m")))
    assert "<code>bash</code> ls · no result" in page


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


MARKUP = {
    *(
        "p",
        "div",
        "span",
        "br",
        "hr",
        "pre",
        "code",
        "em",
        "strong",
        "s",
        "a",
        "blockquote",
        "ul",
        "ol",
        "li",
    ),
    *("h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
"""What Markdown may make."""


def skeleton(page: str) -> list[tuple[str, tuple[str, ...]]]:
    """The elements of a page that no text may change, after a look at those that it may."""
    parsed = Page(page)
    for tag, attributes in parsed.elements:
        if tag == "a" and "rel" in attributes:
            assert re.match(r"(https?://|mailto:)", str(attributes["href"]), re.IGNORECASE)
            assert attributes["rel"] == "noopener noreferrer nofollow"
            assert set(attributes) == {"href", "rel"}
        elif tag in MARKUP - {"a"}:
            assert set(attributes) <= {"class", "start"}
            assert re.fullmatch("[a-z ]*", attributes.get("class") or "")
    return [
        (tag, tuple(attributes))
        for tag, attributes in parsed.elements
        if tag not in MARKUP or (tag == "a" and "rel" not in attributes)
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_makes_an_element_or_an_attribute(text: str) -> None:
    assert skeleton(everywhere(text)) == skeleton(everywhere("plain"))


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.text(st.sampled_from("<>&\"'/=-! scriptdetalo\n\x00\u2028`[]()*#|:~"), min_size=1, max_size=24))
def test_no_made_up_text_makes_an_element_or_an_attribute(text: str) -> None:
    blank = not text.strip()  # a blank text is no block: it has no fold
    assert blank or skeleton(everywhere(text)) == skeleton(everywhere("x"))


def answered(text: str) -> str:
    """What of a page shows an answer."""
    page = write(numbered(AssistantMessage((Text(text),), "m")))
    return page.partition("</header>")[2].partition("</article>")[0].strip()


def test_an_answer_is_markdown_and_a_prompt_stays_as_it_was_typed() -> None:
    text = "# Title\n\nSome **bold** `code`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n3. three"
    shown = answered(text)
    assert "<h3>Title</h3>" in shown
    assert "<strong>bold</strong> <code>code</code>" in shown
    assert "<th>a</th>" in shown
    assert '<ol start="3"><li>three</li></ol>' in shown
    page = write(numbered(UserMessage((Text("why is __init__ *here*?"),))))
    assert '<div class="text">why is __init__ *here*?</div>' in page


def test_code_in_an_answer_is_colored_and_kept_whole() -> None:
    shown = answered('```python\ndef f():\n    return "<b>"\n```')
    assert '<span class="k">def</span> <span class="f">f</span>' in shown
    assert "&lt;b&gt;" in shown


def test_only_so_much_code_is_colored_and_the_rest_is_plain() -> None:
    colors = Colors(30)
    assert '<span class="k">def</span>' in colors.code("def f(): pass", "python")
    assert colors.code("def g(): return 1 + 1", "python") == "<pre>def g(): return 1 + 1</pre>"
    assert '<span class="k">def</span>' in colors.code("def f(): pass", "python")


def test_a_link_says_where_it_leads_and_only_the_web_and_mail_can_be_followed() -> None:
    shown = answered("[docs](https://evil.example/x) [run](javascript:alert(1)) [f](other.md) <https://a.b>")
    assert re.findall('href="([^"]*)"', shown) == ["https://evil.example/x", "https://a.b"]
    assert 'docs</a> <span class="target">(https://evil.example/x)</span>' in shown
    assert "(https://a.b)" not in shown  # it shows itself
    assert 'f <span class="target">(other.md)</span>' in shown
    assert "[run](javascript:alert(1))" in shown


def test_an_image_in_markdown_is_named_and_not_loaded() -> None:
    shown = answered("![chart](https://evil.example/pixel.png)")
    assert "<img" not in shown
    assert '[image: chart] <span class="target">(https://evil.example/pixel.png)</span>' in shown


def edited(call: ToolUse, **details: str) -> str:
    result = ToolResult("t", call.name, (Text("Done."),), details=details)
    return write(numbered(AssistantMessage((call,), "m"), result))


EDITS: dict[str, dict[str, Any]] = {
    "ours": {"path": "a.py", "old_string": "one\ntwo", "new_string": "one\n2"},
    "pi": {"path": "a.py", "edits": [{"oldText": "two", "newText": "2"}]},
    "patch": {"patch": "*** Begin Patch\n*** Update File: a.py\n@@\n-two\n+2\n*** End Patch"},
}


@pytest.mark.parametrize("given", EDITS.values(), ids=EDITS)
def test_an_edit_is_a_diff(given: dict[str, Any]) -> None:
    page = edited(ToolUse("t", "edit", given))
    assert '<span class="del">-two</span>\n<span class="ins">+2</span>' in page.partition('class="diff"')[2]
    assert " · +1 −1</summary>" in page
    assert "<details open>" in page


def test_the_change_that_was_made_is_shown_before_the_one_that_was_asked_for() -> None:
    made = "@@ -7,2 +7,2 @@\n-was\n+is"
    page = edited(ToolUse("t", "edit", EDITS["ours"]), diff=made)
    assert '<span class="hunk">@@ -7,2 +7,2 @@</span>\n<span class="del">-was</span>' in page
    assert "two" not in page


def test_a_diff_that_a_command_printed_is_one_and_a_list_of_dashes_is_none() -> None:
    printed = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n--- b\n+c"
    call = ToolUse("t", "bash", {"command": "git diff"})
    page = write(numbered(AssistantMessage((call,), "m"), ToolResult("t", "bash", (Text(printed),))))
    assert '<span class="hunk">--- a/x</span>' in page
    assert '<span class="del">--- b</span>' in page  # a removed line "-- b"
    other = write(numbered(AssistantMessage((call,), "m"), ToolResult("t", "bash", (Text("--- a\n- b"),))))
    assert 'class="diff"' not in other


def test_a_notice_is_told_from_what_the_user_typed() -> None:
    notice = UserMessage((Text("[Agent finished]"), Text("<task-notification>")), "command")
    page = write(numbered(UserMessage((Text("go"),)), notice))
    assert "<b>User</b>" in page
    assert "<b>Notice</b>" in page


def test_a_very_long_text_keeps_its_ends_and_says_what_is_missing() -> None:
    page = answered("begin" + "x" * 300_000 + "end")
    assert len(page) < 110_000
    assert "begin" in page
    assert "end</div>" in page
    assert "[… 200,008 characters omitted …]" in page


def test_a_very_long_session_is_a_page_of_bounded_size_that_names_the_rest() -> None:
    long = [AssistantMessage((Text(f"entry {number} " + "x" * 90_000),), "m") for number in range(300)]
    page = write(numbered(*long))
    assert len(page) < 11_000_000
    assert page.count("<article") == 300
    assert "#299 entry 299 x" in page
    assert page.count("Page limit reached") == 1


@pytest.mark.parametrize(
    "text", ["[b" * 40_000, "> " * 3_000 + "deep", " `a ``b" * 5_000, "*a_" * 9_000, "![a" * 20_000]
)
def test_a_text_made_to_keep_a_parser_busy_is_shown_whole(text: str) -> None:
    texts = Page(answered(text)).texts
    shown = "".join(one for some in texts.values() for one in some)
    assert sum(map(str.isalnum, shown)) == sum(map(str.isalnum, text))


def test_what_moves_a_cursor_or_hides_is_made_visible() -> None:
    page = everywhere("\x1b[2J\u202eabc\x00")
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", page)


def test_colors_that_a_command_printed_are_left_out_and_those_in_a_file_are_not() -> None:
    def shown(**details: Any) -> str:
        call, result = (
            ToolUse("t", "bash", {}),
            ToolResult("t", "bash", (Text("\x1b[31mred\x1b[0m"),), details=details),
        )
        return write(numbered(AssistantMessage((call,), "m"), result))

    assert "<pre>red</pre>" in shown(exit_code=0)
    assert "<pre>␛[31mred␛[0m</pre>" in shown()
    typed = UserMessage((Text("!ls"), Text("\x1b[31mred\x1b[0m")), "command")
    assert "<pre>red</pre>" in write(numbered(typed))


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
