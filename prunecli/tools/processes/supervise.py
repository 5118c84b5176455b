"""The supervisor of one command: a script between the program and the processes that a command starts.

It runs in a small interpreter of its own (see `command.py`), which the program starts once: it forks a supervisor for
each command that the program sends to its standard input, and ends with the program. A supervisor adopts the
processes that its command leaves behind, reports how it ended, and ends all of them on request or when the program
dies.

It has a socket to the program. Lines to it: `S<pid>` its own process, `P<pid>` the command runs, `E<errno>` it could
not be started, `W<errno>` its directory can't be entered, `O<errno>` its overlays can't be mounted, `X<wait status>`
it ended, `L<commands>` these were still running and were ended (NUL between them), `F<count>` this many can't be
ended, though it keeps trying. Bytes from it: `T` end all, gently for GRACE seconds; `S` the same for a fifth of a
second; `K` end all now. End of file means that the program died.

`B<folder>NUL<cap>NUL<seconds>NUL<size>NUL<lines>` and a line feed move the command to the background: from now on its
output goes to files in that folder (`Kept`), and what the command leaves behind is ended without an order. It is
ended after this many seconds (0: never). `D` detaches it: it outlives the program, and TERM to this process ends it.

Only built-in modules are imported, since the first command waits for them.
"""

import _socket
import posix
import select
import sys
import time

try:
    import _ctypes
except ImportError:
    _ctypes = None  # type: ignore[assignment]  # then orphans are not adopted, but the group is still ended

import _signal  # type: ignore[import-not-found]  # `signal` imports enum: 5 ms

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
HUP, KILL, PIPE, TERM, CONT, STOP, XFSZ = (
    getattr(_signal, name)
    for name in ("SIGHUP", "SIGKILL", "SIGPIPE", "SIGTERM", "SIGCONT", "SIGSTOP", "SIGXFSZ")
)
HAS_PROC = False
try:
    HAS_PROC = bool(posix.stat("/proc/self/stat"))
except OSError:
    pass

SETTLE = 0.2
GIVE_UP, LAST_TRY = 0.8, 10.0
STEP = 0.01
MOMENTS, MOMENT = 6, 0.0005
NAMES = 20
CHUNK, LAST_CHUNKS = 65_536, 64


def prctl(option: int, value: int) -> None:
    """Call Linux's prctl; elsewhere, do nothing."""
    if sys.platform == "linux" and _ctypes is not None:
        address = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
        _ctypes.call_cdeclfunction(address, (option, value, 0, 0, 0))


class Command:
    """A command to run: where, its words and environment, and the descriptors that it inherits, by the numbers that
    it knows them by. `grace` is in seconds; `movable`: it may go to the background. `overlays` are the paths for
    `overlays.py`. `control` is its supervisor's
    socket, `output` and `reader` are the ends of its output's pipe."""

    def __init__(self, fields: list[bytes], received: list[int]) -> None:
        self.received = tuple(received)
        self.control, self.output, self.reader, *received = received
        grace, movable, numbers, words, mounts, self.cwd = fields[:6]
        self.grace = float(grace)
        self.movable = movable == b"1"
        self.inherited = dict(zip(map(int, numbers.split()), received, strict=True))
        first = 6 + int(mounts)
        end = first + int(words)
        self.overlays = fields[6:first]
        self.words = fields[first:end]
        self.environ = dict(field.split(b"=", 1) for field in fields[end:])

    def become(self, control: int, parent: int) -> None:
        """Turn this forked process into the command, as leader of its own session."""
        kind = b"E"
        try:
            posix.setsid()
            prctl(PR_SET_PDEATHSIG, KILL)
            if posix.getppid() != parent:
                return
            for number in (PIPE, XFSZ):
                _signal.signal(number, _signal.SIG_DFL)
            _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
            offer_to_the_oom_killer()
            control = self.arrange(control)
            kind = b"O"
            self.overlay()
            kind = b"W"
            posix.chdir(self.cwd)
            kind = b"E"
            posix.execve(self.words[0], self.words, self.environ)
        except OSError as error:
            posix.write(control, b"%b%d\n" % (kind, error.errno or 0))

    def overlay(self) -> None:
        if self.overlays:
            __import__("overlays").enter(self.overlays)  # beside this file; few commands need it

    def arrange(self, control: int) -> int:
        """Give the inherited descriptors their numbers. Return the descriptor of `control`, which may have moved."""
        if not self.inherited:
            return control
        taken = {0, 1, 2, control, *self.inherited, *self.inherited.values()}
        free = (number for number in range(3, 1_000_000) if number not in taken)
        moved = [(number, posix.dup2(got, next(free))) for number, got in self.inherited.items()]
        control = posix.dup2(control, next(free), inheritable=False)
        for number, copy in moved:
            posix.dup2(copy, number)
            posix.close(copy)
        return control


