"""Is thinking refused when it was changed, moved, left out or taken from another conversation, and only then?"""

import json
from typing import Any

import pytest

from tests.endpoint.binding import CHANGED, DIFFERS, NEEDS_BETA
from tests.endpoint.cache import PromptCache, Usage
from tests.endpoint.conversation import MODIFIED
from tests.endpoint.judge import Accepted, Judge
from tests.endpoint.readers import may_read
from tests.endpoint.response import Prompted, respond
from tests.endpoint.rules import BINDING_CONTROLS, COMPACTION, Rules
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
        self.headers: dict[str, str] = {}

    def ask(self, *content: str | Block, **headers: str) -> list[Any]:
        """Send the conversation; the reply with this content becomes its last message."""
        accepted = self.seen(**headers)
        seed, model = b"%d" % len(self.messages), accepted.prompt.model
        known = Rules().model(model)
        response = respond(
            Reply(content),
            Prompted(
                seed,
                model,
                Usage(),
                True,
                accepted.prefix,
                b"tests.endpoint",
                accepted.visible,
                known is not None and known.of_account,
            ),
        )
        self.judge.replies.add(response.message_id, response.kinds(), response.calls())
        message = assistant(*(dict(block.whole) for block in response.blocks))
        self.messages.append(message)
        return list(message["content"])

    def answer(self, *more: str) -> None:
        """Answer the calls of the last message."""
        calls = [block for block in self.messages[-1]["content"] if block["type"] == "tool_use"]
        self.messages.append(user(*(result(block["id"]) for block in calls), *more))

    def seen(self, **headers: str) -> Accepted:
        """The conversation as the model would see it now."""
        return self.judge.judge(post(body(*self.messages, **self.fields), **{**self.headers, **headers}))

    def reported(self, **headers: str) -> list[tuple[str, str]]:
        """What the service reports of the conversation's thinking: where, and why."""
        told = self.seen(anthropic_beta=BINDING_CONTROLS, **headers).transformations
        assert told is not None
        return [(str(one["path"]), str(one["reason"])) for one in told]

    def drop(self) -> None:
        """From now on the client asks for invalid thinking to be dropped."""
        self.fields["thinking"] = {
            "type": "adaptive",
            "block_binding": {"prefix_mismatch_behavior": "drop_block"},
        }
        self.headers = {"anthropic_beta": BINDING_CONTROLS}

    def clear(self, place: int) -> None:
        """Clears the result in this message."""
        self.messages[place]["content"][0]["content"] = "[cleared]"

    def strip(self, *places: int) -> None:
        """Leaves out the thinking of these messages."""
        for place in places:
            kept = [block for block in self.messages[place]["content"] if block["type"] != "thinking"]
            self.messages[place] = assistant(*kept)

    def refusal(self, **headers: str) -> str:
        """Why the service refuses the conversation as it stands."""
        try:
            self.seen(**headers)
        except RefusedError as error:
            return str(error)
        return ""


def test_a_signature_is_valid_for_its_text_and_key_only():
    origin = Origin("msg_1", 3, model="a:b", account="c d", chars=7)
    signature = sign("why", origin)
    assert signature == sign("why", origin), "deterministic"
    assert verify("why", signature) == origin
    assert verify("why ", signature) is None
    assert verify("why", signature, b"another key") is None
    assert verify("why", signature[:-4] + "AAA=") is None
    assert verify_redacted(redact("secret", origin)) == origin
    assert verify_redacted(redact("secret").replace("c", "d", 1)) is None


def test_bound_thinking_is_in_its_signature_and_the_text_beside_it_is_free():
    origin = Origin("msg_1", 3, "ab", "cd", chars=3)
    signature = sign("why", origin)
    assert verify("", signature) == verify("edited", signature) == origin
    assert verify("why", signature[:-4] + "AAA=") is None


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
    assert verdict(body(user("x"), assistant(block, "y"), user("z"))) == message


