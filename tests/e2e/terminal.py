"""A real terminal: the program in tmux, typed at with send-keys, read with capture-pane."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.waiting import DEADLINE, wait_until

ROOT = Path(__file__).parents[2]
HAS_TMUX = shutil.which("tmux") is not None


_OFF = {"PYTHONPATH": str(ROOT), "PRUNECLI_SANDBOX": "off", "PRUNECLI_LOCAL_PORTS": "none"}
"""A test that is about the sandbox or about local servers sets another value."""


class Terminal:
    """One tmux session on a server of its own, so that tests do not meet. Ends with its `with`."""

    def __init__(
        self,
        words: Sequence[str],
        cwd: Path,
        environ: Mapping[str, str],
        columns: int = 80,
        rows: int = 24,
        *,
        knows: bool = False,
        program: Sequence[str] = (sys.executable, "-m", "prunecli"),
    ) -> None:
        """`knows`: the program can find out that it runs in tmux. `program`: another one than ours."""
        # Not below TMPDIR: the path of a socket has room for about a hundred bytes.
        self._folder = tempfile.mkdtemp(prefix="tmux-", dir="/tmp")
        self._code = Path(self._folder) / "code"
        self._base = ["tmux", "-S", f"{self._folder}/socket", "-f", "/dev/null"]
        self._words, self._cwd, self._size = [*program, *words], cwd, (columns, rows)
        found = {"TMUX": f"{self._folder}/socket,1,0"} if knows else {}
        self._environ = {"TERM": "xterm-256color", "LANG": "C.UTF-8", **found, **_OFF, **environ}

    def __enter__(self) -> Self:
        columns, rows = self._size
        pairs = [f"{key}={value}" for key, value in self._environ.items()]
        program = ["env", "-i", *pairs, *self._words]
        command = ["sh", "-c", f'"$@"; echo $? > {self._code}', "sh", *program]
        size = ["-x", str(columns), "-y", str(rows)]
        remain = ["start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";"]  # it may end at once
        self._tmux(*remain, "new-session", "-d", *size, "-c", str(self._cwd), "-s", "t", *command)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        subprocess.run([*self._base, "kill-server"], capture_output=True, check=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            [*self._base, *words], capture_output=True, text=True, check=True, env=os.environ
        )
        return done.stdout

    def type(self, text: str) -> None:
        """Types the text, key by key."""
        self._tmux("send-keys", "-t", "t", "-l", text)

    def press(self, *keys: str) -> None:
        """Presses keys by tmux's names: Enter, Escape, C-c, M-Enter, BTab."""
        self._tmux("send-keys", "-t", "t", *keys)

    def paste(self, text: str) -> None:
        """Pastes the text, bracketed once the program has asked for that."""
        self._tmux("set-buffer", text, ";", "paste-buffer", "-p", "-t", "t")

    def say(self, text: str) -> None:
        """Types the text and presses Enter once it stands there."""
        self.type(text)
        self.wait_for(text[-20:])
        self.press("Enter")

    def answer(self, question: str, key: str, about: str = "") -> str:
        """Answers a question about something once it takes keys; the screen that asked."""

        def ready(screen: str) -> bool:
            _, asked, after = " ".join(screen.split()).partition(question)
            return bool(asked) and about in after and "Enter or a digit to answer" in after

        screen = self.wait_until(ready, f"{question!r} about {about!r} to take keys")
        self.press(key)
        self.wait_until(lambda screen: not ready(screen), f"{key} to be taken")
        return screen

    def screen(self) -> str:
        """What is on the screen now."""
        return self._tmux("capture-pane", "-p", "-t", "t")

    def buffer(self) -> str:
        """What tmux would paste."""
        return self._tmux("show-buffer")

    def everything(self) -> str:
        """What is on the screen and in the scrollback."""
        return self._tmux("capture-pane", "-p", "-S", "-", "-t", "t")

    def resize(self, columns: int, rows: int) -> None:
        """Another size of the terminal."""
        self._tmux("resize-window", "-t", "t", "-x", str(columns), "-y", str(rows))

    @property
    def exit_code(self) -> int | None:
        """The program's exit code as a shell gives it (128 + n for a signal), None while it runs."""
        try:
            return int(self._code.read_text())
        except (OSError, ValueError):
            return None

    @property
    def pid(self) -> int:
        """The program's process."""
        shell = self._tmux("display-message", "-p", "-t", "t", "#{pane_pid}").strip()
        return int(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])

    def wait_for(self, text: str, within: float = DEADLINE) -> str:
        """The first screen that shows the text, blanks and line ends aside. Fails with the last screen after so
        many seconds."""
        wanted = " ".join(text.split())
        return self.wait_until(
            lambda screen: wanted in " ".join(screen.split()), f"{text!r} to appear", within
        )

    def wait_until(self, condition: Callable[[str], bool], what: str, within: float = DEADLINE) -> str:
        """The first screen for which a condition holds."""
        screen = ""

        def holds() -> bool:
            nonlocal screen
            ended = self.exit_code
            screen = self.screen()
            met = condition(screen)
            assert met or ended is None, f"ended with {ended}, while the test {waited()}"
            return met

        def waited() -> str:
            return f"waited for {what}; the screen shows\n{screen}"

        wait_until(holds, waited, within=within)
        return screen
