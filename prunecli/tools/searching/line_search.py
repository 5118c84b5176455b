"""The search for lines without ripgrep, in its own interpreter, which can be killed at any time.

It prints what ripgrep would print; its starter kills it if a regular expression never ends. It imports only fast
modules.
"""

import os
import re
import sys
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections import deque
from collections.abc import Callable, Iterator
from io import FileIO

from prunecli.tools.files.decoding import SAMPLE
from prunecli.tools.searching.glob import PathGlob
from prunecli.tools.searching.walk import FILE, walk

MAX_COLUMNS = 1 << 20
"""Bytes printed of a line. A match further on can't be shown; minified files are mostly shorter."""
MAX_LINE = 1 << 24
BAD_PATTERN = 2


def main() -> None:
    """Run with the arguments `ROOT ONLY_FILE GLOB IGNORE_CASE CONTEXT PATTERN`."""
    root, only, glob, ignore_case, context, pattern = sys.argv[1:]
    out, wanted = sys.stdout.buffer, PathGlob(glob) if glob else None
    try:
        regex = re.compile(pattern, re.IGNORECASE if ignore_case == "1" else 0)
        for path in [only] if only else (path for path, kind in walk(root) if kind == FILE):
            if wanted is None or wanted.matches(path):
                print_matches(root, path, regex, int(context), out.write)
                out.flush()
    except BrokenPipeError:
        pass  # the reader has closed the pipe
    except (re.error, OverflowError, RecursionError) as error:
        out.write(str(error).encode())
        out.flush()
        os._exit(BAD_PATTERN)
    os._exit(0)


def print_matches(
    root: str, path: str, regex: re.Pattern[str], context: int, write: Callable[[bytes], object]
) -> None:
    """Print the matches in a file, with `context` lines around them. An unreadable file has none."""
    try:
        descriptor = os.open(os.path.join(root, path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with FileIO(descriptor) as file:
            _print_lines(os.fsencode(path) + b"\0", _blocks(_reader(file)), regex, context, write)
    except BrokenPipeError:
        raise
    except OSError:
        pass


def _print_lines(
    prefix: bytes,
    blocks: Iterator[str],
    regex: re.Pattern[str],
    context: int,
    write: Callable[[bytes], object],
) -> None:
    number, after, before = 0, 0, deque[tuple[int, str]](maxlen=context)

    def show(number: int, line: str, mark: bytes = b"-") -> None:
        write(b"%b%d%b%b\n" % (prefix, number, mark, _encoded(line[:MAX_COLUMNS])))

    for block in blocks:
        for line in block.split("\n")[:-1]:
            number += 1
            if match := regex.search(line):
                for earlier in before:
                    show(*earlier)
                before.clear()
                show(number, line, b":%d:" % (len(_encoded(line[: match.start()])) + 1))
                after = context
            elif after:
                show(number, line)
                after -= 1
            else:
                before.append((number, line))


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
