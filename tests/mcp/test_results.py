"""What servers send becomes content: no part of it twice."""

import pytest
from mcp_types import CallToolResult, TextContent

from prunecli.mcp.results import output_of
from prunecli.model.messages import Text


@pytest.mark.parametrize(
    ("texts", "structured", "added"),
    [
        (['{"a": 1}'], {"a": 1}, False),
        (["a b"], {"result": "a b"}, False),
        (["a", '{"b": 2}'], {"result": ["a", {"b": 2}]}, False),
        (["a", "b"], {"result": ["b", "a"]}, True),
        (["a"], {"result": ["a", "b"]}, True),
        ([], {"result": []}, True),
        (["Two were found."], {"result": ["a", "b"]}, True),
    ],
)
def test_structured_content_is_added_only_where_no_text_repeats_it(
    texts: list[str], structured: dict[str, object], added: bool
) -> None:
    content = [TextContent(type="text", text=one) for one in texts]
    blocks = output_of(CallToolResult(content=content, structured_content=structured)).content
    assert [one.text for one in blocks if isinstance(one, Text)][: len(texts)] == texts
    assert len(blocks) == len(texts) + added