def receive(program: _socket.socket) -> Command | None:
    """Return the next command that the program sends: its length in 16 bytes, with the descriptors, then the fields
    of `Command` with a NUL after each. None if the program is gone."""
    head, ancillary, _, _ = program.recvmsg(16, 4_096)
    received = [
        int.from_bytes(data[at : at + 4], sys.byteorder)
        for _, _, data in ancillary
        for at in range(0, len(data), 4)
    ]
    for descriptor in received:
        posix.set_inheritable(descriptor, False)
    data, size = b"", int(head or b"0")
    while len(data) < size:
        more = program.recv(min(size - len(data), 1 << 20))
        if not more:
            return None
        data += more
    return Command(data.split(b"\0")[:-1], received) if data else None


def offer_to_the_oom_killer() -> None:
    """Make the kernel kill the command, not prunecli, when memory runs out."""
    try:
        file = posix.open("/proc/self/oom_score_adj", posix.O_WRONLY)
        posix.write(file, b"500")
        posix.close(file)
    except OSError:
        pass  # not Linux, or already higher


def processes() -> dict[int, tuple[int, bytes]]:
    """Return every process of the system that is not a zombie: pid -> (parent, state)."""
    found = {}
    for name in posix.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            file = posix.open(f"/proc/{name}/stat", posix.O_RDONLY)
        except OSError:
            continue
        try:
            state, parent = posix.read(file, 1024).rpartition(b")")[2].split()[:2]
            if state not in b"ZX":
                found[int(name)] = (int(parent), state)
        except (OSError, ValueError):
            pass  # ended in the meantime
        finally:
            posix.close(file)
    return found


def descendants(child: int) -> set[int]:
    """Return the living processes that the command started; its group (negative) if the system cannot list them."""
    if not HAS_PROC:
        return {-child} if send(-child, 0) else set()
    table, mine = processes(), {posix.getpid()}
    while True:
        more = {pid for pid, (parent, _) in table.items() if parent in mine and pid not in mine}
        if not more:
            return mine - {posix.getpid()}
        mine |= more


def send(pid: int, number: int) -> bool:
    """Signal a process (a group if negative); return False if it is gone or may not be signaled."""
    try:
        posix.kill(pid, number)
        return True
    except OSError:
        return False


def named(pid: int) -> bytes:
    """Return the command line of a process, at most 120 bytes."""
    if pid < 0:
        return b"process group %d" % -pid
    for source in ("cmdline", "comm"):  # `cmdline` is empty while the process replaces its program
        try:
            file = posix.open(f"/proc/{pid}/{source}", posix.O_RDONLY)
        except OSError:
            continue
        try:
            words = posix.read(file, 4096).replace(b"\0", b" ").split()
        except OSError:
            words = []
        posix.close(file)
        if words:
            return b" ".join(words)[:120]
    return b"process %d" % pid


def kill_all(child: int) -> set[int]:
    """Send KILL to every descendant, after stopping all, so that none can start another meanwhile."""
    stopped = set[int]()
    for _ in range(50):
        fresh = {pid for pid in descendants(child) - stopped if send(pid, STOP)}
        if not fresh:
            break
        stopped |= fresh
    for pid in stopped:
        send(pid, KILL)
    return stopped


