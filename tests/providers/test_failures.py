"""What an endpoint's failure means to us, and that no message of it shows a key or a page."""

import itertools
import json
import socket
import ssl
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.agent.retry import RetryPolicy
from prunecli.providers.failures import Failures, retry_after
from prunecli.util.errors import (
    BadRequest,
    ConnectionLost,
    ContextOverflow,
    NoSummaryNow,
    Overloaded,
    ProviderError,
    RateLimited,
    SignatureRejected,
    SummaryRejected,
    Unauthorized,
)

KEY = "sk-ant-api03-abcDEF_123-456"
TOKEN = "gateway.token+with(regex)chars"
FAILURES = Failures("https://api.example.com", (KEY, TOKEN))
NOW = 1_700_000_000.0


def refused(status: int, message: str = "No.", kind: str = "x", **error: Any) -> ProviderError:
    body = {"type": "error", "error": {"type": kind, "message": message, **error}}
    return FAILURES.refused(status, {}, json.dumps(body).encode(), NOW)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (301, BadRequest),
        (400, BadRequest),
        (401, Unauthorized),
        (402, Unauthorized),
        (403, Unauthorized),
        (404, BadRequest),
        (408, Overloaded),
        (409, BadRequest),
        (413, ContextOverflow),
        (422, BadRequest),
        (429, RateLimited),
        (500, Overloaded),
        (502, Overloaded),
        (503, Overloaded),
        (504, Overloaded),
        (529, Overloaded),
        (599, Overloaded),
    ],
)
def test_a_status_says_whose_fault_it_is(status: int, kind: type[ProviderError]):
    """401, 402 and 403 are never tried again."""
    error = refused(status)
    assert type(error) is kind
    assert "https://api.example.com" in error.message
    assert str(status) in error.message


@pytest.mark.parametrize(
    "message",
    [
        "prompt is too long: 210003 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000",
        "Input is too long for requested model.",
        "the request exceeds the available context size, try increasing it",
        "This model's maximum context length is 4096 tokens",
        "total tokens exceeds limit",
        "Total tokens of image and text exceed max message tokens",
        "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
        "Your request exceeded model token limit: 262144 (requested: 273110)",
        "Prompt exceeds max length",
        "Prompt 超长",
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        "Please reduce the length of the messages or completion.",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097.",
        "Input token length too long",
        "prompt token count of 128500 exceeds the limit of 128000",
    ],
)
@pytest.mark.parametrize("status", [400, 500])
def test_a_prompt_that_does_not_fit_is_an_overflow_in_every_server_s_words(message: str, status: int):
    assert type(refused(status, message)) is ContextOverflow


@pytest.mark.parametrize(
    "message",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to another one.",
        "messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest message cannot be modified.",
        "messages.2: The final block in an assistant message cannot be `thinking`.",
        "messages.2.content.1: The final block in an assistant message cannot be `redacted_thinking`.",
        "messages.1.content.0: Invalid `data` in `redacted_thinking` block",
        "messages.1.content.0: Invalid `data` in `redacted_thinking` block. The block is bound to a different one.",
    ],
)
def test_a_refused_signature_has_its_own_kind(message: str):
    assert type(refused(400, message, "invalid_request_error")) is SignatureRejected
    event = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    assert type(FAILURES.event(event)) is SignatureRejected


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (400, "Your credit balance is too low to access the Anthropic API.", None),
        (429, "You have reached your spend limit.", "enforced_spend_limit_reached"),
        (429, "No.", "contract_spend_limit_reached"),
    ],
)
def test_spent_money_is_the_account_s_fault(status: int, message: str, code: str | None):
    assert (
        type(refused(status, message, "invalid_request_error", details={"error_code": code})) is Unauthorized
    )


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "compaction_block_misplaced", SummaryRejected),
        (400, "compaction_block_ambiguous", SummaryRejected),
        (400, "compaction_signature_invalid", SummaryRejected),
        (400, "compaction_content_mismatch", SummaryRejected),
        (400, "compaction_tool_changes_mismatch", SummaryRejected),
        (400, "compaction_nothing_to_summarize", BadRequest),
        (400, "compaction_incomplete_turn", BadRequest),
        (529, "compaction_unavailable", NoSummaryNow),
        (529, None, Overloaded),
    ],
)
def test_refusals_of_summaries_are_told_by_their_code(status: int, code: str | None, kind: type[Exception]):
    name = "overloaded_error" if status == 529 else "invalid_request_error"
    message = "the `signature` is not supported in `thinking`"
    if kind is BadRequest:
        message = "no"
    assert type(refused(status, message, name, details={"error_code": code})) is kind


