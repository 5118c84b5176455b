"""One test for many cases of one rule: all are checked, and each that fails is named.

A case of its own for pytest takes longer to collect, in each worker, and to report than most cases take to check.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

T = TypeVar("T")


def every(cases: Mapping[str, T], check: Callable[[T], object]) -> None:
    """Check each case, then raise what failed, with the names of the cases."""
    assert cases
    failures = []
    for name, case in cases.items():
        try:
            check(case)
        except Exception as failure:  # noqa: BLE001 - raised below
            failure.add_note(f"in the case {name}")
            failures.append(failure)
    if failures:
        raise ExceptionGroup(f"{len(failures)} of {len(cases)} cases fail", failures)
