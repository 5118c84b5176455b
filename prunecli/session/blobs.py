"""Large payloads beside the log: images and texts over 64 KiB lie in `blobs/<sha256>`, named by their content."""

import base64
import os
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from prunecli.errors import StorageFailed
from prunecli.model.events import AssistantMessage, Event, ToolResult, UserMessage
from prunecli.model.messages import Blob, Block, Image, Text

INLINE_BYTES = 65_536
"""Texts up to this many bytes stay in the record."""


class Blobs:
    """The folder of a log's blobs; it is made when the first one is stored."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def stored(self, event: Event) -> Event:
        """The event as it is written: large payloads replaced by references to stored blobs.

        Raises StorageFailed.
        """
        if not isinstance(event, UserMessage | AssistantMessage | ToolResult):
            return event
        content = tuple(self._put(block) for block in event.content)
        return event if content == event.content else replace(event, content=content)

    def resolved(self, event: Event) -> tuple[Event, list[str]]:
        """The event with its blobs read back, and what is wrong with those that can't be (LOG-32)."""
        if not isinstance(event, UserMessage | AssistantMessage | ToolResult):
            return event, []
        if not any(isinstance(block, Blob) for block in event.content):
            return event, []
        notices: list[str] = []
        content = tuple(self._get(block, notices) for block in event.content)
        return replace(event, content=content), notices

    def _put(self, block: Block) -> Block:
        if isinstance(block, Image):
            size = f";width={block.width};height={block.height}" if block.width else ""
            return self._write(base64.b64decode(block.data), block.media_type + size)
        if isinstance(block, Text) and len(block.text) > INLINE_BYTES // 4:
            data = block.text.encode("utf-8", "replace")
            if len(data) > INLINE_BYTES:
                return self._write(data, "text/plain")
        return block

    def _get(self, block: Block, notices: list[str]) -> Block:
        if not isinstance(block, Blob):
            return block
        path = self._folder / block.sha256
        try:
            if not block.sha256.isalnum():
                raise OSError("not a blob's name")
            data = path.read_bytes()
        except OSError as error:
            notices.append(f"blob {block.sha256[:12]}: {error.strerror or error}")
            return block
        if sha256(data).hexdigest() != block.sha256:
            notices.append(f"blob {block.sha256[:12]}: its content was altered")
            return block
        if not block.media_type.startswith("image/"):
            return Text(data.decode("utf-8", "replace"))
        kind, *size = block.media_type.split(";")
        pixels = {
            key: int(value) for key, _, value in (item.partition("=") for item in size) if value.isdigit()
        }
        encoded = base64.b64encode(data).decode("ascii")
        return Image(kind, encoded, pixels.get("width", 0), pixels.get("height", 0))

    def _write(self, data: bytes, media_type: str) -> Blob:
        name = sha256(data).hexdigest()
        path = self._folder / name
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            if not path.exists():
                part = self._folder / f"{name}.{os.getpid()}.part"
                fd = os.open(
                    part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
                )
                with open(fd, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                part.replace(path)
        except OSError as error:
            raise StorageFailed(f"{path}: {error.strerror}", "free some space, then send again") from error
        return Blob(name, len(data), media_type)
