"""Run inside a sandbox: try everything that it must prevent, and print what happened as JSON.

Standard library only. Arguments: a JSON object with the paths, ports and pids of the outside.
"""

import contextlib
import ctypes
import fcntl
import glob
import json
import os
import shutil
import signal
import socket
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
GIVEN = json.loads(sys.argv[1]) if __name__ == "__main__" else {"outside": "", "home": ""}
OUTSIDE, HOME = GIVEN["outside"], GIVEN["home"]
MACHINE = os.uname().machine
CALLS = {"x86_64": {"keyctl": 250, "ptrace": 101, "unshare": 272, "mount": 165, "setns": 308}}.get(
    MACHINE, {"keyctl": 219, "ptrace": 117, "unshare": 97, "mount": 40, "setns": 268}
)


def call(name, *arguments):
    """A raw system call. Raises OSError."""
    if LIBC.syscall(CALLS[name], *arguments) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def write(path):
    with open(path, "a") as file:
        file.write("x")


def read(path):
    with open(path, "rb") as file:
        file.read(8)


def through_symlink():
    os.symlink(OUTSIDE, "link")
    write("link")


def through_hard_link():
    os.link(OUTSIDE, "hard")
    write("hard")


def replace_git():
    os.rename(".git", "git2")
    os.makedirs(".git/hooks")


def tcp():
    socket.create_connection(("127.0.0.1", GIVEN["tcp"]), 2).close()


def udp():
    """Sent packets are counted outside."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("192.0.2.1", 9))


def tcp6():
    socket.create_connection(("2001:db8::1", 80), 2).close()


def dns():
    socket.getaddrinfo("example.com", 80)


def unix(address):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(address)


def netlink():
    names = [name for _, name in socket.if_nameindex()]
    if names == ["lo"]:
        raise OSError("only lo")


def inject():
    for number in (0, 1, 2):
        with contextlib.suppress(OSError):
            fcntl.ioctl(number, 0x5412, b"x")
            return
    with open("/dev/tty") as terminal:
        fcntl.ioctl(terminal, 0x5412, b"x")


def refused_ioctl():
    """TIOCSTI is refused as such, with EPERM, even on a file of ours where the kernel would say ENOTTY."""
    with open("sub/tty-probe", "w") as file:
        try:
            fcntl.ioctl(file, 0x5412, b"x")
        except OSError as error:
            if error.errno == 1:
                raise
    os.unlink("sub/tty-probe")


def peek():
    for name in ("environ", "mem", "maps"):
        with contextlib.suppress(FileNotFoundError), open(f"/proc/{GIVEN['pid']}/{name}", "rb") as file:
            if GIVEN["mark"].encode() in file.read(4096):
                return
    raise OSError("nothing to see")


def read_a_device():
    """Open a terminal, where the user types, or a disk."""
    for pattern in (
        "/dev/pts/[0-9]*",
        "/dev/tty?*",
        "/dev/console",
        "/dev/[svx]d*",
        "/dev/loop?",
        "/dev/nvme*",
    ):
        for path in glob.glob(pattern):
            with contextlib.suppress(OSError):
                os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY))
                return
    raise OSError("none can be opened")


MUST_FAIL = {
    "read the rest of the home folder": lambda: read(OUTSIDE),
    "write outside": lambda: write(OUTSIDE),
    "make a file outside": lambda: write(f"{HOME}/new.txt"),
    "write through a symbolic link": through_symlink,
    "write through a hard link": through_hard_link,
    "write through /proc/self/root": lambda: write(f"/proc/self/root{OUTSIDE}"),
    "delete outside": lambda: os.unlink(OUTSIDE),
    "write .git/config": lambda: write(".git/config"),
    "make a hook": lambda: write(".git/hooks/pre-commit"),
    "move .git away": replace_git,
    "make .prunecli": lambda: os.mkdir(".prunecli"),
    "read ~/.ssh": lambda: read(f"{HOME}/.ssh/id_rsa"),
    "read .env": lambda: read(".env"),
    "read .env by another name": lambda: read("innocent"),
    "list ~/.ssh": lambda: os.listdir(f"{HOME}/.ssh"),
    "rename a secret": lambda: os.rename(".env", "moved"),
    "TCP": tcp,
    "TCP over IPv6": tcp6,
    "UDP": udp,
    "DNS": dns,
    "ICMP": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
    "packet socket": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
    "vsock": lambda: socket.socket(40, socket.SOCK_STREAM),
    "kernel netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15),
    "other interfaces": netlink,
    "unix socket": lambda: unix(GIVEN["socket"]),
    "abstract unix socket": lambda: unix("\0" + GIVEN["abstract"]),
    "signal the agent": lambda: os.kill(GIVEN["pid"], signal.SIGUSR1),
    "trace the agent": lambda: call("ptrace", 16, GIVEN["pid"], 0, 0),
    "read the agent's memory": peek,
    "chmod outside": lambda: os.chmod(OUTSIDE, 0o777),
    "utime outside": lambda: os.utime(OUTSIDE, (1, 1)),
    "new user namespace": lambda: call("unshare", 0x10000000),
    "mount": lambda: call("mount", b"none", b"/mnt", b"tmpfs", 0, None),
    "enter a namespace": lambda: call("setns", 0, 0),
    "keyring": lambda: call("keyctl", 0, -3, 1),
    "type into the terminal": inject,
    "TIOCSTI": refused_ioctl,
    "write /proc/sys": lambda: write("/proc/sys/kernel/hostname"),
    "write /sys": lambda: write("/sys/kernel/uevent_helper"),
    "open memory": lambda: read("/dev/mem"),
    "open a terminal or a disk": read_a_device,
}


def compile_and_run():
    with open("sub/p.sh", "w") as file:
        file.write("#!/bin/sh\nexit 7\n")
    os.chmod("sub/p.sh", 0o755)
    if os.waitstatus_to_exitcode(os.system("./sub/p.sh")) != 7:
        raise OSError("does not run")


def loopback():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), 5).close()


MUST_WORK = {
    "write in the workspace": lambda: write("sub/in.txt"),
    "move and delete in the workspace": lambda: (os.rename("sub/a", "sub/b"), os.unlink("sub/b")),
    "write in /tmp": lambda: write("/tmp/x"),
    "read /etc/passwd": lambda: read("/etc/passwd"),
    "write /dev/null": lambda: write("/dev/null"),
    "read /dev/urandom": lambda: read("/dev/urandom"),
    "run a program of ours": compile_and_run,
    "shared memory": lambda: __import__("multiprocessing").get_context("fork").Lock(),
    "remove a folder": lambda: (os.makedirs("sub/x/y"), shutil.rmtree("sub/x")),
    "loopback": loopback,
}


def outcome(act):
    try:
        act()
    except Exception as error:  # noqa: BLE001  # whatever it is, it did not work
        return f"{type(error).__name__}: {error}"
    return ""


if __name__ == "__main__":
    print(json.dumps({name: outcome(act) for name, act in {**MUST_WORK, **MUST_FAIL}.items()}))
