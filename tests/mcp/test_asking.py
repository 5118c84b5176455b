"""Questions of servers (elicitation): forms and pages, in the newest protocol and the one before."""

from collections.abc import Callable
from pathlib import Path

import pytest

from prunecli.features.mcp.elicitation import page, question
from prunecli.model.messages import Json, plain_text
from prunecli.runtime.forms import Elicitation, Field, Reply
from prunecli.util.errors import ToolError
from tests.mcp.running import hub_of, nothing, raw, sdk, server_of


class Person:
    """Answers all questions in the same way, forms with these values."""

    def __init__(self, action: str = "accept", **values: Json) -> None:
        self.asked: list[Elicitation] = []
        self._reply = Reply(action, values)  # type: ignore[arg-type]

    async def answer(self, asked: Elicitation) -> Reply:
        self.asked.append(asked)
        return self._reply


async def test_a_form_and_a_page_in_the_newest_protocol_come_before_the_result(tmp_path: Path) -> None:
    person = Person(size="m")
    async with hub_of(tmp_path, sdk("shop", "asks=1"), elicit=person.answer) as hub:
        output = await hub.ask(hub.call("shop", "order", {}, nothing))
        assert plain_text(output.content) == (
            "shop: [('pay', 'accept', None), ('size', 'accept', {'size': 'm'})]"
        )
    assert {(one.message, one.url) for one in person.asked} == {
        ("Which size?", ""),
        ("Pay", "https://shop.example/pay"),
    }


async def test_a_server_that_asks_as_before_is_connected_as_before(tmp_path: Path) -> None:
    person = Person(size="m")
    async with hub_of(tmp_path, sdk("shop", "asks=1"), elicit=person.answer) as hub:
        with pytest.raises(ToolError, match=r"needs to ask the user, .* call the tool again"):
            await hub.ask(hub.call("shop", "measure", {}, nothing))
        assert server_of(hub, "shop").state == "connected"
        assert person.asked == []
        output = await hub.ask(hub.call("shop", "measure", {}, nothing))
        assert plain_text(output.content) == "'accept'"
    assert [one.message for one in person.asked] == ["Which size?"]


async def test_a_page_of_the_protocol_before_is_asked_about(tmp_path: Path) -> None:
    person = Person()
    async with hub_of(tmp_path, raw("opens"), elicit=person.answer) as hub:
        output = await hub.ask(hub.call("opens", "echo", {"url": "https://shop.example/pay?a=1"}, nothing))
        assert plain_text(output.content) == '{"action": "accept"}'
    assert [one.url for one in person.asked] == ["https://shop.example/pay?a=1"]


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://shop.example/pay",
        "https://you@shop.example",
        "",
        "https://a.example/" + "x" * 3_000,
        "https://a.example/\u202egnp",
        "https://a.example/ b",
    ],
)
async def test_an_address_that_is_not_safe_to_show_and_open_is_not_asked_about(
    tmp_path: Path, url: str
) -> None:
    person = Person()
    async with hub_of(tmp_path, raw("opens"), elicit=person.answer) as hub:
        output = await hub.ask(hub.call("opens", "echo", {"url": url}, nothing))
        assert "the url " in plain_text(output.content)
    assert person.asked == []


@pytest.mark.parametrize(("action", "said"), [("accept", "well"), ("decline", "a page was not opened")])
async def test_a_call_that_is_refused_until_a_page_was_opened_is_sent_again(
    tmp_path: Path, action: str, said: str
) -> None:
    person, server = Person(action), raw("refuses_until_opened")
    async with hub_of(tmp_path, server, elicit=person.answer) as hub:
        try:
            text = plain_text((await hub.ask(hub.call(server.name, "echo", {}, nothing))).content)
        except ToolError as error:
            text = str(error)
    assert said in text
    assert [one.url for one in person.asked] == ["https://bank.example/in"]


