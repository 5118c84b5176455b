"""Is thinking refused when it was changed, moved, left out or taken from another conversation, and only then?"""

from typing import Any

import pytest

from tests.endpoint.binding import CHANGED
from tests.endpoint.cache import Usage
from tests.endpoint.conversation import MODIFIED
from tests.endpoint.judge import Judge
from tests.endpoint.response import Prompted, respond
from tests.endpoint.rules import BINDING_CONTROLS, Rules
from tests.endpoint.sample import TOOL, assistant, body, call, post, result, user, verdict
from tests.endpoint.script import Block, Call, Redacted, Reply, Text, Thinking
from tests.endpoint.server import Endpoint
from tests.endpoint.shape import RefusedError
from tests.endpoint.signatures import Origin, redact, sign, verify, verify_redacted

MANUAL = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 4000,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
}


def thinking(words: str, signature: str | None = None) -> dict[str, Any]:
    return {
        "type": "thinking",
        "thinking": words,
        "signature": sign(words) if signature is None else signature,
    }


class Conversation:
    """A client without faults: what it was sent it sends back."""

    def __init__(self, judge: Judge, **fields: Any):
        self.judge = judge
        self.fields = {"tools": [TOOL], **fields}
        self.messages: list[Any] = [user("hello")]

    def ask(self, *content: str | Block, **headers: str) -> list[Any]:
        """Send the conversation; the reply with this content becomes its last message."""
        accepted = self.judge.judge(post(body(*self.messages, **self.fields), **headers))
        seed = b"%d" % len(self.messages)
        prompted = Prompted(seed, accepted.prompt.model, Usage(), True, accepted.prefix, b"tests.endpoint")
        response = respond(Reply(content), prompted)
        self.judge.replies.add(response.message_id, response.kinds(), response.calls())
        message = assistant(*(dict(block.whole) for block in response.blocks))
        self.messages.append(message)
        return list(message["content"])

    def answer(self, *more: str) -> None:
        """Answer the calls of the last message."""
        calls = [block for block in self.messages[-1]["content"] if block["type"] == "tool_use"]
        self.messages.append(user(*(result(block["id"]) for block in calls), *more))

    def refusal(self, **headers: str) -> str:
        """Why the service refuses the conversation as it stands."""
        try:
            self.judge.judge(post(body(*self.messages, **self.fields), **headers))
        except RefusedError as error:
            return str(error)
        return ""


def test_a_signature_is_valid_for_its_text_and_key_only():
    origin = Origin("msg_1", 3, "ab", "cd")
    signature = sign("why", origin)
    assert signature == sign("why", origin), "deterministic"
    assert verify("why", signature) == origin
    assert verify("why ", signature) is None
    assert verify("why", signature, b"another key") is None
    assert verify("why", signature[:-4] + "AAA=") is None
    assert verify_redacted(redact("secret", origin)) == origin
    assert verify_redacted(redact("secret").replace("c", "d", 1)) is None


@pytest.mark.parametrize("junk", ["", "x", "====", "YWJj", "é", "Ojo6Og==", "OmE6Ojo="])
def test_junk_is_no_signature(junk: str):
    assert verify("why", junk) is None
    assert verify_redacted(junk) is None


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (thinking("why", ""), "messages.1.content.0: Invalid `signature` in `thinking` block"),
        (thinking("why", sign("because")), "messages.1.content.0: Invalid `signature` in `thinking` block"),
        (
            thinking("why", sign("why", key=b"x")),
            "messages.1.content.0: Invalid `signature` in `thinking` block",
        ),
        (
            {"type": "thinking", "thinking": "why"},
            "messages.1.content.0.thinking.signature: Field required",
        ),
        (
            {**thinking("why"), "cache_control": {"type": "ephemeral"}},
            "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
        ),
        (
            {"type": "redacted_thinking", "data": "abc"},
            "messages.1.content.0: Invalid `data` in `redacted_thinking` block",
        ),
    ],
)
def test_thinking_that_this_server_did_not_sign_is_refused(block: dict[str, Any], message: str):
    """API-22, API-23"""
    assert verdict(body(user("x"), assistant(block, "y"), user("z"))) == message


def test_thinking_without_signatures_passes_where_the_rules_say_so():
    unsigned = body(user("x"), assistant({"type": "thinking", "thinking": "why"}, "y"), user("z"))
    assert verdict(unsigned, Rules(signatures=False)) == ""


def test_a_message_of_thinking_alone_is_refused():
    """API-02: what is left when a stream is cut behind the thinking."""
    alone = body(user("x"), assistant(thinking("why")), user("z"))
    assert verdict(alone) == (
        "messages.1.content.0: The final block in an assistant message cannot be `thinking`."
    )


