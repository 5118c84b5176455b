"""What the sandboxes are told, without running them: words, a profile, a filter."""

import os
import struct

import pytest

from prunecli.safety.sandbox import bubblewrap, seatbelt
from prunecli.safety.sandbox.bubblewrap import Stage
from prunecli.safety.sandbox.landlock import granted
from prunecli.safety.sandbox.layout import Layout
from prunecli.safety.sandbox.seccomp import MACHINES, filter_program

LAYOUT = Layout(
    writable=("/w", "/cache"),
    readable=("/tmp/repo",),
    kept=("/w/.git", "/w/.git/config"),
    reopened=("/w/.git",),
    missing=("/w/.prunecli",),
    hidden=("/nonexistent/.ssh",),
    emptied=("/h/.npmrc",),
    home="/h",
    links=(("/h/.cache", "/cache"),),
)
STAGE = Stage("/s/tmp", "/s/folder", "/s/file", "/s/empty", "/s/bare")


def test_bubblewraps_words_mount_in_the_order_in_which_they_cover_each_other() -> None:
    words = bubblewrap.words("/bwrap", LAYOUT, STAGE, ["/bin/sh", "x"], cwd="/w", network=False, seccomp="9")
    text = " ".join(words)
    assert text.startswith(
        "/bwrap --unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --unshare-net"
        " --new-session --cap-drop ALL --seccomp 9 --ro-bind / / --dev /dev --proc /proc"
        " --remount-ro /proc"
    )
    assert text.endswith(
        " --bind /s/tmp /tmp --size 1073741824 --tmpfs /var/tmp --size 1073741824 --tmpfs /run"
        " --size 1073741824 --tmpfs /dev/shm --tmpfs /h --ro-bind-try /tmp/repo /tmp/repo"
        " --bind-try /w /w --bind-try /cache /cache --symlink /cache /h/.cache"
        " --ro-bind /w/.git /w/.git --ro-bind /w/.git/config /w/.git/config"
        " --bind /w/.git /w/.git --ro-bind /w/.git/config /w/.git/config"
        " --ro-bind /s/bare /w/.prunecli --ro-bind /s/file /nonexistent/.ssh --ro-bind /s/empty /h/.npmrc"
        " --remount-ro /h"
        " --chdir /w -- /bin/sh x"
    )


def test_an_open_network_is_shared() -> None:
    words = bubblewrap.words("/bwrap", LAYOUT, STAGE, ["x"], cwd="/w", network=True, seccomp="9")
    assert "--unshare-net" not in words


def test_the_profile_of_macos_denies_after_it_allows() -> None:
    """Compared only: nothing here can run it."""
    assert seatbelt.words(LAYOUT, '/t"mp', ["/bin/sh"], network=False)[-1] == "/bin/sh"
    lines = seatbelt.profile(LAYOUT, '/t"mp', network=False).splitlines()
    assert lines[:2] == ["(version 1)", "(deny default)"]
    assert '(allow file-write* (subpath "/w") (subpath "/cache") (subpath "/t\\"mp"))' in lines
    assert lines[-6:] == [
        '(deny file-read-data (subpath "/h"))',
        '(allow file-read-data (subpath "/tmp/repo") (subpath "/w") (subpath "/cache") (subpath "/t\\"mp"))',
        '(deny file-write* (subpath "/w/.git") (subpath "/w/.git/config") (subpath "/w/.prunecli"))',
        '(allow file-write* (subpath "/w/.git"))',
        '(deny file-write* (subpath "/w/.git/config"))',
        '(deny file-read* file-write* (subpath "/nonexistent/.ssh") (subpath "/h/.npmrc"))',
    ]
    assert seatbelt.profile(LAYOUT, "/t", network=True).endswith("(allow network*)\n")


def test_landlock_grants_around_what_is_closed(tmp_path) -> None:
    for name in ("ws/.git/hooks", "ws/src", "ws/deep"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("ws/.env", "ws/a.txt", "ws/deep/.env", "ws/deep/b"):
        (tmp_path / name).touch()
    (tmp_path / "ws" / "link").symlink_to("/etc")
    root = os.path.realpath(tmp_path / "ws")
    hidden = (f"{root}/.env", f"{root}/deep/.env")
    layout = Layout((root,), kept=(f"{root}/.git",), missing=(f"{root}/.prunecli",), hidden=hidden)
    grants = list(granted(layout, "/s/tmp"))
    written = {path.removeprefix(root) for kind, path in grants if kind == b"w" and path.startswith(root)}
    assert written == {"/src", "/a.txt", "/deep/b"}
    assert (b"w", "/s/tmp") in grants
    read = {path for kind, path in grants if kind == b"r"}
    assert not read & {"/", "/tmp", root, *hidden}
    assert f"{root}/.git" in read


# The filter --------------------------------------------------------------------------------------------------


def run_filter(program: bytes, arch: int, number: int, *arguments: int) -> int:
    """What a filter answers to a call, as the kernel would run it."""
    data = struct.pack("=iIQ6Q", number, arch, 0, *arguments, *[0] * (6 - len(arguments)))
    steps, at, loaded = list(struct.iter_unpack("=HBBI", program)), 0, 0
    while True:
        code, when_true, when_false, value = steps[at]
        at += 1
        if code == 0x20:
            loaded = struct.unpack_from("=I", data, value)[0]
        elif code == 0x06:
            return int(value)
        else:
            holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[code]
            at += when_true if holds else when_false


ALLOWED, EPERM, ENOSYS, FAMILY = 0x7FFF0000, 0x50001, 0x50026, 0x50061


@pytest.mark.parametrize("machine", sorted(MACHINES))
def test_the_filter_refuses_what_it_should_and_nothing_else(machine: str) -> None:
    known, program = MACHINES[machine], filter_program(machine=machine)

    def answer(name: str, *arguments: int) -> int:
        return run_filter(program, known.arch, known.calls[name], *arguments)

    assert {answer(name) for name in ("mount", "setns", "keyctl", "bpf", "open_by_handle_at")} == {EPERM}
    assert {answer(name) for name in ("clone3", "io_uring_setup")} == {ENOSYS}
    assert (
        answer("ioctl", 0, 0x5412)
        == answer("ioctl", 0, 0x5412 | 1 << 40)
        == answer("ioctl", 0, 0x541C)
        == EPERM
    )
    assert answer("ioctl", 0, 0x5413) == ALLOWED
    assert answer("clone", 0x10000000 | 17) == answer("unshare", 0x10000000) == EPERM
    assert answer("clone", 17) == answer("unshare", 0x400) == ALLOWED
    assert {answer("socket", family, 1, 0) for family in (1, 2, 10, 16)} == {ALLOWED}
    assert {answer("socket", *given) for given in ((40, 1, 0), (17, 3, 0), (38, 5, 0), (16, 3, 15))} == {
        FAMILY
    }
    assert answer("fchmod") == ALLOWED
    assert run_filter(program, 0x40000003, 1) == ENOSYS
    assert run_filter(program, known.arch, 0x40000000 | 1) == ENOSYS


def test_a_stricter_filter_refuses_all_sockets_and_metadata() -> None:
    known = MACHINES["x86_64"]
    program = filter_program(sockets=(), metadata=False, machine="x86_64")
    for family in (1, 2, 10, 16, 40):
        assert run_filter(program, known.arch, known.calls["socket"], family) == FAMILY
    assert run_filter(program, known.arch, known.calls["fchmodat"]) == EPERM
