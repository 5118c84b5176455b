"""Searches in the log: citations, billed searches, and what a later version may add to them."""

import json
from typing import Any

import pytest

from prunecli.context import render
from prunecli.features.export.exporters.report import placeholder
from prunecli.model.codec import canonical
from prunecli.model.events import AssistantMessage, Record, UserMessage
from prunecli.model.messages import Opaque, Text, Usage
from prunecli.model.record_codec import decode_record, encode_record, record_to_json
from prunecli.providers.models import ModelInfo, Prices, cost
from prunecli.session.digest import Digest

CITED = {
    "type": "web_search_result_location",
    "url": "https://a.b",
    "encrypted_index": "E/+=\u00e4",
    "cited_text": "x",
}
FOUND = Opaque(
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [
            {
                "type": "web_search_result",
                "title": "A\x1b[31m",
                "url": "https://a.b",
                "encrypted_content": "Eo8D/+=",
            }
        ],
    }
)


def test_an_answer_with_searches_survives_the_log_byte_for_byte() -> None:
    use = Opaque(
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
    )
    event = AssistantMessage((use, FOUND, Text("said", (CITED,))), "m", usage=Usage(1, 2, 3, 4, 5))
    line = encode_record(Record(3, 4, event))
    record = decode_record(line)
    assert (record.event, record.extra) == (event, None)
    assert encode_record(record) == line
    assert json.loads(line)["usage"]["server_tool_use"] == {"web_search_requests": 5}
    sent = render.assistant(event.content, {})
    assert sent[1] == canonical(FOUND.json)
    assert json.loads(sent[2]) == {"type": "text", "text": "said", "citations": [CITED]}


def test_citations_of_a_user_are_kept_but_never_sent() -> None:
    event = UserMessage((Text("said", (CITED,)),))
    assert decode_record(encode_record(Record(3, 4, event))).event == event
    assert json.loads(render.blocks(event.content)[0]) == {"type": "text", "text": "said"}


@pytest.mark.parametrize(
    "changed",
    [
        {"content": [{"type": "text", "text": "x", "citations": []}]},
        {"content": [{"type": "text", "text": "x", "citations": None}]},
        {"content": [{"type": "text", "text": "x", "citations": [1]}]},
        {
            "usage": {
                "input_tokens": 1,
                "server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 2},
            }
        },
        {"usage": {"input_tokens": 1, "server_tool_use": {"web_search_requests": "many"}}},
        {"usage": {"input_tokens": 1, "server_tool_use": None}},
        {"usage": {"input_tokens": 1, "cache_creation": None}},
        {"usage": {"input_tokens": 1, "cache_creation": {"ephemeral_1h_input_tokens": -1}}},
        {"usage": {"input_tokens": 1, "cache_creation": {"ephemeral_1h_input_tokens": 2}}},
        {"usage": {"input_tokens": 1, "cache_creation": {}, "server_tool_use": {}}},
        {"usage": {"input_tokens": 1, "server_tool_use": {"web_search_requests": -1}}},
    ],
)
def test_what_this_version_does_not_know_stays_in_the_record(changed: dict[str, Any]) -> None:
    given = {**record_to_json(Record(3, 4, AssistantMessage((Text("x"),), "m"))), **changed}
    event, again = decode_again(given)
    assert event.usage.web_search_requests in (None, 1)
    assert {key: again[key] for key in changed} == changed


def decode_again(given: dict[str, Any]) -> tuple[AssistantMessage, dict[str, Any]]:
    from prunecli.model.record_codec import record_from_json

    record = record_from_json(dict(given))
    assert isinstance(record.event, AssistantMessage)
    return record.event, record_to_json(record)


def test_each_search_costs_a_cent_in_every_figure() -> None:
    info = ModelInfo("m", prices=Prices(1.0, 1.0))
    assert cost(Usage(1_000_000, web_search_requests=3), info, "5m") == pytest.approx(1.03)
    event = AssistantMessage((Text("x"),), "m", usage=Usage(10, 1, web_search_requests=2))
    digest = Digest()
    digest.take(encode_record(Record(3, 4, event)).rstrip())
    assert digest.usage()["m"].web_search_requests == 2
    assert Usage(1, web_search_requests=1).plus(Usage(1)).web_search_requests == 1


def test_an_export_names_what_was_found_without_control_characters() -> None:
    word = placeholder(FOUND)
    assert "https://a.b" in word
    assert word.isprintable()
