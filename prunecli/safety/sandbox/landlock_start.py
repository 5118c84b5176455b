"""Confines this process by Landlock and seccomp, then becomes the command. Run by its own interpreter, never
imported.

Arguments: the number of a descriptor with the orders (see `landlock.orders_for`), then the command.
"""

import ctypes
import os
import struct
import sys

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE, _IOCTL = 1, 2, 4, 8, 1 << 14, 1 << 15
_ALL = (1 << 16) - 1
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_SET_SECUREBITS, _CAPABILITIES = 28, 0x20080522
_SCOPES = 3
"""Abstract sockets and signals stay inside."""


def main() -> None:
    """Confine this process and run the command. If that fails, exit with 126 and a message: the command never runs
    unconfined."""
    descriptor, command = int(sys.argv[1]), sys.argv[2:]
    try:
        with open(descriptor, "rb") as file:
            data = file.read()
        length = int.from_bytes(data[:4], "little")
        confine(data[4 : 4 + length], data[4 + length :].split(b"\0")[:-1])
        environ = dict(os.environ)
        if environ.pop("PRUNECLI_DROP_LC_CTYPE", ""):
            environ.pop("LC_CTYPE", None)
        os.execve(command[0], command, environ)  # noqa: S606
    except OSError as error:
        os.write(2, f"sandbox: {error}\n".encode())
        os._exit(126)


def confine(program: bytes, grants: list[bytes]) -> None:
    """Apply Landlock and seccomp to this process, and drop its capabilities, which bypass some restrictions. Raises
    OSError."""
    library = ctypes.CDLL(None, use_errno=True)

    def checked(result: int) -> int:
        if result < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return result

    attributes = struct.pack("=QQQ", _ALL, 0, _SCOPES)
    ruleset = checked(library.syscall(_CREATE, attributes, len(attributes), 0))
    _grant(library, ruleset, b"/", _READ_DIR)
    for grant in grants:
        _grant(library, ruleset, grant[1:], _ALL if grant[:1] == b"w" else _READ_FILE | _READ_DIR | _EXECUTE)
    library.prctl(_SET_SECUREBITS, 3, 0, 0, 0)  # gives root no special rights; fails for other users
    checked(library.capset(struct.pack("=Ii", _CAPABILITIES, 0), bytes(24)))
    checked(library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    checked(library.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)
    buffer = ctypes.create_string_buffer(program, len(program))
    filter_struct = struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer))
    checked(library.prctl(_SECCOMP, _FILTER, filter_struct, 0, 0))


def _grant(library: ctypes.CDLL, ruleset: int, path: bytes, rights: int) -> None:
    """Grant the rights below a real path. One that no longer exists, or leads through a link now, needs none."""
    flags = os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open("/", flags)
    try:
        for part in filter(None, path.split(b"/")):
            inner = os.open(part, flags, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        is_folder = os.stat(descriptor).st_mode & 0o170000 == 0o040000
        rule = struct.pack("=Qi", rights if is_folder else rights & _OF_FILES, descriptor)
        library.syscall(_ADD, ruleset, 1, rule, 0)
    except OSError:
        return
    finally:
        os.close(descriptor)
