"""Does the service make summaries on demand, and keep the thinking behind them, as this program assumes?"""

from typing import Any

import pytest

from prunecli.context.compaction import CompactionPlan, signed_summary
from prunecli.model.codec import content_from_json
from prunecli.model.requests import COMPACTION_BETA
from prunecli.util.errors import SummaryRejected
from tests.live.api import BINDING, Answer, Api, Talk, bound, text
from tests.live.test_bound_thinking import meaning

BETAS = (BINDING, COMPACTION_BETA)
ASKED = {"type": "summarize", "instructions": CompactionPlan(0, 1, "").instructions()}


@pytest.fixture
def talk(api: Api) -> Talk:
    """Three turns."""
    talk = Talk(api)
    for _ in range(3):
        talk.turn()
    return talk


def summary(talk: Talk, upto: int = 2, **fields: Any) -> Answer:
    """The answer to a request for a summary of the first messages."""
    asked = {"thinking": bound(), "compaction": ASKED, **fields}
    return talk.api.post(talk.messages[:upto], BETAS, **asked)


def behind(talk: Talk, answer: Answer, *more: dict[str, Any], upto: int = 2) -> Answer:
    """The kept turns behind a summary, asked so that invalid thinking is refused."""
    first = {"role": "assistant", "content": answer.body["content"]}
    messages = [first, *talk.messages[upto:], *more]
    return talk.api.post(messages, BETAS, thinking=bound("error"))


def test_the_answer_is_one_signed_block_and_its_usage_stands_among_the_iterations(talk: Talk) -> None:
    answer = summary(talk)
    assert (answer.status, answer.error) == (200, "")
    assert answer.body["stop_reason"] == "compaction"
    assert signed_summary(content_from_json(answer.body["content"]))
    usage = answer.body["usage"]
    assert usage["output_tokens"] == 0 < usage["iterations"][0]["output_tokens"]
    assert usage["iterations"][0]["type"] == "compaction"


def test_it_streams_as_one_start_of_a_block(talk: Talk) -> None:
    answer = summary(talk, stream=True)
    starts = [event for event in answer.events if event["type"] == "content_block_start"]
    assert len(starts) == 1
    assert starts[0]["content_block"]["signature"]
    assert not [event for event in answer.events if event["type"] == "content_block_delta"]
    last = next(event for event in answer.events if event["type"] == "message_delta")
    assert last["usage"]["iterations"][0]["output_tokens"] > 0


def test_the_thinking_of_kept_turns_stays_valid(talk: Talk) -> None:
    answer = behind(talk, summary(talk), text("Say only: ok"))
    assert (answer.status, answer.error) == (200, "")
    assert answer.body["input_transformations"] == []


def test_words_behind_the_kept_turns_change_nothing_for_them(talk: Talk) -> None:
    """Where this program puts the user's words that the summary replaced."""
    said = {"type": "text", "text": "<user-words>\nas I said\n</user-words>"}
    last = {"role": "user", "content": [said, {"type": "text", "text": "Say only: ok"}]}
    assert behind(talk, summary(talk), last).body.get("input_transformations") == []


def test_a_message_between_block_and_kept_turns_breaks_their_thinking(talk: Talk) -> None:
    first = {"role": "assistant", "content": summary(talk).body["content"]}
    between = [text("as I said"), {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}]
    messages = [first, *between, *talk.messages[2:], text("Say only: ok")]
    assert talk.api.post(messages, BETAS, thinking=bound("error")).status == 400


def test_kept_turns_survive_a_second_summary(talk: Talk) -> None:
    once = summary(talk)
    first = {"role": "assistant", "content": once.body["content"]}
    again = talk.api.post([first, *talk.messages[2:4]], BETAS, thinking=bound(), compaction=ASKED)
    assert again.body["stop_reason"] == "compaction"
    answer = behind(talk, again, text("Say only: ok"), upto=4)
    assert (answer.status, answer.error) == (200, "")


def test_our_own_summary_breaks_the_thinking_behind_it(talk: Talk) -> None:
    messages = [text("<summary>One puzzle was solved.</summary>"), {"role": "assistant", "content": [
        {"type": "text", "text": "Good."}]}, *talk.messages[2:], text("Say only: ok")]  # fmt: skip
    assert talk.api.post(messages, BETAS, thinking=bound("error")).status == 400


@pytest.mark.parametrize("key", ["content", "signature"])
def test_a_changed_block_is_refused_in_words_that_are_understood(talk: Talk, key: str) -> None:
    made = dict(summary(talk).body["content"][0])
    made[key] = ("B" if made[key][0] == "A" else "A") + made[key][1:]
    messages = [{"role": "assistant", "content": [made]}, *talk.messages[2:], text("Say only: ok")]
    refused = talk.api.post(messages, BETAS, thinking=bound())
    assert isinstance(meaning(refused), SummaryRejected), refused.error


def test_a_block_that_is_not_first_is_refused_in_words_that_are_understood(talk: Talk) -> None:
    made = {"role": "assistant", "content": summary(talk).body["content"]}
    refused = talk.api.post([*talk.messages[:1], made, text("Say only: ok")], BETAS, thinking=bound())
    assert isinstance(meaning(refused), SummaryRejected), refused.error


def test_another_model_takes_the_block(talk: Talk) -> None:
    made = {"role": "assistant", "content": summary(talk).body["content"]}
    answer = talk.api.post([made, text("Say only: ok")], (COMPACTION_BETA,), model="claude-opus-5")
    assert (answer.status, answer.error) == (200, "")


def test_a_model_from_before_it_refuses_the_block(talk: Talk) -> None:
    made = {"role": "assistant", "content": summary(talk).body["content"]}
    messages = [made, text("Say only: ok")]
    fields = {"model": "claude-haiku-4-5", "thinking": None}
    assert talk.api.post(messages, (COMPACTION_BETA,), **fields).status == 400
