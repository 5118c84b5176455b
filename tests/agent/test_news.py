"""Notices: what the model hears of changes around the session, without a change of its system prompt or tools."""

from collections.abc import Sequence

from prunecli.model.events import UserMessage
from prunecli.model.messages import Text, ToolUse
from prunecli.model.notes import newest_notice, notice, notice_parts
from tests.agent.running import Bench
from tests.scripted import ScriptedProvider, calls, says


class Fact:
    """A fact that is told once, and again after a change or if the context no longer has it."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.text = bench, ""

    def due(self) -> Sequence[UserMessage]:
        items = reversed(self.bench.session.context.items)
        known = newest_notice((item.event for item in items), "servers") or ""
        return () if known == self.text else (notice("servers", self.text, kept=True),)


async def test_a_notice_that_is_due_in_a_round_precedes_the_next_request() -> None:
    bench = Bench(
        ScriptedProvider([calls(ToolUse("t1", "echo", {"words": "a"})), says("Seen."), says("Again.")])
    )
    fact = Fact(bench)
    bench.mailbox.news.append(fact.due)
    bench.session.emit(UserMessage((Text("go"),)))
    fact.text = "one: 3 tools"
    assert (await bench.run().run()).reason == "finished"
    first, second = bench.provider.requests
    assert b"[notice] servers" in first.body()
    assert second.body().count(b"one: 3 tools") == 1
    fact.text = "one: gone"
    done = await bench.run().run()
    assert done.reason == "finished", "an agent at rest is not started by a notice"
    assert len(bench.provider.requests) == 2
    await bench.talk("and now?")
    assert b"one: gone" in bench.provider.requests[2].body()


def test_a_notice_has_a_title_and_a_text_and_nothing_typed_is_one() -> None:
    for kept in (True, False):
        assert notice_parts(notice("skills", "a\nb", kept=kept)) == ("skills", "a\nb")
    assert notice_parts(UserMessage((Text("[notice] skills\na"),))) is None
    assert notice_parts(UserMessage((Text("!ls"), Text("a")), "command")) is None


def test_a_notice_opens_no_turn_and_stays_whole_where_it_is_kept() -> None:
    bench = Bench(ScriptedProvider([]))
    bench.session.emit(UserMessage((Text("go"),)))
    bench.session.emit(notice("skills", "short"))
    bench.session.emit(notice("servers", "long", kept=True))
    context = bench.session.context
    assert [item.opens_turn for item in context.items] == [True, False, False]
    assert [item.text for item in context.items[1:]] == ["short", ""]
