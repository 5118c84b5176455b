"""Secrets of known shapes do not leave with an export."""

import random
import string

import pytest

from prunecli.features.export.exporters.formats import ENDINGS, exported
from prunecli.features.export.exporters.redact import redacted, without_secrets
from prunecli.model.events import AssistantMessage, SettingChanged, ToolResult, ToolStarted, UserMessage
from prunecli.model.messages import Text, Thinking, ToolUse
from prunecli.model.requests import PREAMBLE
from prunecli.model.touches import Touches
from tests.session.exporters.sample import numbered
from tests.session.points import content

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
URL = ALNUM + "-_"

SHAPES: list[tuple[str, list[tuple[str, str, int]]]] = [
    ("", [("sk-ant-api03-", URL, 93)]),
    ("", [("sk-proj-", URL, 74)]),
    ("", [("sk-", ALNUM, 48)]),
    ("", [("sk-or-v1-", HEX, 64)]),
    ("", [("AKIA", BASE32, 16)]),
    ("", [("ASIA", BASE32, 16)]),
    ("", [("ghp_", ALNUM, 36)]),
    ("", [("gho_", ALNUM, 36)]),
    ("", [("ghs_", ALNUM, 36)]),
    ("", [("github_pat_", ALNUM, 22), ("_", ALNUM, 59)]),
    ("", [("glpat-", URL, 20)]),
    ("", [("xoxb-", string.digits, 12), ("-", string.digits, 12), ("-", ALNUM, 24)]),
    ("", [("xapp-1-A", ALNUM, 10), ("-", string.digits, 13), ("-", HEX, 64)]),
    ("", [("https://hooks.slack.com/services/T", ALNUM, 8), ("/B", ALNUM, 8), ("/", ALNUM, 24)]),
    ("", [("sk_live_", ALNUM, 24)]),
    ("", [("rk_test_", ALNUM, 24)]),
    ("", [("whsec_", ALNUM, 32)]),
    ("", [("AIza", URL, 35)]),
    ("", [("ya29.", URL, 60)]),
    ("", [("GOCSPX-", URL, 28)]),
    ("", [("npm_", ALNUM, 36)]),
    ("", [("pypi-AgEIcHlwaS5vcmc", URL, 80)]),
    ("", [("hf_", string.ascii_letters, 34)]),
    ("", [("SG.", URL, 22), (".", URL, 43)]),
    ("", [("SK", HEX, 32)]),
    ("", [("key-", HEX, 32)]),
    ("", [("", HEX, 32), ("-us", string.digits, 2)]),
    ("", [("dop_v1_", HEX, 64)]),
    ("", [("shpat_", HEX, 32)]),
    ("", [("sq0atp-", URL, 22)]),
    ("", [("1234567890:AA", URL, 33)]),
    ("", [("eyJhbGciOi", URL, 20), (".eyJzdWIi", URL, 40), (".", URL, 43)]),
    ("", [("dapi", HEX, 32)]),
    ("", [("hvs.", URL, 90)]),
    ("", [("glsa_", ALNUM, 32), ("_", HEX, 8)]),
    ("", [("lin_api_", ALNUM, 40)]),
    ("", [("ntn_", ALNUM, 46)]),
    ("", [("figd_", URL, 40)]),
    ("", [("pat", ALNUM, 14), (".", HEX, 64)]),
    ("", [("dckr_pat_", URL, 27)]),
    ("", [("pscale_tkn_", URL, 43)]),
    ("", [("tskey-auth-", ALNUM, 17), ("-", ALNUM, 32)]),
    ("", [("rubygems_", HEX, 48)]),
    ("", [("NRAK-", string.ascii_uppercase + string.digits, 27)]),
    ("", [("gsk_", ALNUM, 52)]),
    ("", [("r8_", ALNUM, 37)]),
    ("", [("AGE-SECRET-KEY-1", BASE32, 58)]),
    ("DB_PASSWORD=", [("", ALNUM, 16)]),
    ("export API_TOKEN=", [("", ALNUM, 20)]),
    ("Authorization: Bearer ", [("", URL, 40)]),
    ("AccountKey=", [("", ALNUM + "+/", 86)]),
    ("postgres://", [("admin:", ALNUM, 12)]),
    ("aws_secret_access_key = ", [("", ALNUM + "/+", 40)]),
]  # fmt: skip
"""What stands before a secret, and the parts that it is made of: a beginning, an alphabet, a length."""


def made() -> list[tuple[str, str]]:
    chance = random.Random(19)
    found = []
    for before, parts in SHAPES:
        for _ in range(4):
            secret = "".join(start + "".join(chance.choices(letters, k=n)) for start, letters, n in parts)
            found.append((before, secret))
    return found


def test_nearly_all_of_two_hundred_secrets_are_replaced() -> None:
    """At least 99 % of 200 token samples."""
    samples = made()
    assert len(samples) >= 200
    missed = []
    for before, secret in samples:
        after = "@db.example/x" if before.startswith("postgres") else "\n"
        clean, found = without_secrets(f"first line\n{before}{secret}{after} the rest")
        if secret in clean or not found:
            missed.append(secret)
    assert len(missed) <= len(samples) // 100, missed


