"""What three turns are typed, and what the scripted model answers to them, whatever the protocol.

A prompt is answered with thinking and one call, its result with thinking and words.
"""

import base64
import struct
import zlib
from pathlib import Path
from typing import Any

from prunecli.model.claude import is_bound
from prunecli.model.events import AssistantMessage, Record, ToolResult, UserMessage
from prunecli.model.messages import Image, plain_text, tool_uses
from tests.endpoint import Call, Reply, Thinking
from tests.endpoint.script import Item
from tests.endpoint.signatures import Origin, sign

PROMPTS = ("Read the notes.", "Run the check.", "Look at the picture.")
NOTES = "Line one of the notes.\nThe color is teal.\n"
CHECK = "echo checked 42"
BEGUN = "I do it."
DONE = "Done with this turn."
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


def mount_details(cwd: Path) -> None:
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
    """Thinking that newer models bind to another conversation than any that prunecli sends."""
    prefix = "ab" * 32 if is_bound(model) else ""
    return Thinking(text, sign(text, Origin(prefix=prefix, model=model, chars=len(text) if prefix else 0)))


def claude_answers(cwd: Path) -> Any:
    """The script of a server of the Messages API."""

    def answer(request: Any, index: int) -> Item:
        messages = request["messages"]
        answered = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
        blocks: list[Any] = []
        for message in messages[answered[-1] + 1 if answered else 0 :]:
            content = message["content"]
            blocks += [{"type": "text", "text": content}] if isinstance(content, str) else content
        tools = {tool["name"]: tool.get("input_schema", {}) for tool in request.get("tools", ())}
        if any(block["type"] == "tool_result" for block in blocks):
            return Reply([thought(f"It is done, says answer {index}.", request["model"]), DONE])
        text = "\n".join(block.get("text", "") for block in blocks)
        found = wanted(text, cwd) if tools else None
        if found is None:
            return Reply(TITLE)
        thinking = thought(f"To be done, says answer {index}.", request["model"])
        return Reply([thinking, BEGUN, Call(*call_of(*found, tools))])

    return answer


# What an import of the three turns has to hold -----------------------------------------------------------------


def typed(records: list[Record]) -> list[str]:
    """The prompts, without the quotes that `opencode run` puts around its words and without the name of a file."""
    events = (record.event for record in records)
    prompts = (
        plain_text(one.content) for one in events if isinstance(one, UserMessage) and one.origin == "import"
    )
    return [text.removesuffix(" @picture.png").strip('"') for text in prompts]


def check_equal(records: list[Record], cwd: str) -> None:
    """Check that prompts, calls, results, answers and images are those of the scene."""
    events = [record.event for record in records]
    assert typed(records) == list(PROMPTS)
    answers = [event for event in events if isinstance(event, AssistantMessage)]
    assert [plain_text(answer.content).strip() for answer in answers] == [BEGUN, DONE] * 3
    calls = [call for answer in answers for call in tool_uses(answer.content)]
    given = [str(call.input.get("command") or call.input.get("path")) for call in calls]
    assert given in (
        [f"{cwd}/notes.txt", CHECK, f"{cwd}/picture.png"],
        ["cat notes.txt", CHECK, f"{cwd}/picture.png"],
    )
    results = [event for event in events if isinstance(event, ToolResult)]
    assert [result.tool_use_id for result in results] == [call.id for call in calls]
    assert not any(result.is_error for result in results)
    texts = [plain_text(result.content) for result in results]
    assert "Line one of the notes." in texts[0]
    assert "The color is teal." in texts[0]
    assert "checked 42" in texts[1]
    images = [one for one in results[2].content if isinstance(one, Image)]
    attached = [
        block
        for event in events
        if isinstance(event, UserMessage)
        for block in event.content
        if isinstance(block, Image)
    ]
    assert [image.data for image in images] == [picture_data()]
    assert all(image.data == picture_data() for image in attached)
