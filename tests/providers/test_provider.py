"""Stream events that are told together."""

from hypothesis import given
from hypothesis import strategies as st

from prunecli.providers.provider import StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta, joined

_DELTAS = st.one_of(
    st.builds(TextDelta, st.text(max_size=3)),
    st.builds(ThinkingDelta, st.text(max_size=3)),
    st.just(ToolCallDelta("t1", "bash", "{")),
)


@given(st.lists(_DELTAS))
def test_joining_loses_nothing_and_joining_twice_changes_nothing(told: list[StreamEvent]) -> None:
    once = joined(told)
    for kind in (TextDelta, ThinkingDelta):
        before, after = ([one.text for one in events if type(one) is kind] for events in (told, once))
        assert "".join(before) == "".join(after)
    assert joined(once) == once
