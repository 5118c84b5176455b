"""Where each block lies, checked against the slow and obvious way."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from prunecli.tui.transcript.heights import PAGE_SIZE, Heights


class Box:
    def __init__(self, height: int) -> None:
        self.height = height
        self.page: object = None


heights = st.integers(0, 5)


class AgainstAList(RuleBasedStateMachine):
    """Every operation is done to the index and to a list."""

    def __init__(self) -> None:
        super().__init__()
        self.index: Heights[Box] = Heights()
        self.boxes: list[Box] = []

    @rule(height=heights, count=st.sampled_from([1, 3, PAGE_SIZE]))
    def append(self, height: int, count: int) -> None:
        for _ in range(count):
            box = Box(height)
            self.boxes.append(box)
            self.index.append(box)

    @precondition(lambda self: self.boxes)
    @rule(data=st.data(), height=heights, count=st.sampled_from([1, 700]))
    def insert(self, data: st.DataObject, height: int, count: int) -> None:
        place = data.draw(st.integers(0, len(self.boxes) - 1))
        for _ in range(count):
            box = Box(height)
            self.index.insert_after(self.boxes[place], box)
            self.boxes.insert(place + 1, box)

    @precondition(lambda self: self.boxes)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        box = self.boxes.pop(data.draw(st.integers(0, len(self.boxes) - 1)))
        self.index.remove(box)
        assert box.page is None

    @precondition(lambda self: self.boxes)
    @rule(data=st.data(), height=heights)
    def resize(self, data: st.DataObject, height: int) -> None:
        self.index.resize(self.boxes[data.draw(st.integers(0, len(self.boxes) - 1))], height)

    @rule(height=heights)
    def recount(self, height: int) -> None:
        for box in self.boxes:
            box.height = height
        self.index.recount()

    @invariant()
    def agrees(self) -> None:
        assert list(self.index) == self.boxes
        assert self.index.total == sum(box.height for box in self.boxes)
        assert self.index.first is (self.boxes[0] if self.boxes else None)
        assert self.index.last is (self.boxes[-1] if self.boxes else None)

    @precondition(lambda self: self.boxes)
    @rule(data=st.data())
    def find(self, data: st.DataObject) -> None:
        number = data.draw(st.integers(0, len(self.boxes) - 1))
        box = self.boxes[number]
        top = sum(other.height for other in self.boxes[:number])
        assert self.index.top_of(box) == top
        beside = [*self.boxes, None]
        assert self.index.beside(box, 1) is beside[number + 1]
        assert self.index.beside(box, -1) is (self.boxes[number - 1] if number else None)
        for row in range(box.height):
            assert self.index.at(top + row) == (box, row)


AgainstAList.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestHeights = AgainstAList.TestCase


def test_nothing_is_found_where_nothing_has_height():
    index: Heights[Box] = Heights()
    assert index.at(0) is None
    index.append(Box(0))
    assert index.at(3) is None


def test_rows_outside_count_as_the_nearest():
    index: Heights[Box] = Heights()
    first, last = Box(2), Box(3)
    index.append(first)
    index.append(last)
    assert index.at(-7) == (first, 0)
    assert index.at(99) == (last, 2)