def test_thinking_without_signatures_passes_where_the_rules_say_so():
    unsigned = body(user("x"), assistant({"type": "thinking", "thinking": "why"}, "y"), user("z"))
    assert verdict(unsigned, Rules(signatures=False)) == ""


def test_a_message_of_thinking_alone_is_refused():
    """What is left when a stream is cut behind the thinking."""
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

    def test_thinking_of_the_next_reply_belongs_in_its_message_only_behind_a_paused_turn(
        self, talk: Conversation
    ):
        said = talk.messages[1]["content"][:3]
        del talk.messages[2:]
        talk.messages[1] = assistant(*said, "and")
        talk.messages.append(user("go on"))
        more = talk.ask(Thinking("more"), "done")
        talk.messages[1:] = [assistant(*said, "and", *more), user("go on")]
        assert talk.refusal() == f"messages.1.content.4: {MODIFIED}"
        talk.judge.replies.unfinished |= set(talk.judge.replies.kinds)
        assert talk.refusal() == ""

    def test_one_of_two_left_out_of_the_latest_message_is_refused(self, talk: Conversation):
        first, words, _, request = talk.messages[1]["content"]
        talk.messages[1] = assistant(first, words, request)
        assert talk.refusal() == f"messages.1.content.0: {MODIFIED}"

    def test_an_interrupted_reply_may_end_before_its_later_thinking(self, talk: Conversation):
        """The client cannot have what it did not read."""
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


def talk_of(model: str, judge: Judge | None = None, *, dropping: bool = False) -> Conversation:
    """Three steps of work: thinking in messages 1, 3 and 5, results in 2, 4 and 6."""
    talk = Conversation(judge or Judge(Rules()), model=model, system="Be brief.")
    if dropping:
        talk.drop()
    for step in ("one", "two", "three"):
        talk.ask(Thinking(step), Text(step), Call("read", {"path": step}))
        talk.answer()
    return talk


PREFIX = "prefix_binding_mismatch"


