"""Which responses quote what: at least 40 characters, white space folded."""

from typing import ClassVar, SupportsIndex

import pytest

from prunecli.features.replay.regret import (
    LENGTH,
    Match,
    Quoting,
    Repeated,
    Said,
    _copies,
    _extended,
    find_quotes,
    folded,
    needed,
    old_texts,
)
from prunecli.model.events import AssistantMessage, CompactionApplied, Event, ToolResult, UserMessage
from prunecli.model.messages import Text, ToolUse

LINE = "the quick brown fox jumps over the lazy dog, twice"


def result(text: str) -> ToolResult:
    return ToolResult("a", "read", (Text(text),))


def says(text: str) -> AssistantMessage:
    return AssistantMessage((Text(text),))


def edits(**given: object) -> AssistantMessage:
    return AssistantMessage((ToolUse("b", "edit", given),))


def quotes(*events: Event) -> dict[int, set[int]]:
    return {seq: set(found.sources) for seq, found in find_quotes(enumerate(events)).items()}


def test_a_response_that_repeats_forty_characters_quotes_their_source() -> None:
    assert quotes(result(LINE), says(f"it says: {LINE[5:45]}!")) == {1: {0}}
    assert quotes(result(LINE), says(f"it says: {LINE[5:44]}!")) == {}


def test_every_place_of_a_quote_is_found() -> None:
    long = "".join(f"word{number} " for number in range(60))
    for start in range(0, len(long) - LENGTH, 7):
        assert quotes(result(long), says(f"x{long[start : start + LENGTH]}x")) == {1: {0}}, start


def test_white_space_is_folded() -> None:
    assert quotes(result(LINE.replace(" ", "\n\t ")), says(LINE)) == {1: {0}}
    assert folded(" a \n\n b ") == "a b"


def test_words_of_the_user_and_earlier_responses_are_sources_too() -> None:
    events = UserMessage((Text(LINE),)), says(LINE), result(LINE), says(LINE)
    assert quotes(*events) == {1: {0}, 3: {0, 1, 2}}


def test_what_was_compacted_is_no_source() -> None:
    assert quotes(result(LINE), CompactionApplied("nothing of it", 0, 1), says(LINE)) == {}


def test_the_newest_of_several_sources_is_the_one_that_is_needed() -> None:
    found = find_quotes(enumerate((result(LINE), result(LINE), says(LINE))))
    assert needed(found[2]) == {1}
    longer = find_quotes(
        enumerate((result(f"{LINE} and then some more of it"), result(LINE[:44]), says(LINE)))
    )
    assert needed(longer[2]) == {0, 1}


def test_only_what_an_edit_replaces_has_to_match() -> None:
    found = find_quotes(enumerate((result(LINE), edits(old_string=LINE, new_string="b"))))
    assert [said.edits for said, *_ in found[1].said] == [True]
    found = find_quotes(enumerate((result(LINE), edits(old_string="b", new_string=LINE))))
    assert [said.edits for said, *_ in found[1].said] == [False]


def test_old_texts_are_those_of_all_agents() -> None:
    several = ToolUse("a", "edit", {"edits": [{"oldText": "one"}, {"oldText": "two", "newText": "x"}]})
    assert list(old_texts(several)) == ["one", "two"]
    patch = "*** Begin Patch\n*** Update File: a\n@@\n same\n-old\n+new\n@@\n more\n*** End Patch\n"
    assert list(old_texts(ToolUse("a", "bash", {"command": f"apply_patch <<E\n{patch}E"}))) == [
        "same\nold",
        "more",
    ]
    quoted = 'tools.apply_patch("*** Begin Patch\\n@@\\n-say(\\"hi\\")\\n+x\\n*** End Patch")'
    assert list(old_texts(ToolUse("a", "bash", {"command": quoted}))) == ['say("hi")']
    assert list(old_texts(ToolUse("a", "write", {"path": "a", "content": LINE}))) == []


def test_malformed_inputs_have_no_old_texts() -> None:
    for given in ({"edits": 5}, {"edits": ["x"]}, {"old_string": None}, {"edits": {"oldText": ["a"]}}):
        assert list(old_texts(ToolUse("a", "edit", given))) == []


class Watched(str):
    """A text that counts the accesses to its characters."""

    __slots__ = ("accesses",)

    def __init__(self, _: str) -> None:
        self.accesses = 0

    def __getitem__(self, place: SupportsIndex | slice) -> str:
        self.accesses += 1
        return super().__getitem__(place)


def test_a_long_common_part_is_compared_in_pieces() -> None:
    same = "-" * 20_000
    text, its = Watched(f"abc{same}x{same}"), f"{same}y{same}"
    assert _extended(text, its, 10_003, 10_000) == (3, 20_003)
    assert _extended(text, its, 30_004, 30_001) == (20_004, 40_004)
    assert text.accesses < 1_000, "of 40,000 characters"


class Place(int):
    """A number that counts its comparisons."""

    comparisons: ClassVar[list[int]] = []

    def __lt__(self, other: int) -> bool:
        self.comparisons.append(1)
        return int(self) < int(other)

    def __le__(self, other: int) -> bool:
        return not Place(other) < self

    def __gt__(self, other: int) -> bool:
        return Place(other) < self

    def __ge__(self, other: int) -> bool:
        return not self < other


@pytest.fixture
def comparisons() -> list[int]:
    Place.comparisons.clear()
    return Place.comparisons


PARTS = [(Place(at * 50), Place(at * 50 + LENGTH)) for at in range(500)]
"""Parts of a text that repeats itself: quoted from many places."""


def test_the_parts_of_one_text_are_not_all_compared_with_each_other(comparisons: list[int]) -> None:
    matches = [Match(source, *part) for source in (2, 1, 0) for part in PARTS]
    assert _copies(matches) == (
        (frozenset(), frozenset({2})),
        (frozenset({2}), frozenset({1})),
        (frozenset({1, 2}), frozenset({0})),
    )
    assert len(comparisons) < 50_000, "of 1,500 parts"


def test_a_part_is_not_looked_for_in_each_newer_part(comparisons: list[int]) -> None:
    matches = tuple(Match(source, *part) for source in (1, 0) for part in PARTS)
    sources = frozenset({0, 1})
    assert needed(
        Quoting((Repeated(Said("", edits=False), matches, sources, ()),), sources, by_edits=False)
    ) == {1}
    assert len(comparisons) < 50_000, "of 1,000 parts"


def test_a_part_that_newer_parts_cover_together_is_not_needed() -> None:
    def is_needed(*newer: tuple[int, int]) -> bool:
        parts = (Match(1, start, last + LENGTH) for start, last in newer)
        matches = (*parts, Match(0, 10, 20 + LENGTH))
        sources = frozenset({0, 1})
        said = Repeated(Said("", edits=False), matches, sources, ())
        return 0 in needed(Quoting((said,), sources, by_edits=False))

    assert not is_needed((0, 14), (15, 30))
    assert not is_needed((15, 20), (10, 12), (12, 16))
    assert is_needed((0, 14), (16, 30))
    assert is_needed((0, 19))
    assert is_needed((11, 30))