class Kept:
    """The output of a background command: its newest bytes, in at most two files of half the cap each.

    A file is named `out.OFFSET.LINES` after the bytes and lines before it. `pid` contains this process's id and is
    locked while it runs. `detached` exists if the command may outlive the program. In the end, `end` contains the
    wait status, -1 if the command was ended, and 1 if its time was up.
    """

    def __init__(self, folder: str, cap: int, size: int, lines: int) -> None:
        self.folder = folder
        self.half = max(1, cap // 2)
        self.size = size
        self.lines = lines
        self.files: list[str] = []
        self.file = -1
        self.room = 0
        self.lock = self.open("pid")
        posix.write(self.lock, b"%d" % posix.getpid())
        posix.lockf(self.lock, posix.F_LOCK, 0)

    def open(self, name: str) -> int:
        """Create a file that only this user can read."""
        flags = posix.O_WRONLY | posix.O_CREAT | posix.O_APPEND | posix.O_CLOEXEC
        return posix.open(f"{self.folder}/{name}", flags, 0o600)

    def add(self, data: bytes) -> None:
        """Write the next bytes. If the disk is full, they are lost and the command continues."""
        try:
            if self.room <= 0:
                self.turn()
            posix.write(self.file, data)
        except OSError:
            pass
        self.room -= len(data)
        self.size += len(data)
        self.lines += data.count(b"\n")

    def turn(self) -> None:
        """Begin a new file, and delete the one before the last."""
        name = f"out.{self.size}.{self.lines}"
        new = self.open(name)
        if self.file >= 0:
            posix.close(self.file)
        self.file, self.room = new, self.half
        self.files.append(name)
        if len(self.files) > 2:
            posix.unlink(f"{self.folder}/{self.files.pop(0)}")

    def end(self, status: int, timed_out: bool) -> None:
        self.note("end", b"%d %d" % (status, timed_out))

    def note(self, name: str, data: bytes) -> None:
        """Create a file with this content, completely or not at all."""
        try:
            posix.write(self.open(f"{name}.new"), data)
            posix.rename(f"{self.folder}/{name}.new", f"{self.folder}/{name}")
        except OSError:
            pass  # the program will notice that this process is gone


class Supervisor:
    """One command from its start to the end of the last process it started. `reader` is the descriptor of the
    command's output once it is in the background, -1 if it never will be."""

    def __init__(self, control: int, grace: float, reader: int) -> None:
        self.control = control
        self.grace = grace
        self.reader = reader
        self.movable = reader >= 0
        self.kept: Kept | None = None
        self.deadline = 0.0
        self.status = -1
        self.detached = self.asked = self.timed_out = False
        self.child = 0
        self.pidfd = -1
        self.running = True
        self.poll = select.poll()
        self.poll.register(control, select.POLLIN)

    def watch(self, child: int) -> None:
        """Wait for the command and for orders until no process is left."""
        self.child = child
        self.tell(b"P%d\n" % child)
        interval = STEP
        if sys.platform == "linux":
            try:
                self.pidfd = posix.pidfd_open(child)
                self.poll.register(self.pidfd, select.POLLIN)
                interval = 1.0
            except OSError:
                pass  # an older kernel: poll every ten milliseconds, as on other systems
        while True:
            ordered = self.wait(interval)
            alive = self.reap()
            if ordered and self.obey():
                return
            if self.kept and self.is_over(self.kept):
                return
            if not self.running and not alive and not self.movable:
                return  # otherwise the program's next order may still move the command
            if not self.running:
                interval = 1.0

    def wait(self, seconds: float) -> bool:
        """Wait, and keep the command's output meanwhile. Return whether an order has arrived."""
        ready = {fd for fd, _ in self.poll.poll(seconds * 1000)}
        if self.reader in ready:
            self.keep()
        return self.control in ready

    def keep(self, chunks: int = 1) -> None:
        """Keep the next output."""
        while self.kept and self.reader >= 0 and chunks > 0:
            try:
                data = posix.read(self.reader, CHUNK)
            except BlockingIOError:
                return
            if not data:
                self.poll.unregister(self.reader)
                posix.close(self.reader)
                self.reader = -1
                return
            self.kept.add(data)
            chunks -= 1

    def is_over(self, kept: Kept) -> bool:
        """End a background command and the processes it left behind, once it is over, its time is up or a signal asks
        for it.

        Returns whether the command was ended."""
        if self.running:
            self.timed_out = bool(self.deadline) and time.monotonic() > self.deadline
            if not (self.timed_out or self.asked):
                return False
            self.end(self.grace)
        elif not self.soon_over():
            self.end(SETTLE)
        self.close(kept)
        return True

    def close(self, kept: Kept) -> None:
        """Store the last output of a command and record its end."""
        self.keep(LAST_CHUNKS)
        kept.end(self.status, self.timed_out)

    def background(self) -> bool:
        """Move the command to the background: read the program's order, and begin to keep the output.

        Returns whether that is possible. If not, the caller ends the command."""
        order = b""
        while not order.endswith(b"\n"):
            byte = posix.read(self.control, 1)
            if not byte:
                return False  # the program died
            order += byte
        folder, cap, seconds, size, lines = order[:-1].decode("utf-8", "surrogateescape").split("\0")
        try:
            self.kept = Kept(folder, int(cap), int(size), int(lines))
        except OSError:
            return False
        self.deadline = time.monotonic() + float(seconds) if float(seconds) else 0.0
        self.poll.register(self.reader, select.POLLIN)
        return True

    def detach(self) -> None:
        """Let the command outlive the program."""

        def ask(*_: object) -> None:
            self.asked = True

        self.detached = True
        if self.kept:
            self.kept.note("detached", b"")
        _signal.signal(TERM, ask)

    def reap(self) -> bool:
        """Reap ended processes, adopted ones too; return whether a child is left."""
        while True:
            try:
                pid, status = posix.waitpid(-1, posix.WNOHANG)
            except ChildProcessError:
                return not HAS_PROC and send(-self.child, 0)
            if pid == 0:
                return True
            if pid == self.child:
                self.running, self.status = False, status
                self.forget_pidfd()
                self.tell(b"X%d\n" % status)

    def forget_pidfd(self) -> None:
        """Stop waiting for the command to end."""
        if self.pidfd >= 0:
            self.poll.unregister(self.pidfd)
            self.pidfd = -1

    def obey(self) -> bool:
        """Carry out the program's orders, or end everything if the program died. Return whether the command is
        over."""
        order = self.read()
        if order == b"D":
            self.detach()
        if order == b"D" or (order == b"B" and self.background()) or (not order and self.detached):
            return False
        if order != b"S" or not self.soon_over():
            graces = {b"T": self.grace, b"S": SETTLE, b"": min(self.grace, 0.5)}
            self.end(graces.get(order, 0.0))
        if self.kept:
            self.close(self.kept)
        return True

    def soon_over(self) -> bool:
        """Return whether the remaining processes end by themselves at once, as a sandbox does. This avoids listing
        all processes."""
        for _ in range(MOMENTS):
            if not self.reap():
                return True
            time.sleep(MOMENT)
        return False

    def end(self, grace: float) -> None:
        """Send TERM, then KILL after `grace` seconds, until no process is left. Gives up on processes that cannot be
        killed."""
        self.forget_pidfd()
        left = descendants(self.child)
        self.tell(b"L" + b"\0".join(sorted(named(pid) for pid in left)[:NAMES]) + b"\n")
        deadline = time.monotonic() + grace
        for pid in left:
            send(pid, TERM)
            send(pid, CONT)
        while self.reap() and time.monotonic() < deadline:
            if self.wait(STEP) and self.read() in (b"K", b""):
                break
        begun, pause, told = time.monotonic(), 0.001, False
        while self.reap() and time.monotonic() < begun + LAST_TRY:
            if not kill_all(self.child) and not descendants(self.child):
                break
            if not told and time.monotonic() > begun + GIVE_UP:
                told = self.tell(b"F%d\n" % len(descendants(self.child)))
            self.keep()
            time.sleep(pause)
            pause = min(0.05, pause * 2)

    def read(self) -> bytes:
        """Read one order; empty once the program is gone."""
        try:
            order = posix.read(self.control, 1)
        except OSError:
            order = b""
        if not order:
            self.poll.unregister(self.control)
        return order

    def tell(self, line: bytes) -> bool:
        """Send a line to the program. Return True even if the program is gone."""
        try:
            posix.write(self.control, line)
        except OSError:
            pass  # the program is gone; `watch` sees the end of file
        return True


def main() -> None:
    """Fork a supervisor for each command, until the program is gone."""
    program = _socket.socket(fileno=posix.dup(0))
    nothing = posix.open("/dev/null", posix.O_RDWR)
    posix.dup2(nothing, 0)
    _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)  # supervisors leave no zombie
    while command := receive(program):
        if posix.fork() == 0:
            try:
                program.close()
                _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
                posix.setsid()
                for output in (1, 2):
                    posix.dup2(command.output, output)
                posix.close(command.output)
                if not command.movable:
                    posix.close(command.reader)
                supervise(command, (1, 2), nothing)
            finally:
                posix._exit(0)
        for descriptor in command.received:
            posix.close(descriptor)
    posix._exit(0)


