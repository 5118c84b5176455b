"""The stand-in is no stricter than the world: it takes what Codex CLI 0.171 sends.

codex_0_171_requests.json are the requests of `codex exec "List the files."`, recorded on loopback: the first one, and
the one after its call. Long texts are cut, ids of the machine are gone.
"""

import json
from pathlib import Path

import pytest

from tests.endpoint.shape import RefusedError
from tests.openai_endpoint.rules import RESPONSES, Issued, OpenAiRules, check

REQUESTS = json.loads((Path(__file__).parent / "codex_0_171_requests.json").read_text("utf-8"))


def issued() -> Issued:
    """The reasoning items that the stand-in had sent."""
    items = [item for request in REQUESTS for item in request["input"] if item["type"] == "reasoning"]
    return Issued({item["id"]: (item["encrypted_content"], "gpt-5.5") for item in items})


@pytest.mark.parametrize("request_", REQUESTS, ids=["first", "after a call"])
def test_a_request_of_codex_is_taken(request_: dict) -> None:
    check(RESPONSES, json.dumps(request_).encode(), OpenAiRules(), issued())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda items: items[:-1], "No tool output found"),
        (lambda items: [*items[:-2], items[-1]], "No tool call found"),
        (lambda items: [{**one, "mystery": 1} for one in items], "Unknown parameter"),
        (lambda items: [one | {"encrypted_content": "x"} if one["type"] == "reasoning" else one for one in items],
         "could not be verified"),
        (lambda items: [*items, next(one for one in items if one["type"] == "reasoning")], "required following item"),
    ],
    ids=["no result", "no call", "a field", "other reasoning", "reasoning at the end"],
)  # fmt: skip
def test_what_the_service_rejects_is_rejected(change, why: str) -> None:
    request = {**REQUESTS[1], "input": change(REQUESTS[1]["input"])}
    with pytest.raises(RefusedError, match=why):
        check(RESPONSES, json.dumps(request).encode(), OpenAiRules(), issued())
