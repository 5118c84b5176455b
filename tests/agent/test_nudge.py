"""A sentence suggests prun when much old output goes to a cold cache: once for it, and only where it is worth it."""

from typing import Any

import pytest

from prunecli.agent.decide import Inbox, Limits, Send, Steer, next_action
from prunecli.agent.nudge import nudge
from prunecli.agent.policy import Policy
from prunecli.context.economics import Market
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import SettingChanged, UserMessage
from prunecli.model.record_codec import decode_record, encode_record
from prunecli.model.requests import PREAMBLE
from tests.context.expecting import numbers
from tests.context.strategies.test_auto import COLD, WARM, used
from tests.context.talk import Talk, tokens

TOOLS = [{"name": "read"}, {"name": "prun", "input_schema": {"properties": {"list": {}}}}]


def worked(size: int = 4_000, tools: Any = TOOLS) -> Talk:
    """A session of reads, and a new prompt after a pause."""
    talk = Talk()
    talk.add(SettingChanged(PREAMBLE, {"system": ["be brief"], "tools": tools}))
    read(talk, size)
    return talk


def read(talk: Talk, size: int) -> None:
    for turn in range(8):
        talk.user()
        talk.step("read", tokens(size), path=f"{turn}.py")
        used(talk)
    talk.user("and now?")


def policy(market: Market = COLD, **more: Any) -> Policy:
    given = {"nudges": True, "expectations": numbers(warm_margin=(2.0, 2.0)), **more}
    return Policy(market=market, **given)


def test_it_goes_once_with_a_prompt_to_a_cold_cache_and_a_resumed_session_sends_it_again() -> None:
    talk = worked()
    action = next_action(talk.context, Inbox(), policy(), Limits())
    assert isinstance(action, Steer)
    (message,) = action.messages
    said = "[notice] old results\nOld results of this session take 32,"
    assert message.content[0].text.startswith(said)  # type: ignore[union-attr]
    assert 'tokens; `prun {"list": true}` names them.' in str(message.content)
    assert message.fixed == (0,), "a system message where the model takes one"
    before = talk.context.preamble
    talk.add(message)
    assert isinstance(next_action(talk.context, Inbox(), policy(), Limits()), Send), "once"
    assert talk.context.preamble == before, "system prompt and tools stay"

    again = Context(Chars4())
    for record in talk.records:
        again.apply(decode_record(encode_record(record)))
    assert again.messages() == talk.context.messages()
    assert b"Old results of this session" in again.messages()[-1].canonical

    used(talk)
    read(talk, 400)
    assert nudge(talk.context, policy()) is None, "little came since"
    used(talk)
    read(talk, 30_000)
    more = nudge(talk.context, policy())
    assert isinstance(more, UserMessage), "as much came again"


@pytest.mark.parametrize(
    ("talk", "policy"),
    [
        (worked(), policy(nudges=False)),
        (worked(), policy(WARM)),
        (worked(), policy(binds=True)),
        (worked(), policy(expectations=numbers())),
        (worked(20), policy()),
        (worked(tools=TOOLS[:1]), policy()),
    ],
    ids=["off", "warm", "bound thinking", "no margin is enough", "little", "no prun"],
)
def test_otherwise_nothing_is_suggested(talk: Talk, policy: Policy) -> None:
    assert nudge(talk.context, policy) is None


def test_inside_a_tool_round_nothing_is_suggested() -> None:
    talk = worked()
    talk.step("read", tokens(100), path="more.py")
    assert nudge(talk.context, policy()) is None