def test_a_refusal_of_a_summary_without_a_code_is_told_by_its_words():
    message = "messages.1.content.0: the `compaction` block must come first"
    assert type(refused(400, message, "invalid_request_error")) is SummaryRejected


def test_a_message_that_names_a_place_keeps_it():
    """What is in messages.N can be dropped by the user."""
    assert "messages.7.content.2" in refused(400, "messages.7.content.2: image exceeds 5 MB").message


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("overloaded_error", Overloaded),
        ("api_error", Overloaded),
        ("timeout_error", Overloaded),
        ("rate_limit_error", RateLimited),
        ("authentication_error", Unauthorized),
        ("permission_error", Unauthorized),
        ("billing_error", Unauthorized),
        ("invalid_request_error", BadRequest),
        ("not_found_error", BadRequest),
        ("request_too_large", ContextOverflow),
        ("something_new", Overloaded),
    ],
)
def test_an_error_event_is_translated_by_its_type(name: str, kind: Any):
    error = FAILURES.event({"type": "error", "error": {"type": name, "message": "Sorry."}})
    assert type(error) is kind
    assert "Sorry." in error.message


@pytest.mark.parametrize("data", [{}, None, [], {"error": 7}, {"error": None, "message": ["x"]}])
def test_an_error_event_without_an_error_is_one_all_the_same(data: Any):
    assert type(FAILURES.event(data)) is Overloaded


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "86400"}, 86400.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, 30.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT", "date": "Tue, 14 Nov 2023 22:13:45 GMT"}, 5.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Tue, 99 Nov 2023 22:00:00 GMT"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_retry_after_is_seconds_a_date_or_nothing(headers: dict[str, str], expected: float | None):
    assert retry_after(headers, NOW) == expected
    for status in (429, 529):
        error = FAILURES.refused(status, headers, b"", NOW)
        assert isinstance(error, RateLimited | Overloaded)
        assert error.retry_after == expected


@given(st.text(max_size=40))
def test_no_retry_after_header_is_too_odd(value: str):
    found = retry_after({"retry-after": value}, NOW)
    assert found is None or found >= 0


@pytest.mark.parametrize("secret", [KEY, TOKEN, "sk-ant-another_key-99"])
def test_no_message_shows_a_key(secret: str):
    errors = [
        refused(401, f"invalid x-api-key: {secret}."),
        FAILURES.refused(500, {}, f"<title>{secret}</title>".encode(), NOW),
        FAILURES.refused(307, {"location": f"https://x/?key={secret}"}, b"", NOW),
        FAILURES.event({"error": {"type": "api_error", "message": f"key={secret}"}}),
        FAILURES.no_stream("text/plain", secret.encode()),
        FAILURES.lost(OSError(secret)),
        FAILURES.cut(secret),
    ]
    for error in errors:
        assert secret not in f"{error} {error.hint}"
        assert "[key]" in error.message


def test_a_key_is_not_shown_where_a_message_is_cut():
    """What is shortened is shortened after the key was taken out."""
    for length in range(440, 520):
        assert KEY[:12] not in FAILURES.shown("x" * length + KEY)
    assert KEY[:12] not in FAILURES.shown(" " * 19_990 + KEY)


def test_a_password_in_the_address_is_not_shown():
    error = Failures("http://user:hunter2@localhost:8080/api").cut("gone")
    assert "hunter2" not in error.message
    assert "http://***@localhost:8080/api" in error.message


def test_a_page_of_a_proxy_becomes_its_title():
    page = b"<html><head><title>502 Bad\n Gateway</title></head><body>" + b"x" * 60_000
    error = FAILURES.refused(502, {"content-type": "text/html"}, page, NOW)
    assert error.message == "https://api.example.com: 502: an HTML page: 502 Bad Gateway"


def test_a_page_without_a_title_becomes_its_first_words():
    page = b"<html><style>a {b: c}</style><body><h1>Sign&nbsp;in</h1> to go on</body>"
    assert "an HTML page: Sign&nbsp;in to go on" in FAILURES.no_stream("text/html", page).message


@pytest.mark.parametrize(
    "body", [b"", b"\xff\xfe\x00", b"{", b"[" * 100_000, b"null", b'"text"', b"x" * 1_000_000]
)
def test_every_body_gives_a_short_message_of_one_line(body: bytes):
    for error in (FAILURES.refused(400, {}, body, NOW), FAILURES.no_stream("", body)):
        assert type(error) is BadRequest
        assert len(error.message) < 700
        assert error.message.isprintable()


def test_control_characters_of_a_server_are_taken_out():
    assert refused(400, "a\x1b]52;c;x\x07b\n\u202ec").message.endswith("400: a ]52;c;x b c")


def test_an_error_in_the_clothes_of_a_success_is_what_it_says():
    body = b'{"type": "error", "error": {"type": "authentication_error", "message": "bad key"}}'
    assert type(FAILURES.no_stream("application/json", body)) is Unauthorized