class TestPreserved:
    """Newer models bind thinking to everything in front of it: pruning there must take the thinking along."""

    @pytest.fixture
    def talk(self) -> Conversation:
        return talk_of("claude-opus-5-5")

    def changed(self, place: str) -> str:
        return f"{place}: " + CHANGED.format(field="signature", kind="thinking") + NEEDS_BETA

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

    @pytest.mark.parametrize(
        "fields",
        [
            {"max_tokens": 500},
            {"output_config": {"effort": "low"}},
            {"thinking": {"type": "adaptive", "display": "summarized"}},
            {"tool_choice": {"type": "none"}},
            {"metadata": {"user_id": "x"}},
        ],
    )
    def test_other_parameters_change_nothing(self, talk: Conversation, fields: dict[str, Any]):
        talk.fields |= fields
        assert talk.refusal() == ""

    def test_a_cleared_result_makes_the_thinking_behind_it_invalid(self, talk: Conversation):
        talk.clear(2)
        assert talk.refusal() == self.changed("messages.3.content.0") + DIFFERS.format(
            place="messages.2.content.0"
        )

    def test_a_pruned_conversation_passes_when_the_later_thinking_went_with_it(self, talk: Conversation):
        talk.clear(2)
        talk.strip(3, 5)
        assert talk.refusal() == ""

    def test_another_system_prompt_or_tool_makes_all_thinking_invalid(self, talk: Conversation):
        talk.fields["system"] = "Be very brief."
        assert talk.refusal() == self.changed("messages.1.content.0")
        talk.fields["system"] = "Be brief."
        talk.fields["tools"] = [TOOL, {**TOOL, "name": "write"}]
        assert talk.refusal() == self.changed("messages.1.content.0")

    def test_thinking_left_out_between_others_is_refused(self, talk: Conversation):
        talk.strip(3)
        assert talk.refusal() == self.changed("messages.5.content.0")

    def test_redacted_thinking_is_held_to_the_same_in_other_words(self):
        talk = Conversation(Judge(Rules()), model="claude-opus-5-5")
        talk.ask(Redacted("one"), "done")
        talk.messages[0] = user("hello!")
        talk.messages.append(user("more"))
        changed = CHANGED.format(field="data", kind="redacted_thinking") + NEEDS_BETA
        differs = DIFFERS.format(place="messages.0.content.0")
        assert talk.refusal() == f"messages.1.content.0: {changed}{differs}"

    @pytest.mark.parametrize(("replaced", "kept"), [(2, True), (1, False)])
    def test_thinking_behind_a_summary_is_kept_if_the_role_changes_there(self, replaced: int, kept: bool):
        talk = Conversation(Judge(Rules()), model="claude-opus-5-5")
        talk.messages.append(user("and more"))
        talk.ask(Thinking("one"), "done")
        asked = body(*talk.messages[:replaced], **talk.fields, compaction={"type": "summarize"})
        summary = talk.judge.judge(post(asked, anthropic_beta=COMPACTION)).replaced
        assert summary is not None
        gist = assistant(summary.block("the gist", "claude-opus-5-5", b"tests.endpoint"))
        talk.messages = [gist, *talk.messages[replaced:], user("go on")]
        assert (talk.refusal(anthropic_beta=COMPACTION) == "") == kept

    @pytest.mark.parametrize("places", [(1,), (1, 3), (5,), (3, 5), (1, 3, 5)])
    def test_thinking_may_be_left_out_from_either_end_or_wholly(
        self, talk: Conversation, places: tuple[int, ...]
    ):
        talk.strip(*places)
        assert talk.refusal() == ""

    def test_visible_text_may_be_edited_and_a_signature_may_not(self, talk: Conversation):
        block = talk.messages[3]["content"][0]
        talk.messages[3]["content"][0] = {**block, "thinking": "shorter"}
        assert talk.refusal() == ""
        flipped = ("A" if block["signature"][9] != "A" else "B").join(
            (block["signature"][:9], block["signature"][10:])
        )
        talk.messages[3]["content"][0] = {**block, "signature": flipped}
        talk.drop()
        assert talk.refusal() == "messages.3.content.0: Invalid `signature` in `thinking` block"

    def test_older_models_do_not_check(self):
        talk = talk_of("claude-opus-5")
        talk.clear(2)
        assert talk.refusal() == ""
        talk.fields["thinking"] = {
            "type": "adaptive",
            "block_binding": {"prefix_mismatch_behavior": "error"},
        }
        assert talk.reported() == []

    def test_count_tokens_runs_the_same_check(self, talk: Conversation):
        talk.clear(2)
        counted = {name: value for name, value in talk.fields.items() if name != "max_tokens"}
        asked = body(*talk.messages, **{**counted, "max_tokens": None, "stream": None})
        with pytest.raises(RefusedError, match="bound to a different conversation"):
            talk.judge.judge(post(asked), counting=True)