def test_a_private_key_is_replaced_whole_even_where_its_end_is_cut_off() -> None:
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nAAAA\n"
    assert (
        without_secrets(f"a\n{key}-----END OPENSSH PRIVATE KEY-----\nb")[0] == "a\n[redacted: private key]\nb"
    )
    assert "b3Blb" not in without_secrets(key)[0]


@pytest.mark.parametrize(
    "text",
    [
        "token = parse_token(line)",
        "sk-learn and task-list-of-everything-that-is-to-do",
        "the password is required; SECRET_KEY=$SECRET",
        "commit 3a4fc2bd0c7f3f1e5b6a7c8d9e0f1a2b3c4d5e6f",
        "https://example.com/a:b/c@d",
        "AKIA is a prefix",
        "x = os.environ['API_KEY']",
        "eyJ",
        "user@example.com: hello",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert without_secrets(text) == (text, 0)


def test_every_place_of_a_session_is_searched_and_thinking_that_changed_loses_its_signature() -> None:
    secret = "ghp_" + "a1B2" * 9
    use = ToolUse("t", "bash", {"command": f"curl -H {secret}", "list": [secret]})
    records = numbered(
        UserMessage((Text(secret),)),
        SettingChanged(PREAMBLE, {"system": [f"AGENTS.md says {secret}"], "tools": []}),
        AssistantMessage((Thinking(secret, "sig"), Thinking("plain", "sig"), use)),
        ToolStarted("t", "bash", use.input, Touches(runs=(secret,), reads=("a", secret))),
        ToolResult("t", "bash", (Text(secret),), details={"source": {"name": "x", "input": {"a": secret}}}),
    )
    clean, found = redacted(records)
    assert secret not in repr(clean)
    assert found == 11
    assert content(clean[2].event)[:2] == (
        Thinking("[redacted: GitHub token]", ""),
        Thinking("plain", "sig"),
    )
    for name in ENDINGS:
        assert secret not in exported(records, name).text
        assert secret in exported(records, name, keep_secrets=True).text


_VALUE = "hX9kq2LmP4zQ"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "password: {}",
            "  db_password: '{}'",
            '"apiKey": "{}"',
            '{{"client_secret":"{}","a":1}}',
            "token: x{}",
        ),
        *(
            "X-Api-Key: {}",
            "-H 'PRIVATE-TOKEN: {}'",
            "AUTHORIZATION: Bearer {}",
            '"Authorization": "Bearer {}"',
        ),
        *("Proxy-Authorization: Basic {}=", "Cookie: sid={}", "Set-Cookie: a={}; path=/", "curl -u me:{} x"),
        *("machine x login me password {}", "machine x\n  login me\n  password {}", "h:5432:db:me:{}"),
        *("https://u:{}@h/x", "redis://:{}@h", "https://h/x?access_token={}&a=b", "https://h/x?api_key={}"),
        *("https://{}{}@github.com/x", "--password {}", "cmd --token={}", "<password>{}</password>"),
        *("//r/:_authToken={}", "_auth={}", "DB_PASS={}", "export PGPASSWORD='{}'", "secretKey: `{}`"),
        *(
            "spring.datasource.password={}",
            "Server=x;User Id=a;Password={};",
            "password => '{}'",
            'token = "Bearer {}"',
            'access_token="a word {}"',
            "MYSQL_PWD={}",
        ),
    ],
)
def test_a_secret_is_found_by_its_name_or_place(text: str) -> None:
    """YAML, JSON, headers, netrc, addresses, flags, XML, connection strings."""
    clean, found = without_secrets(text.format(_VALUE, _VALUE))
    assert _VALUE not in clean
    assert found


@pytest.mark.parametrize(
    "text",
    [
        *(
            "def f(token: str, password: string): pass",
            "token = get_token()",
            "password: string;",
            "tokens: 128000",
        ),
        *("const apiKey = process.env.API_KEY", "max_tokens=4096", "total_tokens: 123456789", "author: me"),
        *(
            "git log --author=me",
            "api_key: str = None",
            "signature: Callable[[int], str]",
            "password=password, x=1",
        ),
        *(
            "http://localhost:8080/x",
            "import tokenize",
            "def authenticate(user):",
            'floor_token="under "',
            'sep_token = " and then "',
            "unk_token: '<unk>', pad_token='[PAD]', eos_token=\"</s>\"",
            "see https://x.y/z?page=2",
        ),
    ],
)
def test_code_and_counts_stay(text: str) -> None:
    assert without_secrets(text) == (text, 0)


@pytest.mark.parametrize("unit", ["token:", "token ", "a-", "https://a:b"])
def test_the_time_grows_with_the_text_and_not_with_its_square(unit: str) -> None:
    """A pattern that starts again at each of 50,000 places would not return within a test run."""
    text = "token " + unit * 50_000
    assert without_secrets(text) == (text, 0)


@pytest.mark.parametrize(
    "text",
    [
        'password = "correct horse battery staple"',
        "token_passphrase: 'under the floor'",
        'secret_token="under the floor"',
        'token="abcdefghijklmno"',
        'token: "<aBcDeFgHiJkLmNoPqRsTuVw>"',
        'token: "Bearer abcdefghij"',
    ],
)
def test_words_may_be_a_password_and_letters_a_token(text: str) -> None:
    assert without_secrets(text)[1] == 1
