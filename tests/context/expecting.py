"""Expectations for tests: each result is quoted again with the probability given, whatever its kind, age and size."""

from math import inf
from typing import Any

from prunecli.context.expectations import Expectations


def numbers(quoted: float = 0.1, **more: Any) -> Expectations:
    """Small numbers: results of ten tokens count, once they are two requests old."""
    groups = ("read", "bash", "other")
    given: dict[str, Any] = {
        "caps": {},
        "page": 100,
        "ages": (2,),
        "quoted": dict.fromkeys(groups, (quoted,)),
        "superseded": 0.02,
        "further_requests": (5, 60),
        "reply_tokens": 150,
        "min_tokens": 10,
        "min_age": 2,
        "min_batch": 0,
        "warm_margin": (inf, inf),
    }
    return Expectations(**{**given, **more})