class TestDropping:
    """The client may ask to have invalid thinking left out instead of being refused."""

    @pytest.fixture
    def talk(self) -> Conversation:
        return talk_of("claude-opus-5-5", dropping=True)

    def test_each_failing_block_and_the_later_ones_are_dropped(self, talk: Conversation):
        assert talk.reported() == []
        talk.clear(2)
        assert talk.reported() == [("messages.3.content.0", PREFIX), ("messages.5.content.0", PREFIX)]

    def test_what_is_thought_behind_the_change_is_kept(self, talk: Conversation):
        talk.clear(2)
        talk.ask(Thinking("four"), Call("read", {"path": "four"}))
        talk.answer()
        assert talk.reported() == [("messages.3.content.0", PREFIX), ("messages.5.content.0", PREFIX)]

    def test_a_change_taken_back_revalidates_the_old_and_drops_what_was_thought_meanwhile(
        self, talk: Conversation
    ):
        before = talk.messages[2]["content"][0]["content"]
        talk.clear(2)
        talk.ask(Thinking("four"), Call("read", {"path": "four"}))
        talk.answer()
        talk.messages[2]["content"][0]["content"] = before
        assert talk.reported() == [("messages.7.content.0", PREFIX)]

    def test_dropped_blocks_are_not_billed_and_change_the_cached_prefix_from_the_first(
        self, talk: Conversation
    ):
        cache = PromptCache(Rules(), lambda: 0.0)
        whole = talk.seen().prompt
        cache.account(whole)
        talk.clear(4)
        seen = talk.seen().prompt
        assert seen.tokens == whole.tokens - (len("text of the file") - len("[cleared]")) // 4 - 2
        shared = [old.key == new.key for old, new in zip(whole.blocks, seen.blocks, strict=False)]
        assert shared.index(False) == len(seen.blocks) - 4, "the cleared result is the first that differs"

    def test_the_header_is_needed_and_reports_even_nothing(self, talk: Conversation):
        assert talk.seen().transformations == ()
        assert talk.refusal(anthropic_beta="other-1") == (
            "thinking.adaptive.block_binding: Extra inputs are not permitted"
        )
        del talk.fields["thinking"]
        assert talk.seen(anthropic_beta="other-1").transformations is None

    def test_error_may_be_asked_for(self, talk: Conversation):
        talk.clear(2)
        talk.fields["thinking"]["block_binding"]["prefix_mismatch_behavior"] = "error"
        assert talk.refusal().startswith("messages.3.content.0: " + CHANGED[:9])
        assert NEEDS_BETA not in talk.refusal(), "the request has this header"

    @pytest.mark.parametrize(
        ("model", "kind"), [("claude-sonnet-5-5", "between_tools"), ("claude-haiku-5-5", "disabled")]
    )
    def test_kinds_of_thinking_without_it_refuse_the_field(self, model: str, kind: str):
        talk = talk_of(model, dropping=True)
        talk.fields["thinking"]["type"] = kind
        assert talk.refusal() == f"thinking.{kind}.block_binding: Extra inputs are not permitted"
        talk.fields["thinking"] = {"type": kind}
        assert talk.refusal() == ""


class TestAccounts:
    """What an account gets depends on its age; some thinking belongs to its account."""

    OLD = Rules(old_account=True)

    def test_older_accounts_bill_and_report_what_no_longer_fits(self):
        talk = talk_of("claude-opus-5-5", Judge(self.OLD))
        whole = talk.seen().prompt.tokens
        talk.clear(4)
        accepted = talk.seen(anthropic_beta=BINDING_CONTROLS)
        assert accepted.transformations == (
            {"type": "thinking_mismatch_allowed", "path": "messages.5.content.0", "reason": PREFIX},
        )
        assert accepted.prompt.tokens == whole - 1, "the result is shorter, the thinking stays"

    @pytest.mark.parametrize("behavior", ["error", "drop_block"])
    def test_asking_for_either_behavior_makes_an_older_account_check(self, behavior: str):
        talk = talk_of("claude-opus-5-5", Judge(self.OLD))
        talk.clear(4)
        talk.drop()
        talk.fields["thinking"]["block_binding"]["prefix_mismatch_behavior"] = behavior
        refused = "bound to a different conversation" in talk.refusal()
        assert refused == (behavior == "error")

    @pytest.mark.parametrize("model", ["claude-fable-5-2", "claude-mythos-5-2", "claude-mythos-5-1"])
    def test_some_models_refuse_on_every_account(self, model: str):
        talk = talk_of(model, Judge(self.OLD))
        talk.clear(4)
        assert "bound to a different conversation" in talk.refusal()

    @pytest.mark.parametrize("model", ["claude-sonnet-5-5", "claude-haiku-5-5"])
    def test_thinking_of_another_account_is_left_out_without_an_error(self, model: str):
        rules = Rules(accounts={"key-a": "a", "key-b": "b", "key-c": "a"})
        talk = Conversation(Judge(rules), model=model)
        talk.headers = {"x_api_key": "key-a"}
        talk.ask(Thinking("one"), "done")
        talk.messages.append(user("more"))
        gone = [("messages.1.content.0", "organization_binding_mismatch")]
        assert talk.reported(x_api_key="key-b") == gone
        assert talk.reported(x_api_key="key-c") == []

    def test_thinking_of_other_models_is_free_of_the_account(self):
        talk = Conversation(Judge(Rules(accounts={"key-b": "b"})), model="claude-opus-5-5")
        talk.ask(Thinking("one"), "done")
        talk.messages.append(user("more"))
        assert talk.reported(x_api_key="key-b") == []