async def test_a_refusal_that_names_no_page_is_an_error_of_the_server(tmp_path: Path) -> None:
    person = Person()
    async with hub_of(tmp_path, raw("refuses_oddly"), elicit=person.answer) as hub:
        with pytest.raises(ToolError, match="refuses_oddly: open it"):
            await hub.ask(hub.call("refuses_oddly", "echo", {}, nothing))
    assert person.asked == []


TEXT, NUMBER, WHOLE = Field("x", "X", most=3), Field("x", "X", "number"), Field("x", "X", "integer", least=1)
YES = Field("x", "X", "boolean")
ONE = Field("x", "X", "choice", choices=(("r", "Red"), ("g", "Green")))
SOME = Field("x", "X", "choices", choices=ONE.choices)


@pytest.mark.parametrize(
    ("field", "value", "found"),
    [
        (TEXT, " ab ", "ab"),
        (NUMBER, 1.5, 1.5),
        (NUMBER, 2, 2),
        (WHOLE, 2, 2),
        (YES, False, False),
        (ONE, "Red", "r"),
        (SOME, ["g", "r"], ["g", "r"]),
    ],
)
def test_a_value_of_another_program_is_taken(field: Field, value: Json, found: Json) -> None:
    assert field.checked(value) == found


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((TEXT, one) for one in (None, 5, "four", ["a"])),
        *((NUMBER, one) for one in (None, True, "1", float("nan"), float("inf"), 10**400)),
        *((WHOLE, one) for one in (0, 1.5, True, "1", 10**400)),
        *((YES, one) for one in (None, 1, "yes")),
        *((ONE, one) for one in (None, "blue", ["r"])),
        *((SOME, one) for one in (None, "r", ["blue"], [1])),
    ],
)
def test_a_wrong_value_of_another_program_is_refused(field: Field, value: Json) -> None:
    with pytest.raises(ValueError, match="expected"):
        field.checked(value)


@pytest.mark.parametrize("text", ["nan", "inf", "-Infinity", "9" * 5_000, "1e999", "", "x"])
@pytest.mark.parametrize("field", [NUMBER, WHOLE])
def test_a_typed_number_that_json_cannot_hold_is_none(field: Field, text: str) -> None:
    with pytest.raises(ValueError, match="expected a"):
        field.value(text)


@pytest.mark.parametrize("limit", [10**400, float("nan"), "5", True, None])
def test_a_limit_that_is_no_number_limits_nothing(limit: Json) -> None:
    schema: Json = {"properties": {"x": {"type": "integer", "minimum": limit, "maximum": limit}}}
    assert isinstance(schema, dict)
    (field,) = question("shop", "How many?", schema).fields
    assert (field.least, field.most) == (None, None)


@pytest.mark.parametrize(
    "make", [lambda text: page("s", text, "https://a.example"), lambda text: question("s", text, {})]
)
def test_a_message_is_bounded_and_shows_no_control_characters(make: Callable[[str], Elicitation]) -> None:
    assert len(make("x" * 9_000).message) <= 4_000
    assert "\x1b" not in make("\x1b[2J").message


@pytest.mark.parametrize(
    "properties",
    [{"a\x1b[2J": {}}, {"\u202eb": {}}, {"c": {"enum": ["\x9b31m"]}}, {"d": {"oneOf": [{"const": "\n"}]}}],
)
def test_a_form_with_names_or_choices_that_cannot_be_shown_is_not_asked(properties: dict[str, Json]) -> None:
    with pytest.raises(ValueError, match="has characters that cannot be shown") as refused:
        question("x", "?", {"properties": properties})
    assert str(refused.value).isprintable()


def test_titles_and_labels_of_a_form_show_hidden_characters() -> None:
    hidden = "a\u202eb\u200bc\U000e0041"
    form = {"title": hidden, "description": hidden, "enum": ["x"], "enumNames": [hidden]}
    asked = question("x", hidden, {"properties": {"p": form}})
    (field,) = asked.fields
    texts = {asked.message, field.title, field.about, field.choices[0][1]}
    assert texts == {"a\ufffdb\ufffdc\ufffd"}
