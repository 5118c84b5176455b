"""The schema of `--json-schema`: checked before anything is sent, and answers checked within a time limit."""

import asyncio
import json
from typing import Any

import pytest

from prunecli.runtime.answer_schema import AnswerSchema
from prunecli.util.errors import PrunecliError

TREE = {"type": "object", "required": ["n"], "properties": {"n": {"type": "array", "items": {"$ref": "#"}}}}
BACKTRACKS = {"type": "object", "properties": {"a": {"type": "string", "pattern": "(a+)+$"}}}
ANSWER = '{"a": "%sb"}' % ("a" * 60)


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        (TREE, '{"n": []}', '{"n": [1]}'),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, "{}", '{"type": 1}'),
        ({"$ref": "#/examples/0", "examples": [{"type": "string"}]}, '"a"', "1"),
        ({"not": {"type": "string"}, "default": {"$ref": "#/nowhere"}}, "1", '"a"'),
        (
            {"properties": {"minimum": {}, "enum": {}, "$ref": {"type": "string"}}, "required": ["$ref"]},
            '{"$ref": "#"}',
            "{}",
        ),
    ],
)
def test_a_schema_whose_references_lead_somewhere_is_accepted(schema: Any, valid: str, invalid: str) -> None:
    accepted = AnswerSchema(schema)
    assert accepted.checked(valid) == (json.loads(valid), [])
    assert accepted.checked(invalid)[1]


def test_a_schema_that_refers_to_itself_without_end_is_named_when_an_answer_is_checked() -> None:
    with pytest.raises(PrunecliError, match="circular reference"):
        asyncio.run(AnswerSchema({"anyOf": [{"type": "string"}, {"$ref": "#"}]}).value("1"))


def test_a_pattern_that_backtracks_forever_ends_with_one_line() -> None:
    with pytest.raises(PrunecliError, match=r"took more than 0\.3 seconds") as failed:
        asyncio.run(AnswerSchema(BACKTRACKS, limit=0.3).value(ANSWER))
    assert "\n" not in failed.value.message


def test_a_check_that_takes_forever_can_be_canceled() -> None:
    async def canceled() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await AnswerSchema(BACKTRACKS, limit=1000).value(ANSWER)

    asyncio.run(canceled())


def test_an_answer_and_its_problems_come_back_from_the_process() -> None:
    schema = AnswerSchema(TREE)
    assert asyncio.run(schema.value('```json\n{"n": [{"n": []}]}\n```')) == ({"n": [{"n": []}]}, [])
    _, problems = asyncio.run(schema.value('{"n": [{"n": "ä\\ud800"}]}'))
    assert problems == ["$.n[0].n: 'ä\\ud800' is not of type 'array'"]
