"""What belongs to a Gemini CLI session but is not in its file: the directory in which it was started."""

from pathlib import Path

from prunecli.regular import open_regular

_LONGEST_NAME = 4_096


def folder_of(path: Path) -> str:
    """Return the directory of a session, or the digest of its name, from the folder of its file.

    Returns "" for a file that is not in a folder of Gemini CLI.
    """
    project = path.absolute().parent.parent
    if path.absolute().parent.name != "chats":
        return ""
    try:
        with open_regular(project / ".project_root") as file:
            return file.read(_LONGEST_NAME).decode("utf-8", "surrogateescape").strip()
    except OSError:
        return project.name