@pytest.mark.parametrize(
    ("reader", "writer", "expected"),
    [
        ("claude-fable-5-1", "claude-opus-5-5", True),
        ("claude-fable-5-1", "claude-sonnet-5", True),
        ("claude-opus-5-5", "claude-opus-5", True),
        ("claude-opus-5-5", "claude-sonnet-5-5", True),
        ("claude-opus-5-5", "claude-fable-5", False),
        ("claude-sonnet-5-5", "claude-sonnet-5", True),
        ("claude-sonnet-5-5", "claude-opus-4-8", True),
        ("claude-sonnet-5-5", "claude-opus-5", False),
        ("claude-sonnet-5-5", "claude-opus-5-5", False),
        ("claude-mythos-5-2", "claude-fable-5-2", True),
        ("claude-fable-5-1", "claude-fable-5-2", False),
        ("claude-opus-5-5", "claude-haiku-5-5", True),
        ("claude-haiku-5-5", "claude-opus-5", False),
        ("claude-haiku-5-5", "claude-haiku-5-5", True),
    ],
)
def test_a_model_reads_the_thinking_of_some_others(reader: str, writer: str, expected: bool):
    assert may_read(reader, writer) == expected


def test_thinking_that_a_model_may_not_read_is_left_out_and_comes_back():
    talk = talk_of("claude-opus-5-5")
    talk.fields["model"] = "claude-sonnet-5-5"
    gone = [(f"messages.{at}.content.0", "model_binding_mismatch") for at in (1, 3, 5)]
    assert talk.reported() == gone
    talk.fields["model"] = "claude-opus-5-5"
    assert talk.reported() == []


BINDING = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}


@pytest.mark.parametrize("display", [None, "omitted", "summarized"])
async def test_bound_thinking_shows_its_text_only_where_that_is_asked_for(
    post_json: Any, display: str | None
):
    thinking = {"type": "adaptive", **({"display": display} if display else {})}
    async with Endpoint([Reply([Thinking("12345678"), "done"])]) as endpoint:
        asked = body(user("x"), model="claude-opus-5-5", stream=False, thinking=thinking)
        reply = await post_json(endpoint, asked)
        shown, _ = reply["content"]
        assert shown["thinking"] == ("12345678" if display == "summarized" else "")
        assert shown["signature"]
        assert reply["usage"]["output_tokens_details"] == {"thinking_tokens": 2}
        assert reply["usage"]["output_tokens"] == 3
        assert "input_transformations" not in reply, "there was no header"
        before = endpoint.requests[0].usage
        again = body(user("x"), assistant(*reply["content"]), user("y"), model="claude-opus-5-5")
        await post_json(endpoint, {**again, "stream": False})
        after = endpoint.requests[1].usage
        assert endpoint.rejected == []
        assert after.prompt_tokens == before.prompt_tokens + 2 + 1 + 1, "hidden thinking is billed in full"


async def test_transformations_stream_in_the_first_event(connect: Any):
    async with Endpoint() as endpoint, connect(endpoint) as client:
        client.send(
            body(user("x"), model="claude-opus-5-5", thinking=BINDING), anthropic_beta=BINDING_CONTROLS
        )
        _, _, raw = await client.response()
    lines = [json.loads(line[6:]) for line in raw.decode().splitlines() if line[:6] == "data: "]
    found = {event["type"]: event for event in lines}
    assert found["message_start"]["message"]["input_transformations"] == []
    assert "input_transformations" not in found["message_delta"]


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
