"""recall: the original in pages that name the next one."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from prunecli.context.tokens import Chars4
from prunecli.model.messages import Block, Image, Text
from prunecli.tools.inputs import definition, parse
from prunecli.tools.recall import Recall
from prunecli.tools.registry import load
from prunecli.tools.tool import FilesSeen, Pages, ToolContext, ToolLimits, bounded_output
from prunecli.util.errors import ToolError

PAGES = Pages(Chars4().count, 100)
CONTEXT = ToolContext(Path("/w"), Path("/w"), {}, FilesSeen(), pages=PAGES)
TEXT = "".join(f"line {number:04}..........\n" for number in range(1, 201))  # 20 characters, five tokens each
PICTURE = Image("image/png", "AAAA")


async def recalled(
    *content: Block, lines: str | None = None, context: ToolContext = CONTEXT
) -> tuple[Block, ...]:
    given = {"entry": 17} if lines is None else {"entry": 17, "lines": lines}
    found = await Recall().run(
        parse(Recall.Input, given), replace(context, recall=lambda _: content or (Text(TEXT),))
    )
    assert bounded_output(found, context.limits.max_output_bytes) == found
    return found.content


def words(content: tuple[Block, ...]) -> str:
    assert isinstance(content[0], Text)
    return content[0].text


async def test_a_short_entry_comes_whole_with_its_images() -> None:
    content = (Text("a\n"), PICTURE, Text("b"))
    assert await recalled(*content) == content


async def test_a_long_entry_comes_in_pages_that_name_the_next_one() -> None:
    first = words(await recalled(Text(TEXT), PICTURE))
    assert first == TEXT[:400] + "[lines 1-20 of 200 | next: recall 17 lines 21-200]"
    assert (await recalled(Text(TEXT), PICTURE))[1] == PICTURE
    assert words(await recalled(lines="21-200")).startswith("line 0021")


async def test_the_asked_lines_come_and_nothing_else() -> None:
    assert words(await recalled(lines="5-7")) == TEXT[80:140]
    assert words(await recalled(lines="200")) == TEXT[-20:]
    assert words(await recalled(lines="5-40")).endswith("[lines 5-24 of 200 | next: recall 17 lines 25-40]")
    assert await recalled(Text("a\nb"), PICTURE, lines="2") == (Text("b"),)


@pytest.mark.parametrize("of", ["input", "raw"])
async def test_pages_of_an_input_and_of_raw_bytes_name_the_next_one_of_the_same(of: str) -> None:
    more = replace(CONTEXT, inputs=lambda _: (Text(TEXT),), raw=lambda _: TEXT)
    first = words(await recalled(Text("else"), lines=of, context=more))
    assert first == TEXT[:400] + f"[lines 1-20 of 200 | next: recall 17 lines {of} 21-200]"
    assert words(await recalled(Text("else"), lines=f"{of} 21-200", context=more)).startswith("line 0021")


async def all_pages(text: str, context: ToolContext = CONTEXT) -> list[str]:
    """The parts of the text on each page, as each page names the next one."""
    found, lines = list[str](), None
    while not found or lines is not None:
        page = words(await recalled(Text(text), lines=lines, context=context))
        match = re.fullmatch(
            r"(.*\n)\[lines (\S+) of [\d,]+ \| next: recall 17 lines (\S+)\]", page, re.DOTALL
        )
        part, shown, lines = (match[1], match[2], match[3]) if match else (page, "", None)
        found.append(part.removesuffix("\n") if ":" in shown.partition("-")[2] else part)
    return found


ROWS = [{"id": number, "name": "a, {b} and [c]", "tags": ["x", "y"]} for number in range(200)]
LONG_ROWS = [json.dumps({"text": "word " * 600, "id": number}) for number in range(3)]


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "x" * 5000,
        "é\r\n" * 900,
        "a\n" + "👩‍👩‍👧" * 600 + "\nz",
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2),
        "\n".join(LONG_ROWS),
        LONG_ROWS[0],
    ],
)
@pytest.mark.parametrize("limit", [100_000, 1_000])
async def test_all_pages_together_are_the_whole_text(text: str, limit: int) -> None:
    found = await all_pages(text, replace(CONTEXT, limits=ToolLimits(limit)))
    assert "".join(found) == text
    assert len(found) > 1
    assert max(map(PAGES.count, found)) <= PAGES.tokens + 1


@pytest.mark.parametrize("indent", [None, 2])
async def test_each_page_of_json_ends_behind_an_element(indent: int | None) -> None:
    found = await all_pages(json.dumps(ROWS, indent=indent))
    assert all(page.rstrip().endswith("},") for page in found[:-1])


async def test_a_page_of_json_that_was_cut_off_ends_behind_an_element_too() -> None:
    found = await all_pages("Found:\n" + json.dumps(ROWS)[:-2_005] + "\n[OUTPUT TRUNCATED]")
    assert all(page.endswith("},") for page in found[:-1])


@pytest.mark.parametrize("lines", ["0-3", "201", "7-3", "all", ""])
async def test_lines_that_are_not_there_are_refused_with_the_number_of_lines(lines: str) -> None:
    if not lines:
        assert words(await recalled(lines="")).startswith("line 0001")
        return
    with pytest.raises(ToolError, match="Entry 17 has 200 lines"):
        await recalled(lines=lines)


@pytest.mark.parametrize("lines", ["7-3", "1:99990-3"])
async def test_lines_that_end_before_they_start_are_called_so(lines: str) -> None:
    with pytest.raises(ToolError, match=f"^lines '{lines}' selects nothing: it ends before it starts"):
        await recalled(lines=lines)


async def test_an_entry_of_one_line_has_one_line() -> None:
    with pytest.raises(
        ToolError, match=r"^lines starts at 2, but there is no such line\. Entry 17 has 1 line\.$"
    ):
        await recalled(Text("alone"), lines="2-3")


async def test_an_older_session_gets_the_whole_text() -> None:
    assert await recalled(context=replace(CONTEXT, pages=None)) == (Text(TEXT),)


def test_the_lines_are_shown_and_in_the_schema() -> None:
    assert Recall().summary({"entry": 17, "lines": "2-3"}) == "entry 17 lines 2-3"
    assert set(definition(Recall())["input_schema"]["properties"]) == {"entry", "lines"}


def test_an_entry_of_a_task_is_named_by_both_numbers() -> None:
    assert set(definition(load("recall"))["input_schema"]["properties"]) == {"entry", "lines", "task"}
    assert Recall().summary({"entry": 17, "task": 3}) == "task 3 entry 17"