def guard() -> None:
    """Supervise one program that keeps its standard input and output, such as an MCP server: the arguments are
    `SOCKET GRACE KEEP_LOCALE PROGRAM...`."""
    try:
        control, grace, keep_locale, *words = sys.argv[1:]
        posix.set_inheritable(int(control), False)
        environ = dict(posix.environ)
        if keep_locale == "0":
            environ.pop(b"LC_CTYPE", None)  # the interpreter adds it in the C locale (PEP 538)
        coding = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
        fields = [*(word.encode(*coding) for word in (grace, "0", "", str(len(words)), "0", ".", *words))]
        fields += [name + b"=" + value for name, value in environ.items()]
        supervise(Command(fields, [int(control), -1, -1]), (0, 1, 2), posix.open("/dev/null", posix.O_RDWR))
    finally:
        posix._exit(0)


def supervise(command: Command, streams: tuple[int, ...], nothing: int) -> None:
    """Start the command in its own session and supervise it until all of its processes have ended. `streams` are the
    standard streams that only the command keeps open; `nothing` is /dev/null."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    parent = posix.getpid()
    ends = (HUP, TERM, _signal.SIGINT)
    _signal.pthread_sigmask(_signal.SIG_BLOCK, ends)  # the command may send them at once
    child = posix.fork()
    if child == 0:
        try:
            command.become(command.control, parent)
        finally:
            posix._exit(127)
    for stream in streams:  # the pipes end when the command's processes close them
        posix.dup2(nothing, stream)
    for descriptor in command.inherited.values():
        posix.close(descriptor)
    for number in ends:
        _signal.signal(number, _signal.SIG_IGN)
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, ends)
    supervisor = Supervisor(command.control, command.grace, command.reader if command.movable else -1)
    supervisor.tell(b"S%d\n" % parent)
    supervisor.watch(child)
