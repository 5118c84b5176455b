"""Stores large payloads beside the log: images, documents and texts over 64 KiB in `blobs/<sha256>`.

A blob is written and synced before the record that refers to it.
"""

import base64
import os
import re
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from prunecli.model.events import WITH_CONTENT, Event
from prunecli.model.messages import PDF, Blob, Block, Document, Image, Text
from prunecli.session.writer import WAY_OUT, sync_folder
from prunecli.util.errors import StorageFailed
from prunecli.util.file_systems import sync_file
from prunecli.util.private_file import make_private, write_private
from prunecli.util.regular import read_regular

INLINE_BYTES = 65_536
"""Texts up to this size stay in the record."""


_NAME = re.compile(r"[0-9a-f]{64}")


class Blobs:
    """The folder of a log's blobs, created for the first one. `read` reads those that are not in a folder, by name.

    Tests may replace `sync` (os.fsync) and `sync_names`, which syncs the names in a folder.
    """

    def __init__(
        self,
        folder: Path,
        *,
        read: Callable[[str], bytes] | None = None,
        sync: Callable[[int], None] = os.fsync,
        sync_names: Callable[[Path], None] = sync_folder,
    ) -> None:
        self._folder = folder
        self._read = read or (lambda name: read_regular(folder / name, follow=False))
        self._sync = sync
        self._sync_names = sync_names
        self._changed: list[Path] = []
        self._unsynced: dict[str, bytes] = {}
        self._doubtful: set[str] = set()

    def stored(self, event: Event) -> Event:
        """Return the event for the log, with large payloads replaced by references to stored blobs.

        Raises StorageFailed.
        """
        if not isinstance(event, WITH_CONTENT):
            return event
        content = tuple(self._put(block) for block in event.content)
        return event if content == event.content else replace(event, content=content)

    def resolved(self, event: Event) -> tuple[Event, list[str]]:
        """Return the event with its blobs loaded, and a notice for each one that cannot be loaded."""
        if not isinstance(event, WITH_CONTENT):
            return event, []
        if Blob not in map(type, event.content):
            return event, []
        notices: list[str] = []
        content = tuple(self._get(block, notices) for block in event.content)
        return replace(event, content=content), notices

    def keep(self, data: bytes, media_type: str = "application/octet-stream") -> Blob:
        """Store bytes as a blob. Raises StorageFailed."""
        return self._write(data, media_type)

    def text_of(self, block: Blob) -> str:
        """Return stored bytes as text; "" if they are gone or were altered."""
        found = self._get(block, [])
        return found.text if isinstance(found, Text) else ""

    def commit(self) -> None:
        """Make all stored blobs durable; may run in a thread. Raises StorageFailed.

        After a failed sync, a blob is written again before the next sync, since the system may have dropped it.
        """
        for name, data in list(self._unsynced.items()):
            path = self._folder / name
            try:
                if name in self._doubtful:
                    write_private(path, data)
                descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    sync_file(descriptor, self._sync)
                finally:
                    os.close(descriptor)
                self._sync_names(self._folder)
                while self._changed:
                    self._sync_names(self._changed[0])
                    del self._changed[0]
            except OSError as error:
                self._doubtful.add(name)
                raise StorageFailed(f"{path}: {error.strerror}", WAY_OUT) from error
            self._doubtful.discard(name)
            self._unsynced.pop(name, None)

    def _put(self, block: Block) -> Block:
        if isinstance(block, Image):
            data = _decoded(block.data)
            if data is None:
                return block
            size = f";width={block.width};height={block.height}" if block.width else ""
            return self._write(data, block.media_type + size)
        if isinstance(block, Document):
            data = _decoded(block.data)
            pages = f";pages={block.pages}" if block.pages else ""
            return block if data is None else self._write(data, block.media_type + pages)
        if isinstance(block, Text) and len(block.text) > INLINE_BYTES // 4:
            data = block.text.encode("utf-8", "replace")
            if len(data) > INLINE_BYTES:
                return self._write(data, "text/plain")
        return block

    def _get(self, block: Block, notices: list[str]) -> Block:
        if not isinstance(block, Blob):
            return block
        try:
            if not _NAME.fullmatch(block.sha256):
                raise OSError("not a valid blob name")
            data = self._read(block.sha256)
        except OSError as error:
            notices.append(f"blob {block.sha256[:12]}: {error.strerror or error}")
            return block
        if sha256(data).hexdigest() != block.sha256:
            notices.append(f"blob {block.sha256[:12]}: content was altered")
            return block
        kind, *size = block.media_type.split(";")
        if kind != PDF and not kind.startswith("image/"):
            return Text(data.decode("utf-8", "replace"))
        sizes = {
            key: int(value) for key, _, value in (item.partition("=") for item in size) if value.isdigit()
        }
        encoded = base64.b64encode(data).decode("ascii")
        if kind == PDF:
            return Document(kind, encoded, sizes.get("pages", 0))
        return Image(kind, encoded, sizes.get("width", 0), sizes.get("height", 0))

    def _write(self, data: bytes, media_type: str) -> Blob:
        name = sha256(data).hexdigest()
        path = self._folder / name
        try:
            if not _holds(path, data):
                self._changed += make_private(self._folder)
                write_private(path, data)
                self._unsynced[name] = data
        except OSError as error:
            raise StorageFailed(f"{path}: {error.strerror}", WAY_OUT) from error
        return Blob(name, len(data), media_type)


def _decoded(text: str) -> bytes | None:
    """Decode base64, or return None if encoding would not restore the same text."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return data if base64.b64encode(data).decode("ascii") == text else None


def _holds(path: Path, data: bytes) -> bool:
    """Return whether a file holds exactly this data. An altered blob is stored again."""
    try:
        return path.stat().st_size == len(data) and read_regular(path) == data
    except FileNotFoundError:
        return False
