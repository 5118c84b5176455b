"""The pictures of the README and of docs/: `python -m tests.screenshots.make` draws them anew."""
