"""The pictures of the README, made by `python -m tests.screenshots.make`."""
