"""Files for tests, written with the folders that they need."""

from pathlib import Path


def put(path: Path, text: str = "x") -> Path:
    """Write a file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path
