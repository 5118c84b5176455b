"""Which failures are told to be the sandbox's, and which are not."""

import pytest

from prunecli.safety.sandbox.denials import explain

WRITING = "blocked by the sandbox: writing outside the workspace"


def line_of(output: str, **given) -> str:
    return explain(output, **given).line


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("touch: cannot touch '/x': Read-only file system", WRITING),
        ("OSError: [Errno 30] Read-only file system: '/usr/x'", WRITING),
        ("npm ERR! code EROFS", WRITING),
        (
            "fatal: Unable to create '/w/.git/index.lock': Read-only file system",
            "the git repository is read-only",
        ),
        ("mkdir: cannot create directory '.prunecli/x': Read-only file system", ".prunecli is read-only"),
        ("curl: (6) Could not resolve host: example.com", "the network is off"),
        ("connect: Network is unreachable", "the network is off"),
        ("getaddrinfo EAI_AGAIN registry.npmjs.org", "the network is off"),
        ("cat: .env: Permission denied", ".env may contain secrets and is hidden"),
        ("PermissionError: [Errno 13] Permission denied: '/w/deep/.env'", ".env may contain secrets"),
    ],
)
def test_the_systems_own_words_are_explained_with_the_way_out(output: str, said: str) -> None:
    line = line_of(f"before\n{output}\n", hidden=("/w/.env", "/h/.ssh"))
    assert said in line
    assert "set outside=true and give a reason" in line
    assert "\n" not in line


def test_a_sandbox_that_can_not_be_set_up_says_so_in_one_line() -> None:
    line = line_of("bwrap: Can't find source path /w/.git: Permission denied\n")
    assert line.startswith("the sandbox can't be set up here: Can't find source path /w/.git: Permission den")
    assert "set outside=true" in line


@pytest.mark.parametrize(
    "output",
    [
        "",
        "AssertionError: assert 1 == 2",
        "cat: notes.txt: Permission denied",
        "cat: my.env.txt: Permission denied",
        "cat: .env: No such file or directory",
        "Connection refused",
        "the .env is hidden\nchmod: x: Permission denied",
        "error: network timeout in test",
    ],
)
def test_other_failures_are_not(output: str) -> None:
    assert line_of(output, hidden=("/w/.env",)) == ""


def test_a_workspace_that_nobody_here_can_write_is_not_blamed_on_the_sandbox() -> None:
    for line in ("touch: cannot touch 'x': Permission denied", "touch: x: Read-only file system"):
        said = line_of(line, closed=True)
        assert said == "the workspace can't be written here: it belongs to another user or is read-only"
    assert line_of("AssertionError", closed=True) == ""
    assert "is hidden" in line_of("cat: .env: Permission denied", closed=True, hidden=("/w/.env",))
    git = "fatal: Unable to create '/w/.git/index.lock': Read-only file system"
    assert "the git repository is read-only" in line_of(git, closed=True)


def test_an_open_network_is_not_blamed() -> None:
    assert line_of("Could not resolve host: x", network=True) == ""


def test_a_host_that_was_refused_is_named_without_control_characters() -> None:
    line = line_of("", refused=("a.example", "evil\x1b.example"))
    assert "listed hosts only, not evil" in line
    assert "\x1b" not in line


def test_a_variable_that_the_command_did_not_get_is_named_if_it_failed_for_that() -> None:
    assert "the variable API_TOKEN" in line_of("KeyError: 'API_TOKEN'", unset=("API_TOKEN", "B_SECRET"))
    assert line_of("KeyError: 'MY_API_TOKEN_2'", unset=("API_TOKEN",)) == ""


def test_under_landlock_a_refusal_by_the_system_is_explained() -> None:
    assert WRITING in line_of("touch: cannot touch '/x': Permission denied", landlock=True)


@pytest.mark.parametrize(
    ("output", "harm"),
    [
        ("curl: (6) Could not resolve host: example.com", "needs network: example.com"),
        (
            "fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com",
            "needs network: github.com",
        ),
        (
            "ssh: Could not resolve hostname github.com: Temporary failure in name resolution",
            "needs network: github.com",
        ),
        (
            "npm error request to https://registry.npmjs.org/x failed: getaddrinfo EAI_AGAIN registry.npmjs.org",
            "needs network: registry.npmjs.org",
        ),
        (
            "HTTPSConnectionPool(host='pypi.org', port=443): [Errno -3] Temporary failure in name resolution",
            "needs network: pypi.org",
        ),
        (
            "dial tcp: lookup proxy.golang.org: Temporary failure in name resolution",
            "needs network: proxy.golang.org",
        ),
        ("connect: Network is unreachable", "needs network: the sandbox has none"),
    ],
)
def test_the_user_is_told_which_host_a_command_could_not_reach(output: str, harm: str) -> None:
    blocked = explain(output)
    assert (blocked.harm, blocked.network, blocked.outside) == (harm, True, False)


def test_a_second_run_gets_what_the_first_lacked_and_no_more() -> None:
    assert explain("cat: .env: Permission denied", hidden=("/w/.env",)).reads == ("/w/.env",)
    assert explain("touch: cannot touch '/x': Read-only file system").outside
    variable = explain("KeyError: 'API_TOKEN'", unset=("API_TOKEN",))
    assert (variable.network, variable.reads, variable.outside) == (False, (), False)
    assert variable.harm == "reads the variable API_TOKEN"


def test_a_search_that_went_on_without_a_secret_is_no_reason_to_ask() -> None:
    found = explain("a.py:1:x\ngrep: ./.env: Permission denied", hidden=("/w/.env",))
    assert (found.harm, ".env may contain secrets" in found.line) == ("", True)
    assert (
        explain("cat: .env: Permission denied", hidden=("/w/.env",)).harm
        == "reads .env, which may contain secrets"
    )
