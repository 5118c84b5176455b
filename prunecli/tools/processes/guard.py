"""The guard of a program that talks through pipes, such as an MCP server: like `supervise`, for a program that keeps
its standard input and output.

It adopts the processes that the program leaves behind, reports the program's end to its socket, and ends all of them
on request or when prunecli dies.
"""

import _signal  # type: ignore[import-not-found]  # `signal` imports enum: 5 ms
import posix
import sys

supervise = __import__("supervise")  # its neighbor: the guard runs with this folder as its path


def main() -> None:
    """Run the program in the arguments `SOCKET GRACE KEEP_LOCALE PROGRAM...` under a guard, then exit."""
    try:
        guard(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3] == "1", sys.argv[4:])
    finally:
        posix._exit(0)


def guard(control: int, grace: float, keep_locale: bool, words: list[str]) -> None:
    """Start the program in its own session and guard it until all of its processes have ended."""
    posix.set_inheritable(control, False)
    supervise.prctl(supervise.PR_SET_CHILD_SUBREAPER, 1)
    parent = posix.getpid()
    ends = (supervise.HUP, supervise.TERM, _signal.SIGINT)
    _signal.pthread_sigmask(_signal.SIG_BLOCK, ends)
    child = posix.fork()
    if child == 0:
        try:
            become(words, keep_locale, control, parent)
        finally:
            posix._exit(127)
    nothing = posix.open("/dev/null", posix.O_RDWR)
    for ours in (0, 1, 2):  # the pipes end when the program's processes close them
        posix.dup2(nothing, ours)
    for number in ends:
        _signal.signal(number, _signal.SIG_IGN)
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, ends)
    supervise.Supervisor(control, grace, -1).watch(child)


def become(words: list[str], keep_locale: bool, control: int, parent: int) -> None:
    """Turn this forked process into the program, as leader of its own session."""
    try:
        posix.setsid()
        supervise.prctl(supervise.PR_SET_PDEATHSIG, supervise.KILL)
        if posix.getppid() != parent:
            return
        for number in (supervise.PIPE, supervise.XFSZ):
            _signal.signal(number, _signal.SIG_DFL)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
        environ = dict(posix.environ)
        if not keep_locale:
            environ.pop(b"LC_CTYPE", None)  # the interpreter adds it in the C locale (PEP 538)
        posix.execve(words[0], words, environ)
    except OSError as error:
        posix.write(control, b"E%d\n" % (error.errno or 0))
