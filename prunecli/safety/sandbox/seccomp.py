"""A seccomp filter, assembled by hand: the system calls that a sandboxed command may not make.

It closes gaps that namespaces leave: keyrings, AF_VSOCK and other sockets outside network namespaces, io_uring (which
makes calls that a filter does not see), new user namespaces, and TIOCSTI (which types into a terminal). Calls from
another architecture's table are refused, so each number has only one meaning.
"""

import os
import re
import struct
from collections.abc import Mapping, Sequence
from functools import cache

from prunecli.util.frozen import frozen

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
"""Offsets in struct seccomp_data; an argument has eight bytes, the lower half first."""

_X32 = 0x40000000
_CLONE_NEWUSER = 0x10000000
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX, which put bytes into a terminal's input."""
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16

_CALLS = """
io_uring_setup 425, io_uring_enter 426, io_uring_register 427, clone3 435, open_tree 428, move_mount 429,
fsopen 430, fsconfig 431, fsmount 432, fspick 433, mount_setattr 442, quotactl_fd 443, fchmodat2* 452,
setxattrat* 463, removexattrat* 466, open_tree_attr 467, ioctl 16 29, socket 41 198, clone 56 220,
unshare 272 97, setns 308 268, mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, swapon 167 224,
swapoff 168 225, reboot 169 142, settimeofday 164 170, clock_settime 227 112, acct 163 89, quotactl 179 60,
iopl 172 -, ioperm 173 -, init_module 175 105, finit_module 313 273, delete_module 176 106, kexec_load 246 104,
kexec_file_load 320 294, bpf 321 280, perf_event_open 298 241, userfaultfd 323 282, add_key 248 217,
request_key 249 218, keyctl 250 219, open_by_handle_at 304 265, chmod* 90 -, fchmod* 91 52, chown* 92 -,
fchown* 93 55, lchown* 94 -, fchmodat* 268 53, fchownat* 260 54, utime* 132 -, utimes* 235 -, futimesat* 261 -,
utimensat* 280 88, setxattr* 188 5, lsetxattr* 189 6, fsetxattr* 190 7, removexattr* 197 14,
lremovexattr* 198 15, fremovexattr* 199 16
"""
"""System calls: their number on every architecture, or those on x86_64 and on aarch64 (`-`: it has none). Those with
a star change a file's mode, owner, times or attributes, which a read-only mount refuses and Landlock does not."""
_ABSENT = frozenset({"clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"})
"""Calls that are reported as unknown to the kernel, so that programs use older ones."""
_JUDGED = frozenset({"ioctl", "socket", "clone", "unshare"})
"""Calls that are refused only for some arguments."""


@frozen
class Machine:
    """An architecture: its audit number and its system calls."""

    arch: int
    calls: Mapping[str, int]


_ROWS = [row.replace("*", "").split() for row in _CALLS.split(",")]
_METADATA = frozenset(re.findall(r"(\w+)\*", _CALLS))
MACHINES: Mapping[str, Machine] = {
    name: Machine(arch, {row[0]: int(row[at]) for row in _ROWS if row[at] != "-"})
    for name, arch, at in (("x86_64", 0xC000003E, 1), ("aarch64", 0xC00000B7, -1))
}
"""The architectures with a filter, by their names in uname. The sandbox needs a filter."""


@cache
def filter_program(
    *, sockets: tuple[int, ...] = (_AF_UNIX, _AF_INET, _AF_INET6), metadata: bool = True, machine: str = ""
) -> bytes:
    """Return the filter as struct sock_filter[].

    `sockets` are the allowed families; AF_NETLINK is allowed for routes with AF_INET (libraries list interfaces with
    it). `metadata`: modes, owners, times and attributes may be changed. Raises KeyError for an unknown machine.
    """
    known = MACHINES[machine or os.uname().machine]
    program = [
        _step(_LOAD, _ARCH),
        _step(_JUMP_EQUAL, known.arch, 1, 0),
        _refuse(_ENOSYS),
        _step(_LOAD, _NUMBER),
        _step(_JUMP_AT_LEAST, _X32, 0, 1),
        _refuse(_ENOSYS),
    ]
    for name, number in known.calls.items():
        if name in _JUDGED or (metadata and name in _METADATA):
            continue
        program += [_step(_JUMP_EQUAL, number, 0, 1), _refuse(_ENOSYS if name in _ABSENT else _EPERM)]
    program += _when(known.calls["ioctl"], _refuse_values(1, _TERMINAL_INPUT))
    for call in ("clone", "unshare"):
        program += _when(
            known.calls[call], [_argument(0), _step(_JUMP_SET, _CLONE_NEWUSER, 0, 1), _refuse(_EPERM)]
        )
    program += _when(known.calls["socket"], _allow_families(sockets))
    return b"".join([*program, _step(_RETURN, _ALLOW)])


def _step(code: int, value: int, when_true: int = 0, when_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, when_true, when_false, value)


def _refuse(errno: int) -> bytes:
    return _step(_RETURN, _ERRNO | errno)


def _argument(index: int) -> bytes:
    return _step(_LOAD, _ARGUMENTS + 8 * index)


def _when(number: int, body: Sequence[bytes]) -> list[bytes]:
    """Return the instructions for one call, which is allowed unless the body refuses it."""
    whole = [*body, _step(_RETURN, _ALLOW)]
    return [_step(_JUMP_EQUAL, number, 0, len(whole)), *whole]


def _refuse_values(index: int, values: Sequence[int]) -> list[bytes]:
    checks = [part for value in values for part in (_step(_JUMP_EQUAL, value, 0, 1), _refuse(_EPERM))]
    return [_argument(index), *checks]


def _allow_families(families: Sequence[int]) -> list[bytes]:
    allow = _step(_RETURN, _ALLOW)
    body = [_argument(0)]
    for family in families:
        body += [_step(_JUMP_EQUAL, family, 0, 1), allow]
    if _AF_INET in families:
        routes = [_argument(2), _step(_JUMP_EQUAL, 0, 0, 1), allow]
        body += [_step(_JUMP_EQUAL, _AF_NETLINK, 0, len(routes)), *routes]
    return [*body, _refuse(_EAFNOSUPPORT)]
