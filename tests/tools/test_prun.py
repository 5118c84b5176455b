"""prun, prun_with_memo and recall: what they take and what they answer."""

from dataclasses import replace
from pathlib import Path

import pytest

from prunecli.context.prun import PrunPlan
from prunecli.model.messages import Block, Image, Opaque, Text, Thinking, ToolUse
from prunecli.tools.inputs import parse
from prunecli.tools.prun import Prun
from prunecli.tools.prun_with_memo import PrunWithMemo
from prunecli.tools.recall import Recall
from prunecli.tools.tool import FilesSeen, ToolContext, ToolOutput, bounded_output
from prunecli.util.errors import ToolError

CONTEXT = ToolContext(
    Path("/w"),
    Path("/w"),
    {},
    FilesSeen(),
    plan_prun=lambda tokens, memo: PrunPlan((3, 7), tokens, memo, "Will remove 2 exchanges."),
)


async def test_a_call_only_plans_and_the_plan_stands_in_its_details() -> None:
    output = await Prun().run(parse(Prun.Input, {"tokens": 5}), CONTEXT)
    assert output.content == (Text("Will remove 2 exchanges."),)
    assert PrunPlan.from_json(output.details["prun"]) == PrunPlan((3, 7), 5, None, "")


async def test_a_memo_given_to_the_plain_call_is_ignored() -> None:
    output = await Prun().run(parse(Prun.Input, {"tokens": 5, "memo": "x"}), CONTEXT)
    assert output.details["prun"]["memo"] is None


@pytest.mark.parametrize("tokens", [0, -3, True, "5", 2.5, None])
async def test_tokens_are_a_positive_integer(tokens: object) -> None:
    with pytest.raises(ToolError, match="tokens"):
        await Prun().run(parse(Prun.Input, {"tokens": tokens}), CONTEXT)


@pytest.mark.parametrize("memo", ["", "  \n", None, 7])
async def test_a_memo_is_not_blank(memo: object) -> None:
    with pytest.raises(ToolError, match="memo"):
        await PrunWithMemo().run(parse(PrunWithMemo.Input, {"tokens": 5, "memo": memo}), CONTEXT)


async def test_a_memo_over_its_limit_is_an_error_that_counts_it() -> None:
    with pytest.raises(ToolError, match="2,001 characters"):
        await PrunWithMemo().run(parse(PrunWithMemo.Input, {"tokens": 5, "memo": "x" * 2_001}), CONTEXT)
    output = await PrunWithMemo().run(parse(PrunWithMemo.Input, {"tokens": 5, "memo": "x" * 2_000}), CONTEXT)
    assert output.details["prun"]["memo"] == "x" * 2_000


async def test_without_a_planner_the_calls_say_so() -> None:
    with pytest.raises(ToolError, match="not available"):
        await Prun().run(parse(Prun.Input, {"tokens": 5}), replace(CONTEXT, plan_prun=None))


async def recalled(*content: Block) -> tuple[Block, ...]:
    context = replace(CONTEXT, recall=lambda seq: content)
    return (await Recall().run(parse(Recall.Input, {"entry": 17}), context)).content


async def test_recall_gives_the_original_without_its_thinking() -> None:
    picture = Image("image/png", "AAAA")
    call = ToolUse("t", "read", {"path": "a.py"})
    assert await recalled(Thinking("hm", "s"), Text("words"), picture, call) == (
        Text("words"),
        picture,
        Text('(called read {"path":"a.py"})'),
    )
    assert await recalled(ToolUse("t", "ls", {})) == (Text("(called ls)"),)


async def test_recall_gives_blocks_of_kinds_that_this_version_does_not_know() -> None:
    document = Opaque({"type": "document", "source": {"type": "text", "data": "words"}})
    assert await recalled(document) == (document,)
    assert bounded_output(ToolOutput((document,)), 10).content == (document,)


async def test_recall_of_what_is_no_result_is_an_error() -> None:
    def unknown(seq: int) -> tuple[Block, ...]:
        raise ToolError(f"There is no tool result or answer numbered {seq}")

    with pytest.raises(ToolError, match="numbered 17"):
        await Recall().run(parse(Recall.Input, {"entry": 17}), replace(CONTEXT, recall=unknown))


def test_the_calls_are_shown_by_what_they_ask_for() -> None:
    assert Prun().summary({"tokens": 500}) == "500 tokens"
    assert PrunWithMemo().summary({"tokens": 5, "memo": "the gist"}) == "5 tokens, memo: the gist"
    assert Recall().summary({"entry": 17}) == "entry 17"
