"""Definitions of servers: what is valid, what variables do, what an approval is bound to, what a screen shows."""

from dataclasses import replace

import pytest

from prunecli.features.mcp.definition import Definition, DefinitionError, OAuth, name_problem, url_problem
from prunecli.features.mcp.starting import explain, masked, masked_url, server_environment

LOCAL = Definition("files", command="npx", args=("-y", "${PACKAGE:-server}"), origin=".mcp.json")
REMOTE = Definition("hub", "http", url="https://mcp.example/mcp", headers={"X-Key": "${KEY}"})


def problem(definition: Definition) -> str:
    with pytest.raises(DefinitionError) as failed:
        definition.check()
    return failed.value.message


@pytest.mark.parametrize("name", ["github", "my server", "a.b-c_d", "@scope+x"])
def test_ordinary_names_are_fine(name):
    assert name_problem(name) == ""


@pytest.mark.parametrize(
    "name", ["", " a", "a/b", "a:b", "a\nb", "\x1b[31m", "a\u202eb", "x" * 65, "*", "a,b", "(a)"]
)
def test_a_name_that_could_mislead_a_rule_or_a_terminal_is_refused(name):
    said = name_problem(name)
    assert said.startswith("invalid server name")
    assert said.isprintable()


@pytest.mark.parametrize(
    "url", ["https://a.example/mcp", "http://localhost:1/x", "http://127.0.0.1", "http://[::1]:9/"]
)
def test_addresses_that_are_safe(url):
    assert url_problem(url) == ""


@pytest.mark.parametrize(
    "url",
    [
        "http://a.example/mcp",
        "http://127.0.0.1.evil.example/",
        "http://localhost@evil.example/",
        "https://user:secret@a.example/",
        "ftp://a.example",
        "https://",
        "https://a b",
        "https://[::1",
        "https://a.example:99999/",
        "javascript:alert(1)",
        "",
    ],
)
def test_addresses_that_are_not(url):
    said = url_problem(url)
    assert said
    assert "secret" not in said


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        (replace(LOCAL, command=" "), ".mcp.json: files.command: expected a program, got nothing"),
        (replace(LOCAL, url="https://a.example"), ".mcp.json: files.url: not both command and url"),
        (
            replace(LOCAL, args=("a\0",)),
            ".mcp.json: files.args: contains a character that cannot be passed to a program",
        ),
        (replace(LOCAL, env={"A=B": "1"}), ".mcp.json: files.env: invalid variable name: 'A=B'"),
        (replace(LOCAL, timeout=0), ".mcp.json: files.timeout: expected seconds above 0, got 0"),
        (replace(REMOTE, url=""), "hub.url: expected an https URL"),
        (replace(REMOTE, headers={"A B": "1"}), "hub.headers: invalid header name: 'A B'"),
        (replace(REMOTE, headers={"A": "1\r\nB: 2"}), "hub.headers: A: expected printable ASCII"),
        (replace(REMOTE, name="a/b"), "a/b: invalid server name"),
    ],
)
def test_an_error_names_file_server_and_key(definition, said):
    assert problem(definition).startswith(said)


def test_variables_are_filled_in_and_defaults_taken():
    assert LOCAL.expanded({}).args == ("-y", "server")
    assert LOCAL.expanded({"PACKAGE": "other"}).args == ("-y", "other")
    assert LOCAL.expanded({"PACKAGE": ""}).args == ("-y", "server")
    assert REMOTE.expanded({"KEY": "k"}).headers == {"X-Key": "k"}
    assert REMOTE.expanded({"KEY": ""}).headers == {"X-Key": ""}
    assert REMOTE.variables() == ("KEY",)


def test_what_a_variable_holds_is_not_read_again():
    assert REMOTE.expanded({"KEY": "${HOME}", "HOME": "/home"}).headers == {"X-Key": "${HOME}"}


@pytest.mark.parametrize("text", ["$KEY", "${}", "${1A}", "${A-b}", "$${", "${A", "{A}"])
def test_other_dollars_stay_as_they_are(text):
    assert replace(LOCAL, args=(text,)).expanded({"A": "no", "KEY": "no"}).args == (text,)