def test_thinking_of_the_user_is_refused():
    assert verdict(body(user(thinking("why")))) == (
        "messages.0.content.0: `thinking` blocks can only be in `assistant` messages"
    )


class TestOrder:
    """Blocks of one reply stay in their message, in their order, each once."""

    @pytest.fixture
    def talk(self) -> Conversation:
        talk = Conversation(Judge(Rules()))
        talk.ask(Thinking("first"), "text", Redacted(), Call("read", {"path": "a"}))
        talk.answer()
        return talk

    def test_a_reply_sent_back_as_it_came_is_accepted(self, talk: Conversation):
        assert talk.refusal() == ""

    def test_swapped_thinking_is_refused(self, talk: Conversation):
        first, words, second, request = talk.messages[1]["content"]
        talk.messages[1] = assistant(second, words, first, request)
        assert talk.refusal() == f"messages.1.content.2: {MODIFIED}"

    def test_thinking_twice_is_refused(self, talk: Conversation):
        first, *rest = talk.messages[1]["content"]
        talk.messages[1] = assistant(first, first, *rest)
        assert talk.refusal() == f"messages.1.content.1: {MODIFIED}"

    def test_thinking_in_another_message_is_refused(self, talk: Conversation):
        first = talk.messages[1]["content"][0]
        talk.ask("done")
        talk.messages[-1] = assistant(first, "done")
        talk.messages.append(user("more"))
        assert talk.refusal() == f"messages.3.content.0: {MODIFIED}"

    def test_one_of_two_left_out_of_the_latest_message_is_refused(self, talk: Conversation):
        first, words, _, request = talk.messages[1]["content"]
        talk.messages[1] = assistant(first, words, request)
        assert talk.refusal() == f"messages.1.content.0: {MODIFIED}"

    def test_an_interrupted_reply_may_end_before_its_later_thinking(self, talk: Conversation):
        """API-02: the client cannot have what it did not read."""
        talk.messages[1:] = [assistant(*talk.messages[1]["content"][:2]), user("go on")]
        assert talk.refusal() == ""

    def test_all_thinking_may_be_left_out(self, talk: Conversation):
        """A Strip, with thinking that is not of the manual kind."""
        _, words, _, request = talk.messages[1]["content"]
        talk.messages[1] = assistant(words, request)
        assert talk.refusal() == ""


class TestOpenLoop:
    """With manual thinking the first message of the open tool loop begins with thinking."""

    UNTHOUGHT = "Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is enabled"

    def found(self, *messages: Any, **fields: Any) -> str:
        return verdict(body(*messages, **{**MANUAL, **fields}))

    def test_a_loop_that_begins_with_a_call_is_refused(self):
        found = self.found(user("x"), assistant(call("a")), user(result("a")))
        assert found.startswith(f"messages.1.content.0.type: {self.UNTHOUGHT.format('tool_use')}")

    def test_words_of_the_user_behind_the_results_do_not_end_the_loop(self):
        found = self.found(user("x"), assistant("ok", call("a")), user(result("a"), "hurry"))
        assert found.startswith(f"messages.1.content.0.type: {self.UNTHOUGHT.format('text')}")

    def test_only_the_first_message_of_the_loop_counts(self):
        loop = [
            user("x"),
            assistant(thinking("w"), call("a")),
            user(result("a")),
            assistant(call("b")),
            user(result("b")),
        ]
        assert self.found(*loop) == ""
        assert self.found(*loop[:1], assistant(call("a")), *loop[2:]).startswith("messages.1.content.0.type")

    def test_a_loop_that_is_over_may_have_no_thinking(self):
        closed = [user("x"), assistant(call("a")), user(result("a")), assistant("done"), user("thanks")]
        assert self.found(*closed) == ""

    @pytest.mark.parametrize("kind", ["adaptive", "disabled", None])
    def test_other_kinds_of_thinking_do_not_ask_for_it(self, kind: str | None):
        fields = {"model": "claude-sonnet-5", "thinking": {"type": kind} if kind else None}
        assert self.found(user("x"), assistant(call("a")), user(result("a")), **fields) == ""


