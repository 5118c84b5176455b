"""The real sessions. A source distribution carries the small ones only: those in `large` would triple its size."""

from pathlib import Path

FOLDER = Path(__file__).parent
SESSIONS = sorted(FOLDER.rglob("*.gz"), key=lambda path: path.name)
"""All that are here, by name."""
COMPLETE = (FOLDER / "large").is_dir()
"""Whether this is a checkout, with the large sessions, vectors and imports and the pictures of screens."""
