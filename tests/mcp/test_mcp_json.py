"""`.mcp.json`: the examples of Claude Code's documentation, and files that are wrong."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.features.mcp.definition import OAuth
from prunecli.features.mcp.mcp_json import MAX_BYTES, MAX_SERVERS, Found, read_servers

FOLDER = Path("/project")


def found(table: object) -> Found:
    return read_servers(json.dumps(table).encode(), FOLDER, ".mcp.json")


def only(entry: object):
    definitions, problems = found({"mcpServers": {"x": entry}})
    assert problems == ()
    return definitions[0]


def said(entry: object, name: str = "x") -> str:
    """The problem of one entry; the server beside it is usable."""
    servers = {name: entry, "good": {"command": "true"}}
    definitions, problems = found({"mcpServers": servers})
    assert [one.name for one in definitions] == ["good"]
    assert len(problems) == 1
    assert problems[0].isprintable()
    return problems[0]


def test_the_documented_examples_are_read_unchanged():
    stdio = only({"command": "/path/to/server", "args": [], "env": {}})
    assert (stdio.transport, stdio.command, stdio.args) == ("stdio", "/path/to/server", ())
    expanding = only(
        {
            "type": "http",
            "url": "${API_BASE_URL:-https://api.example.com}/mcp",
            "headers": {"Authorization": "Bearer ${API_KEY}"},
        }
    )
    ready = expanding.expanded({"API_KEY": "k"})
    assert (ready.transport, ready.url) == ("http", "https://api.example.com/mcp")
    assert ready.headers == {"Authorization": "Bearer k"}
    login = only(
        {
            "type": "http",
            "url": "https://mcp.example.com/mcp",
            "oauth": {"clientId": "your-client-id", "callbackPort": 8080, "scopes": "read write"},
        }
    )
    assert login.oauth == OAuth("your-client-id", 8080, ("read", "write"))
    assert only({"type": "sse", "url": "https://mcp.example.com/sse"}).transport == "sse"
    assert only({"type": "stdio", "command": "npx", "args": ["-y", "x"]}).args == ("-y", "x")
    assert only({"command": "x", "timeout": 600_000}).timeout == 600


def test_a_server_starts_in_the_folder_of_the_file_and_is_told_of_it():
    one = only({"command": "${CLAUDE_PROJECT_DIR:-.}/run", "args": ["${CLAUDE_PROJECT_DIR}"]})
    assert (one.command, one.args, one.cwd) == ("/project/run", ("/project",), "/project")
    assert one.env == {"CLAUDE_PROJECT_DIR": "/project"}
    assert only({"command": "x", "cwd": "sub"}).cwd == "/project/sub"


@pytest.mark.parametrize("key", ["alwaysLoad", "description", "disabled"])
def test_keys_of_others_are_ignored(key):
    assert only({"command": "x", key: {"any": 1}}).command == "x"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("npx", ".mcp.json: x: expected an object"),
        ({}, ".mcp.json: x.command: expected a program"),
        ({"command": 1}, ".mcp.json: x.command: expected a string"),
        ({"command": ["npx"]}, ".mcp.json: x.command: expected a string"),
        ({"command": "a", "args": "b"}, ".mcp.json: x.args: expected a list of strings"),
        ({"command": "a", "args": [1]}, ".mcp.json: x.args: expected a string"),
        ({"command": "a", "env": ["A"]}, ".mcp.json: x.env: expected an object of strings"),
        ({"command": "a", "env": {"A": 1}}, ".mcp.json: x.env.A: expected a string"),
        ({"command": "a", "cwd": 5}, ".mcp.json: x.cwd: expected a string"),
        ({"command": "a", "timeout": "1"}, ".mcp.json: x.timeout: expected milliseconds"),
        ({"command": "a", "timeout": True}, ".mcp.json: x.timeout: expected milliseconds"),
        ({"type": "ws", "url": "wss://a.example"}, ".mcp.json: x.type: expected stdio, http or sse"),
        ({"type": {}, "command": "a"}, ".mcp.json: x.type: expected stdio, http or sse"),
        ({"type": "http", "url": "http://a.example"}, ".mcp.json: x.url: http:// to another machine"),
        (
            {"type": "http", "url": "https://a.example", "headersHelper": "run"},
            ".mcp.json: x.headersHelper: not supp",
        ),
        ({"type": "http", "url": "https://a.example", "oauth": 5}, ".mcp.json: x.oauth: expected an object"),
        (
            {"url": "https://a.example", "oauth": {"callbackPort": 70000}},
            ".mcp.json: x.oauth.callbackPort: expected",
        ),
        (
            {"url": "https://a.example", "oauth": {"clientId": 1}},
            ".mcp.json: x.oauth.clientId: expected a string",
        ),
        (
            {"url": "https://a.example", "oauth": {"scopes": ["a"]}},
            ".mcp.json: x.oauth.scopes: expected a string",
        ),
    ],
)
def test_a_wrong_entry_is_named_and_costs_only_that_server(entry, message):
    assert said(entry).startswith(message)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b'{\n"mcpServers": {,}}',
            ".mcp.json: line 2: not JSON: Expecting property name enclosed in double quotes",
        ),
        (b"\xff\xfe", ".mcp.json: not JSON"),
        (b"[]", ".mcp.json: expected an object of servers"),
        (b'{"mcpServers": []}', ".mcp.json: mcpServers: expected an object of servers"),
        (b"[" * 200_000, ".mcp.json: nested too deeply"),
        (b'{"a": ' + b"9" * 10_000 + b"}", ".mcp.json: not JSON"),
        (b" " * (MAX_BYTES + 1), ".mcp.json: larger than 1,000,000 bytes"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(data, message):
    assert read_servers(data, FOLDER, ".mcp.json") == Found(problems=(message,))


def test_a_byte_order_mark_and_an_empty_object_are_fine():
    assert read_servers(b"\xef\xbb\xbf{}", FOLDER, ".mcp.json") == Found()


def test_there_is_a_limit_to_how_many():
    many = {f"s{number}": {"command": "x"} for number in range(MAX_SERVERS + 5)}
    definitions, problems = found({"mcpServers": many})
    assert len(definitions) == MAX_SERVERS
    assert problems == (".mcp.json: mcpServers: more than 200; the rest is ignored",)


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["command", "args", "env", "url", "headers", "oauth", "type", "timeout", "cwd"]),
            inner,
        )
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=4), TREES, max_size=3))
def test_any_table_gives_definitions_and_lines(servers):
    definitions, problems = found({"mcpServers": servers})
    assert len(definitions) + len(problems) == len(servers)
    assert all(one.isprintable() for one in problems)
