"""The search for tools by words."""

import pytest

from prunecli.features.mcp.catalogue import MAX_CHARS, in_words, listed, search
from prunecli.features.mcp.server_state import Offer, RemotePrompt, RemoteTool, Server

TOOLS = (
    RemoteTool("create_issue", "Create an issue in a repository.", {"type": "object", "title": "X"}),
    RemoteTool("listPullRequests", "List pull requests.", {"type": "object"}),
    RemoteTool("get_file", "Read a file; mentions an issue in passing.", {"type": "object"}),
)


def servers(*more: RemoteTool) -> list[Server]:
    return [
        Server("github", "stdio", state="connected", offer=Offer((*TOOLS, *more))),
        Server("gone", "stdio", state="failed", offer=Offer(TOOLS)),
    ]


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("create issue", "github:create_issue"),
        ("ISSUE", "github:create_issue"),
        ("pull", "github:listPullRequests"),
        ("file", "github:get_file"),
        ("github:get_file", "github:get_file"),
        ("listPullRequests", "github:listPullRequests"),
    ],
)
def test_a_name_counts_more_than_a_description(words: str, first: str) -> None:
    assert search(words, listed(servers()))[0].name == first


def test_only_connected_servers_are_searched_and_no_words_list_all() -> None:
    assert [one.name for one in search("", listed(servers()))] == [f"github:{tool.name}" for tool in TOOLS]
    assert search("nothing like it", listed(servers())) == []
    assert in_words([], "Not connected: gone: failed") == "No tool found. Not connected: gone: failed"


def test_the_best_come_with_their_schemas_and_the_text_has_a_limit() -> None:
    many = [RemoteTool(f"tool_{n}", "Do it. " * 200, {"properties": {"p": "x" * 3_000}}) for n in range(300)]
    text = in_words(search("tool", listed(servers(*many))), "")
    assert text.startswith("github:tool_0\n")
    assert 2 <= text.count("arguments: ") <= 5
    assert len(text) <= MAX_CHARS + 200
    assert "more; search with other words" in text
    assert '"title"' not in in_words(search("create_issue", listed(servers())), "")


def test_the_arguments_of_a_prompt_come_in_order_and_the_last_takes_the_rest() -> None:
    prompt = RemotePrompt("review", "", (("file", True), ("style", False)))
    assert prompt.given("a.py very 'short and' kind") == {"file": "a.py", "style": "very short and kind"}
    assert prompt.given('"a b.py"') == {"file": "a b.py"}
    assert prompt.given("it's") == {"file": "it's"}
    with pytest.raises(ValueError, match=r"it needs <file> \[style\]"):
        prompt.given("")
    with pytest.raises(ValueError, match="no arguments"):
        RemotePrompt("plain").given("x")
