"""The courses of plays that a page shows."""

from prunecli.features.replay.series import Courses, Series


def test_only_the_most_expensive_sessions_are_kept() -> None:
    courses = Courses(2)
    for name, cost in (("a", 1.0), ("b", 3.0), ("c", 2.0), ("d", 0.5), ("e", 2.0)):
        courses.add(name, [Series(cost=[0.1, cost])])
    courses.add("without requests", [Series()])
    courses.add("without plots", [])
    assert [name for name, _ in courses] == ["b", "c"]
