"""The search process: finds lines or names in its own interpreter, which can be killed at any time.

It replaces ripgrep and prints the same output; its starter kills it if a regular expression never ends. It imports
only fast modules.
"""

import os
import re
import stat
import sys
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections import deque
from collections.abc import Callable, Iterator
from io import FileIO

from prunecli.tools.files.decoding import SAMPLE
from prunecli.tools.files.secret_paths import looks_secret, may_look_secret
from prunecli.tools.searching.glob import PathGlob
from prunecli.tools.searching.walk import FILE, FOLDER, walk

MAX_COLUMNS = 1 << 20
"""Bytes printed of a line. A match further on can't be shown; minified files are mostly shorter."""
MAX_LINE = 1 << 24
BAD_PATTERN = 2
MAX_ENTRIES = 20_000
"""Maximum directory entries that any search examines for secrets."""
PACKAGES = frozenset({".git", ".hg", "node_modules", "site-packages"})
"""Folders of version control and installed packages, whose files are not the user's secrets."""

_ONE_LINE_ONLY = re.compile(r"\\[AZ]|\(\?[<!=(]")
"""Patterns that may match a line alone but not among other lines; with these, blocks are not searched first."""


def main() -> None:
    """Run with the arguments `names ROOT GLOB`, `ignored ROOT`, `secrets ROOT`, or `lines ROOT ONLY_FILE GLOB
    IGNORE_CASE CONTEXT PATTERN`."""
    what, root, *rest = sys.argv[1:]
    status = 0
    try:
        if what == "names":
            print_names(root, rest[0])
        elif what == "ignored":
            print_ignored(root)
        elif what == "secrets":
            print_secrets(root)
        else:
            status = print_lines(root, *rest)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        pass  # the reader has closed the pipe
    os._exit(status)


def print_names(root: str, glob: str) -> None:
    """Print the matching paths, each followed by NUL; folders end with a slash."""
    wanted = PathGlob(glob)
    for path, kind in walk(root):
        if wanted.matches(path) and (kind == FOLDER or not glob.endswith("/")):
            sys.stdout.buffer.write(os.fsencode(path + "/" if kind == FOLDER else path) + b"\0")


def print_ignored(root: str) -> None:
    """Print the paths that searches skip by ignore rules, each followed by NUL."""
    ignored = list[str]()
    deque(walk(root, ignored=ignored), 0)
    sys.stdout.buffer.write(b"".join(os.fsencode(path) + b"\0" for path in ignored))


def print_secrets(root: str) -> None:
    """Print the paths of files that may contain secrets, ignored or not, each followed by NUL.

    Possible hard links to such files are included. After MAX_ENTRIES entries, an empty path means that there are
    more.
    """
    secret, linked, left = list[str](), list[tuple[str, tuple[int, int]]](), MAX_ENTRIES
    for inside, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in PACKAGES]
        left -= len(folders) + len(names)
        if left < 0:
            secret.append("")
            break
        for name in names:
            path = os.path.relpath(os.path.join(inside, name), root)
            if may_look_secret(path) and looks_secret(path):
                secret.append(path)
            elif (found := _linked(os.path.join(inside, name))) is not None:
                linked.append((path, found))
    known = {_linked(os.path.join(root, path)) for path in secret if path}
    for path in [*secret, *(path for path, found in linked if found in known)]:
        sys.stdout.buffer.write(os.fsencode(path) + b"\0")


def _linked(path: str) -> tuple[int, int] | None:
    """Return the (device, inode) of a file that has more than one name."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status.st_nlink > 1 and stat.S_ISREG(status.st_mode) else None


def print_lines(root: str, only: str, glob: str, ignore_case: str, context: str, pattern: str) -> int:
    """Print the matching lines as ripgrep does. Returns the exit status."""
    try:
        search = Search(pattern, ignore_case == "1", int(context), sys.stdout.buffer.write)
    except (re.error, OverflowError, RecursionError) as error:
        sys.stdout.buffer.write(str(error).encode())
        return BAD_PATTERN
    wanted = PathGlob(glob) if glob else None
    paths = [only] if only else (path for path, kind in walk(root) if kind == FILE)
    for path in paths:
        if (wanted is None or wanted.matches(path)) and search.file(root, path):
            sys.stdout.buffer.flush()
    return 0


class Search:
    """A search for one pattern, matched line by line. Raises re.error for an invalid pattern."""

    def __init__(
        self, pattern: str, ignore_case: bool, context: int, write: Callable[[bytes], object]
    ) -> None:
        flags = re.IGNORECASE if ignore_case else 0
        self._line = re.compile(pattern, flags)
        self._block = None if _ONE_LINE_ONLY.search(pattern) else re.compile(pattern, flags | re.MULTILINE)
        self._context = context
        self._write = write

    def file(self, root: str, path: str) -> bool:
        """Print the matches in a file; return whether there were any. An unreadable file has none."""
        try:
            descriptor = os.open(os.path.join(root, path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False
        with FileIO(descriptor) as file:
            try:
                return self._lines(os.fsencode(path) + b"\0", _blocks(_reader(file)))
            except OSError:
                return False

    def _lines(self, prefix: bytes, blocks: Iterator[str]) -> bool:
        number, after, found = 0, 0, False
        before = deque[tuple[int, str]](maxlen=self._context)
        for block in blocks:
            if self._block is not None and not after and not self._block.search(block):
                count = block.count("\n")
                last = block.rsplit("\n", self._context + 1)[:-1][-self._context :] if self._context else []
                before.extend((number + count - len(last) + i, line) for i, line in enumerate(last, 1))
                number += count
                continue
            for line in block.split("\n")[:-1]:
                number += 1
                if match := self._line.search(line):
                    for earlier in before:
                        self._print(prefix, earlier, b"-")
                    before.clear()
                    column = len(_encoded(line[: match.start()])) + 1
                    self._print(prefix, (number, line), b":%d:" % column)
                    found, after = True, self._context
                elif after:
                    self._print(prefix, (number, line), b"-")
                    after -= 1
                else:
                    before.append((number, line))
        return found

    def _print(self, prefix: bytes, line: tuple[int, str], mark: bytes) -> None:
        self._write(b"%b%d%b%b\n" % (prefix, line[0], mark, _encoded(line[1][:MAX_COLUMNS])))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _reader(file: FileIO) -> Callable[[int], bytes]:
    """Return a function that reads about this many bytes of a file, in UTF-8 and without a byte order mark."""
    head = file.read(3)
    if head == BOM_UTF8:
        return file.read
    file.seek(0)
    if not head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return file.read
    decoder = getincrementaldecoder("utf-16")("replace")

    def read(count: int) -> bytes:
        text = ""
        while not text and (data := file.read(count)):
            text = decoder.decode(data)
        return (text or decoder.decode(b"", final=True)).encode()

    return read


def _blocks(read: Callable[[int], bytes]) -> Iterator[str]:
    """Yield the text of a file in pieces of whole lines with their newlines, up to the first piece with a NUL.

    The pieces are as large as ripgrep's, so that both stop at the same line.
    """
    rest, room = b"", SAMPLE
    while data := read(room - len(rest)):
        if b"\0" in data:
            return
        end = data.rfind(b"\n") + 1
        if end:
            yield (rest + data[:end]).decode("utf-8", "surrogateescape")
            rest, room = data[end:], SAMPLE
            continue
        rest += data
        if len(rest) >= room:
            room *= 2
        if room > MAX_LINE:
            yield rest.decode("utf-8", "surrogateescape") + "\n"
            rest, room = b"", SAMPLE
    if rest:
        yield rest.decode("utf-8", "surrogateescape") + "\n"