class TestPreserved:
    """Newer models bind thinking to everything in front of it: pruning there must take the thinking along."""

    @pytest.fixture
    def talk(self) -> Conversation:
        talk = Conversation(Judge(Rules()), model="claude-opus-5-5", system="Be brief.")
        for step in ("one", "two", "three"):
            talk.ask(Thinking(step), Text(step), Call("read", {"path": step}))
            talk.answer()
        return talk

    def changed(self, place: str) -> str:
        return f"{place}: " + CHANGED.format(field="signature", kind="thinking")

    def without_thinking(self, *places: int, talk: Conversation) -> None:
        for place in places:
            kept = [block for block in talk.messages[place]["content"] if block["type"] != "thinking"]
            talk.messages[place] = assistant(*kept)

    def test_an_unchanged_conversation_is_accepted(self, talk: Conversation):
        assert talk.refusal() == ""
        talk.ask("done")
        talk.messages.append(user("more"))
        assert talk.refusal() == ""

    def test_moved_breakpoints_change_nothing(self, talk: Conversation):
        talk.messages[2]["content"][0]["cache_control"] = {"type": "ephemeral"}
        talk.fields["system"] = [
            {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
        ]
        assert talk.refusal() == ""

    def test_a_cleared_result_makes_the_thinking_behind_it_invalid(self, talk: Conversation):
        talk.messages[2]["content"][0]["content"] = "[cleared]"
        assert talk.refusal() == self.changed("messages.3.content.0")

    def test_a_dropped_exchange_makes_the_thinking_behind_it_invalid(self, talk: Conversation):
        del talk.messages[1:3]
        assert talk.refusal() == self.changed("messages.1.content.0")

    def test_a_pruned_conversation_passes_when_the_later_thinking_went_with_it(self, talk: Conversation):
        talk.messages[2]["content"][0]["content"] = "[cleared]"
        self.without_thinking(3, 5, talk=talk)
        assert talk.refusal() == ""

    def test_new_thinking_behind_a_pruned_place_is_valid(self, talk: Conversation):
        talk.messages[2]["content"][0]["content"] = "[cleared]"
        self.without_thinking(3, 5, talk=talk)
        talk.ask(Thinking("four"), "done")
        talk.messages.append(user("more"))
        assert talk.refusal() == ""

    def test_another_system_prompt_or_tool_makes_all_thinking_invalid(self, talk: Conversation):
        talk.fields["system"] = "Be very brief."
        assert talk.refusal() == self.changed("messages.1.content.0")
        talk.fields["system"] = "Be brief."
        talk.fields["tools"] = [TOOL, {**TOOL, "name": "write"}]
        assert talk.refusal() == self.changed("messages.1.content.0")

    def test_thinking_left_out_between_others_is_refused(self, talk: Conversation):
        self.without_thinking(3, talk=talk)
        assert talk.refusal() == self.changed("messages.5.content.0")

    def test_the_first_thinking_or_all_of_it_may_be_left_out(self, talk: Conversation):
        self.without_thinking(1, talk=talk)
        assert talk.refusal() == ""
        self.without_thinking(3, 5, talk=talk)
        assert talk.refusal() == ""

    def test_the_client_may_ask_to_have_invalid_thinking_dropped(self, talk: Conversation):
        talk.fields["thinking"] = {
            "type": "adaptive",
            "block_binding": {"prefix_mismatch_behavior": "drop_block"},
        }
        assert talk.refusal(anthropic_beta=BINDING_CONTROLS) == ""
        talk.messages[2]["content"][0]["content"] = "[cleared]"
        assert talk.refusal(anthropic_beta=f"other-1, {BINDING_CONTROLS}") == ""
        talk.fields["thinking"]["block_binding"]["prefix_mismatch_behavior"] = "error"
        assert "bound to a different conversation" in talk.refusal(anthropic_beta=BINDING_CONTROLS)

    def test_older_models_and_older_accounts_do_not_check(self, talk: Conversation):
        del talk.messages[1:3]
        talk.fields["model"] = "claude-opus-5"
        assert talk.refusal() == ""
        talk.fields["model"] = "claude-opus-5-5"
        talk.judge = Judge(Rules(prefix_check=False))
        assert talk.refusal() == ""


async def test_the_endpoint_accepts_its_own_thinking_over_many_turns(post_json: Any):
    """The same, through the socket: a faithful client is never refused."""
    script = [Reply([Thinking(f"step {n}"), f"text {n}", Call("read", {"n": n})]) for n in range(4)]
    for model in ("claude-opus-5-5", "claude-sonnet-4-5", "claude-sonnet-5"):
        async with Endpoint(script) as endpoint:
            fields = MANUAL if model == "claude-sonnet-4-5" else {"model": model}
            messages = [user("hello")]
            for _ in range(5):
                reply = await post_json(
                    endpoint, body(*messages, tools=[TOOL], **{**fields, "stream": False})
                )
                messages.append({"role": "assistant", "content": reply["content"]})
                calls = [block["id"] for block in reply["content"] if block["type"] == "tool_use"]
                messages.append(user(*(result(name) for name in calls)) if calls else user("more"))
            assert [refused.refusal for refused in endpoint.rejected] == []
            assert len(endpoint.requests) == 5