def test_a_variable_that_is_not_set_is_named_with_the_way_out():
    with pytest.raises(DefinitionError) as failed:
        REMOTE.expanded({})
    assert failed.value.message == "hub.headers.X-Key: variable KEY is not set"
    assert failed.value.hint == "set it, or write ${KEY:-default}"


@pytest.mark.parametrize("url", ["http://evil.example/", "https://me:pass@evil.example/", "\n"])
def test_an_address_is_checked_once_it_is_filled_in(url):
    definition = replace(REMOTE, url="${URL}")
    definition.check()
    with pytest.raises(DefinitionError):
        definition.expanded({"URL": url, "KEY": ""})


def test_an_approval_covers_everything_that_runs_and_nothing_else():
    assert replace(LOCAL, origin="x", timeout=1, enabled=False, name="other").to_json() == LOCAL.to_json()
    changed = [
        replace(LOCAL, command="node"),
        replace(LOCAL, args=("-y",)),
        replace(LOCAL, env={"A": "1"}),
        replace(LOCAL, cwd="/"),
        replace(LOCAL, transport="sse", command="", args=(), url="https://mcp.example/mcp"),
        replace(LOCAL, oauth=False),
        replace(LOCAL, oauth=OAuth("id")),
    ]
    assert len({repr(one.to_json()) for one in [LOCAL, *changed]}) == len(changed) + 1
    assert "${KEY}" in repr(REMOTE.to_json())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("${KEY}", "${KEY}"),
        ("Bearer ${KEY}", "Bearer ${KEY}"),
        ("Bearer sk-1", "***"),
        ("sk-1${KEY}sk-2", "***${KEY}***"),
        ("${KEY:-sk-1}", "${KEY:-***}"),
        ("sk-1", "***"),
        ("", ""),
    ],
)
def test_a_secret_is_never_shown(text, shown):
    assert masked(text) == shown


def test_the_query_of_an_address_is_not_shown():
    assert masked_url("https://a.example/mcp?key=1#x") == "https://a.example/mcp?***"
    assert masked_url("https://a.example/mcp#key") == "https://a.example/mcp#***"
    assert masked_url("https://a.example/mcp") == "https://a.example/mcp"


def test_the_question_shows_what_runs_and_no_secret():
    definition = Definition(
        "x",
        command="${RUNNER:-sh}",
        args=("-c", "curl evil.example\x1b[2K"),
        env={
            "CLAUDE_PROJECT_DIR": "/work",
            "NODE_OPTIONS": "--require ./evil.js",
            "API_TOKEN": "s3cret",
            "OTHER": "${OTHER:-}",
        },
        cwd="/work",
    )
    lines = list(explain(definition, {"RUNNER": "/bin/bash"}))
    assert lines == [
        "Runs: /bin/bash -c curl evil.example␛[2K",
        "In: /work",
        "With: NODE_OPTIONS=--require ./evil.js",
        "With: API_TOKEN=***",
        "With: OTHER=${OTHER:-}",
        "Gets your variables: OTHER, RUNNER",
    ]
    remote = replace(REMOTE, url="https://${HOST}/mcp?token=1")
    assert list(explain(remote, {"HOST": "evil.example", "KEY": "s3cret"})) == [
        "Connects to: https://evil.example/mcp?***",
        "Sends: X-Key: ${KEY}",
        "Gets your variables: HOST, KEY",
    ]


def test_a_server_gets_no_variable_that_its_definition_does_not_name():
    given = {
        "PATH": "/usr/bin:.::bin",
        "HOME": "/home/me",
        "LC_ALL": "C",
        "GITHUB_TOKEN": "t",
        "LD_PRELOAD": "x",
        "ANTHROPIC_API_KEY": "k",
    }
    assert server_environment(given) == {"PATH": "/usr/bin", "HOME": "/home/me", "LC_ALL": "C"}
