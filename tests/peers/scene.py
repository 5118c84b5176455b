"""What three turns are typed, and what the scripted model answers to them, whatever the protocol.

A prompt is answered with thinking and one call, its result with thinking and words.
"""

import base64
import struct
import zlib
from pathlib import Path
from typing import Any

from tests.endpoint import Call, Reply, Thinking
from tests.endpoint.script import Item
from tests.endpoint.signatures import Origin, sign

PROMPTS = ("Read the notes.", "Run the check.", "Look at the picture.")
NOTES = "Line one of the notes.\nThe color is teal.\n"
CHECK = "echo checked 42"
TITLE = "A short title"


def picture() -> bytes:
    """A PNG of 8 by 8 teal pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\x00\x80\x80" * 8 for _ in range(8))
    head = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    packed = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + packed


def picture_data() -> str:
    """The picture in base64."""
    return base64.b64encode(picture()).decode()


def furnish(cwd: Path) -> None:
    """Write the files that the turns are about."""
    cwd.mkdir(parents=True, exist_ok=True)
    (cwd / "notes.txt").write_text(NOTES)
    (cwd / "picture.png").write_bytes(picture())


def wanted(text: str, cwd: Path) -> tuple[str, str] | None:
    """The kind of tool and its argument that a prompt asks for: read a path, or run a command."""
    at = {prompt: text.rfind(prompt) for prompt in PROMPTS}
    last = max(at, key=lambda prompt: at[prompt])
    if at[last] < 0:
        return None
    turn = PROMPTS.index(last)
    return (("read", str(cwd / "notes.txt")), ("run", CHECK), ("read", str(cwd / "picture.png")))[turn]


READERS = ("Read", "read", "read_file", "view_image")
RUNNERS = ("Bash", "bash", "run_shell_command", "exec_command", "shell", "shell_command")
_PATHS = ("file_path", "path", "filePath", "absolute_path")
_COMMANDS = ("command", "cmd")


def call_of(kind: str, argument: str, tools: dict[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """The name and input of a call, for tools given as their schemas by name."""
    names, keys = (READERS, _PATHS) if kind == "read" else (RUNNERS, _COMMANDS)
    name = next(one for one in names if one in tools)
    known = tools[name].get("properties", {})
    given: dict[str, Any] = {next(key for key in keys if key in known): argument}
    if "description" in tools[name].get("required", ()):
        given["description"] = "Do it"
    return name, given


def thought(text: str, model: str) -> Thinking:
    """Thinking that is bound to another conversation than any that prunecli sends."""
    return Thinking(text, sign(text, Origin(prefix="ab" * 32, model=model, chars=len(text))))


def claude_answers(cwd: Path) -> Any:
    """The script of a server of the Messages API."""

    def answer(request: Any, index: int) -> Item:
        content = request["messages"][-1]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        tools = {tool["name"]: tool.get("input_schema", {}) for tool in request.get("tools", ())}
        if any(block["type"] == "tool_result" for block in blocks):
            return Reply([thought(f"It is done, says answer {index}.", request["model"]), "Done with this turn."])
        text = "\n".join(block.get("text", "") for block in blocks)
        found = wanted(text, cwd) if tools else None
        if found is None:
            return Reply(TITLE)
        return Reply([thought(f"To be done, says answer {index}.", request["model"]), "I do it.", Call(*call_of(*found, tools))])

    return answer
