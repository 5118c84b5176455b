"""Makes the README's links and pictures work on PyPI: relative ones lead to the repository, git's `origin`.

A build outside a clone of a public repository knows no address. Its README keeps the words of its links and leaves
the pictures out, so that none is broken.
"""

import re
import subprocess
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[([^]]*)\]\((?!https?://|#)([^)\s]+)\)")


def repository(folder: Path) -> str:
    """Return the web address of the repository; "" if there is none."""
    try:
        command = ["git", "-C", str(folder), "remote", "get-url", "origin"]
        found = subprocess.run(command, capture_output=True, text=True, timeout=10).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
    parts = re.fullmatch(r"(?:https://|ssh://git@|git@)([\w.-]+)[:/]([\w./-]+?)(?:\.git)?/?", found)
    return f"https://{parts[1]}/{parts[2]}" if parts else ""


def absolute(text: str, url: str) -> str:
    """Return the README with absolute links; without an address, with the words of the links only."""

    def link(match: re.Match[str]) -> str:
        picture, words, path = match.groups()
        if not url:
            return "" if picture else words
        return f"{picture}[{words}]({url}/{'raw' if picture else 'blob'}/HEAD/{path})"

    return _LINK.sub(link, text)


class CustomMetadataHook(MetadataHookInterface):
    def update(self, metadata: dict[str, object]) -> None:
        root = Path(self.root)
        url = repository(root)
        text = absolute((root / "README.md").read_text("utf-8"), url)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        pages = {"Documentation": "tree/HEAD/docs", "Changelog": "blob/HEAD/CHANGELOG.md", "Issues": "issues"}
        metadata["urls"] = (
            {"Repository": url, **{name: f"{url}/{page}" for name, page in pages.items()}} if url else {}
        )
