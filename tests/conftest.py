"""What holds for all tests: nothing fails because the machine is busy or because of a random draw.

Laws draw the same cases each time, so that a change fails for what it does. `--hypothesis-profile=search` draws new
ones; run it over the laws now and then, and keep each case that it finds as a test.
"""

import gc

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "house", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("search", settings.get_profile("house"), derandomize=False)
settings.load_profile("house")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Look for garbage less often: looking through what collecting made takes long, and all of it stays."""
    gc.collect()
    gc.set_threshold(20_000, 20, 50)