def test_a_success_that_is_no_stream_says_what_it_is():
    error = FAILURES.no_stream("text/html; charset=utf-8", b"<title>Log in</title>")
    assert "text/html instead of an event stream: an HTML page: Log in" in error.message
    assert "base_url" in error.hint


def caused(*chain: BaseException) -> BaseException:
    for outer, inner in itertools.pairwise(chain):
        outer.__cause__ = inner
    return chain[0]


def test_a_lost_connection_says_why_and_where():
    certificate = ssl.SSLCertVerificationError(1, "certificate verify failed")
    certificate.verify_message = "self-signed certificate"
    for cause, words in [
        (certificate, "self-signed certificate"),
        (socket.gaierror(-2, "Name or service not known"), "can't resolve the name api.example.com"),
        (ConnectionRefusedError(111, "Connection refused"), "connection refused"),
        (TimeoutError("timed out"), "timed out"),
        (OSError(101, "Network is unreachable"), "Network is unreachable"),
        (RuntimeError(), "RuntimeError"),
    ]:
        error = FAILURES.lost(caused(Exception(""), Exception(""), cause))
        assert type(error) is ConnectionLost
        assert error.message.startswith("https://api.example.com: ")
        assert words in error.message


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
        "`max_tokens` must be greater than `thinking.budget_tokens`",
        "the number of requests exceeds your limit",
        "messages.3.content.0: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
        "tools.0.name: String should have at most 128 characters",
        "tools.3.input_schema: the length of the description exceeds the limit",
        "system: text content must be non-empty",
        "Range of max_tokens should be [1, 8192]",
    ],
)
def test_other_words_of_limits_and_tokens_are_no_overflow(message: str):
    assert type(refused(400, message)) is BadRequest


def test_what_stays_wrong_is_permanent_and_always_has_a_hint():
    certificate = ssl.SSLCertVerificationError(1, "certificate verify failed")
    for cause, permanent in [
        (certificate, True),
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), True),
        (socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"), False),
        (ConnectionRefusedError(111, "Connection refused"), False),
    ]:
        error = FAILURES.lost(caused(Exception(""), cause))
        assert error.permanent is permanent
        assert error.hint
    assert not FAILURES.lost(caused(Exception(""), TimeoutError("timed out"))).permanent


@pytest.mark.parametrize("status", [400, 408, 429, 500, 529])
@pytest.mark.parametrize(("header", "is_tried_again"), [("false", False), ("False", False), ("true", True)])
def test_a_server_that_says_not_to_try_again_is_believed(status: int, header: str, is_tried_again: bool):
    error = FAILURES.refused(status, {"x-should-retry": header, "retry-after": "3"}, b"", NOW)
    wait = RetryPolicy().wait(error, 1, streamed=False, jitter=0.5)
    assert (wait is not None) is (is_tried_again and status != 400)
    assert ("trying again would not help" in error.hint) is (wait is None and status != 400)


def test_what_was_handled_before_a_connection_broke_is_not_its_cause():
    """Python remembers it as the context of each error that is raised meanwhile."""
    lost = ConnectionResetError(104, "Connection reset by peer")
    for handled in (BadRequest("400: no such field"), ConnectionRefusedError(111, "Connection refused")):
        lost.__context__ = handled
        assert "Connection reset by peer" in FAILURES.lost(caused(Exception(""), lost), handled).message


def test_causes_that_go_round_in_a_circle_end():
    first, second = Exception("first"), Exception("second")
    first.__cause__, second.__cause__ = second, first
    assert "second" in FAILURES.lost(first).message


def test_an_address_that_ends_in_v1_is_pointed_out_where_nothing_is_found():
    assert "/v1" in Failures("http://localhost:1/v1").refused(404, {}, b"", NOW).hint
    assert Failures("http://localhost:1").refused(404, {}, b"", NOW).hint == ""
    unknown = b'{"error": {"type": "not_found_error", "message": "model: sonnet-5-5"}}'
    assert "/model" in Failures("http://localhost:1").refused(404, {}, unknown, NOW).hint


@pytest.mark.parametrize(
    "said",
    [
        "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
        "litellm.InternalServerError: OpenAIException - image input is not supported",
        "documents are not supported",
    ],
)
def test_what_a_server_can_not_do_is_not_tried_again_though_it_says_500(said: str) -> None:
    body = json.dumps({"error": {"code": 500, "message": said, "type": "server_error"}}).encode()
    assert type(FAILURES.refused(500, {}, body, NOW)) is BadRequest
    assert type(FAILURES.refused(500, {}, b'{"error": "the tool is busy"}', NOW)) is Overloaded
