"""Somebody else's session: no name in it opens a file outside, no pid in it is signalled, nothing raises or hangs.

Every field that becomes a path, a pid or a key gets every kind of hostile name. PRUNECLI_HOSTILE_FILES=2000 is the
whole run.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from prunecli.commands.command import run_line
from prunecli.features.export.exporters.formats import exported
from prunecli.features.rewind.rewinding import outlook_of, points_of, rewind
from prunecli.features.subagents.task_records import number_of
from prunecli.runtime import Runtime
from prunecli.session.importers.source import read_source
from prunecli.session.importers.store_import import save
from prunecli.session.log import read_log
from prunecli.session.session_files import remove, tasks_of
from prunecli.session.session_tree import family
from prunecli.session.verify import verify_session
from prunecli.tools.processes.background import KeptOutput
from prunecli.util.errors import PrunecliError, ToolError
from tests.scripted import says
from tests.starting import start

FILES = int(os.environ.get("PRUNECLI_HOSTILE_FILES", "24"))
BATCHES = 4
JOB, BLOB = "0123456789ab", sha256(b"secret").hexdigest()
HOLD = "import os, sys; f = os.open(sys.argv[1], os.O_RDWR); os.lockf(f, os.F_LOCK, 0); print(1, flush=True); input()"
NUMBERS = (0, -1, 1, 2, 2**63, 10**30, True, 1.5, None, [], [[1]], {}, "1")


class Watch:
    """Records what the interpreter opens below a folder, and which processes it signals.

    Audit hooks stay for good, so there is only one.
    """

    def __init__(self) -> None:
        self.folder = ""
        self.seen: list[str] = []
        sys.addaudithook(self.audit)

    def audit(self, event: str, given: tuple[Any, ...]) -> None:
        if not self.folder:
            return
        if event in ("os.kill", "os.killpg"):
            self.seen.append(f"{event} {given}")
        for one in given[:2] if event.startswith(("open", "os.", "shutil.", "glob.")) else ():
            if isinstance(one, str | bytes | os.PathLike):
                with suppress(ValueError, OSError):
                    links = event == "open" and isinstance(given[2], int) and given[2] & os.O_NOFOLLOW
                    real = _real(os.fsdecode(one), follow=not links)
                    if real == self.folder or real.startswith(self.folder + os.sep):
                        self.seen.append(f"{event} {os.fsdecode(one)[:80]}")

    @contextmanager
    def over(self, folder: Path) -> Iterator[list[str]]:
        self.folder, self.seen = os.path.realpath(folder), []
        try:
            yield self.seen
        finally:
            self.folder = ""


def _real(path: str, *, follow: bool) -> str:
    above, name = os.path.split(os.path.abspath(path))
    return os.path.realpath(path) if follow else os.path.join(os.path.realpath(above), name)


WATCH = Watch()


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A folder that looks like a job's, a store's and a session's, with a running process that holds its `pid`."""
    folder = tmp_path / "outside"
    folder.mkdir()
    for name in ("out.0.0", "end", "detached", "id_rsa", BLOB, "x.jsonl", "x.running"):
        (folder / name).write_text("secret")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder / "pid")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        (folder / "pid").write_text(str(holder.pid))
        assert holder.stdout is not None
        holder.stdout.readline()
        yield folder
        assert holder.poll() is None, "it was signalled"
        holder.kill()


def names(outside: Path, base: Path) -> list[Any]:
    below = os.path.relpath(outside, base)
    return [
        *(
            str(outside),
            f"{outside}/x",
            f"{outside}/{BLOB}",
            below,
            f"../{below}",
            f"{below}/x",
            "..",
            ".",
            "",
        ),
        *("\0", f"{outside}\0", "a\0/../b", "\ud800", "é/ü", "-t1", "*", "**/*", "[!a]*", "?", "a" * 300),
        *(
            "a" * 70_000,
            "/" * 5_000,
            "../" * 900 + str(outside)[1:],
            "~/.ssh/id_rsa",
            "C:\\x",
            "nul",
            "1",
            "0" * 40,
        ),
        *("4b825dc642cb6eb9a060e54bf8d69288fbee4904", JOB, BLOB, "\u202e", "a\nb", "$(touch x)", "--help"),
    ]


def line(seq: int, kind: str, payload: dict[str, Any]) -> bytes:
    record = {"seq": seq, "timestamp": 1_700_000_000_000 + seq, "type": kind, **payload}
    body = json.dumps(record, separators=(",", ":"))[:-1].encode()
    return b'%b,"crc":"%08x"}\n' % (body, crc32(body))


def hostile(chance: random.Random, names: list[Any], work: Path) -> bytes:
    """A session with a hostile name in each field, most of the time."""

    def name() -> Any:
        return chance.choice(NUMBERS) if chance.random() < 0.1 else chance.choice(names)

    def number() -> Any:
        return chance.choice((1, 1, 2, *NUMBERS))

    def call(id_: str, tool: str, **given: Any) -> dict[str, Any]:
        return {"type": "tool_use", "id": id_, "name": tool, "input": given}

    def result(id_: Any, tool: str, details: Any, **more: Any) -> tuple[str, dict[str, Any]]:
        content = [{"type": "text", "text": "done"}]
        return "ToolResult", {
            "tool_use_id": id_,
            "tool_name": tool,
            "is_error": False,
            "content": content,
            "details": details,
            "duration_ms": 1,
            **more,
        }

    job = {"number": number(), "id": name(), "command": name()}
    figures = dict.fromkeys(("requests", "tokens", "cost_usd", "prunes", "pruned_tokens", "calls"), 1)
    figures[chance.choice(list(figures))] = chance.choice(NUMBERS)
    task = {"number": number(), "child": name(), "agent": name(), "model": name(), "ended": name(), **figures}
    saved = {
        "moment": "before",
        "reason": "tools",
        "duration_ms": 1,
        "root": chance.choice([str(work), name()]),
    }
    blob = {"type": "blob", "sha256": name(), "bytes": number(), "media_type": name()}
    imported = {"kind": name(), "id": name(), "cwd": name(), "model": name(), "sha256": name()}
    calls = [
        call("c1", "bash", command="sleep 9", background=True),
        call("c2", "task", prompt="look", agent=name()),
        call("c3", "edit", path=name(), old_string="a", new_string="b"),
        call("c4", "prun", tokens=1),
    ]
    events: list[tuple[str, dict[str, Any]]] = [
        ("UserMessage", {"content": [{"type": "text", "text": "go"}, blob], "origin": "prompt"}),
        ("SettingChanged", {"key": "workspace.added", "value": [name()]}),
        ("SettingChanged", {"key": "session.name", "value": name()}),
        ("SettingChanged", {"key": "model.name", "value": name()}),
        ("SettingChanged", {"key": "model.effort", "value": name()}),
        ("SettingChanged", {"key": "session.imported", "value": chance.choice([imported, name()])}),
        ("FilesSaved", {"tree": name(), "skipped": [name()], **saved}),
        ("AssistantMessage", {"content": calls, "model": name(), "stop_reason": "tool_use", "usage": {}}),
        ("ToolStarted", {"tool_use_id": "c1", "tool_name": "bash", "input": {}}),
        ("ToolStarted", {"tool_use_id": "c2", "tool_name": "task", "input": {"prompt": "look"}}),
        ("ToolStarted", {"tool_use_id": "c3", "tool_name": "edit", "input": {"path": name()}}),
        result("c1", "bash", {"job": chance.choice([job, job, name()]), "jobs_told": [number(), name()]}),
        result("c2", "task", {"task": chance.choice([task, task, name()])}),
        result("c3", "edit", {"path": name(), "interrupted": True, "diff": name()}),
        result("c4", "prun", {"prun": chance.choice([{"exchanges": [name()], "tokens": name()}, name()])}),
        ("FilesSaved", {"tree": name(), **saved, "moment": "after"}),
        (
            "AttemptBilled",
            {"model": "m", "usage": {}, "reason": "task", "child": {"id": name(), "seq": number()}},
        ),
        ("AssistantMessage", {"content": [call("c5", "task", prompt="go on")], "model": "m", "usage": {}}),
        ("ToolStarted", {"tool_use_id": "c5", "tool_name": "task", "input": {"prompt": "go on"}}),
    ]
    parent = {"id": name(), "seq": number(), "tool_use_id": name()}
    started = {"version": 1, "id": name(), "cwd": name(), "model": name(), "requires": []}
    lines = [line(0, "SessionStarted", {**started, "parent": chance.choice([None, parent])})]
    return b"".join(
        [*lines, *(line(seq, *event) for seq, event in enumerate(events[: chance.choice((16, 19))], 1))]
    )


async def used(runtime: Runtime, path: Path) -> None:
    """Do with a session what people and programs do with one."""
    list(family(runtime.store.list()))
    tasks_of(path)
    for made in ("html", "markdown", "pi", "messages"):
        exported(read_source(path).records, made)
    save(read_source(path), runtime.store, runtime.setup.cwd)
    verify_session(path, read_log(path))
    runtime.open_session(path)
    session = runtime.session
    for number in (1, 2):
        number_of(session.records, "c2")
        with suppress(PrunecliError, ToolError):
            runtime.parts["subagents"].subagents.original(number, 0)
    for text in ("/jobs", "/tree", "/status", "/cost", "/agents", "/rewind"):
        run_line(runtime, text)
    runtime.parts["jobs"].due()
    runtime.parts["jobs"].listed()
    for job in runtime.parts["jobs"].visible():
        job.last_lines()
        job.newest_lines()
        with suppress(PrunecliError, ToolError):
            await runtime.parts["jobs"].stop(job.number)
    for point in points_of(runtime)[:1]:
        with suppress(PrunecliError, ToolError):
            outlook_of(runtime, [point.seq])
            await rewind(runtime, point.seq, conversation=False, files=True)
    with suppress(PrunecliError, ToolError):
        await runtime.submit("go on")
    runtime.new_session()
    remove(path)


@pytest.mark.parametrize("batch", range(BATCHES))
async def test_no_name_in_a_session_leads_out_of_its_folders(
    tmp_path: Path, outside: Path, batch: int
) -> None:
    runtime = start(tmp_path, [says("Ok.")] * FILES * 9, trusted=bool(batch % 2))
    folder = runtime.store.new_path(runtime.setup.cwd, "x").parent
    (folder / "blobs").mkdir(parents=True)
    (folder / "blobs" / BLOB).symlink_to(outside / BLOB)
    kept = runtime.setup.places.jobs / JOB
    kept.mkdir(parents=True)
    for name in ("out.0.0", "pid", "end"):
        (kept / name).symlink_to(outside / name)
    for name in ("out.x", "out.1.2.3", "out.-1.0", f"out.{'9' * 50}.0"):
        (kept / name).write_text("x")
    words = names(outside, kept)
    chance = random.Random(batch)
    with WATCH.over(outside) as seen:
        for number in range(FILES // BATCHES):
            path = folder / f"20260101-000000-{number:06x}.jsonl"
            path.write_bytes(hostile(chance, words, runtime.setup.cwd))
            await used(runtime, path)
            assert not seen, (number, seen)
    await runtime.close()
    assert not (runtime.setup.cwd / "x").exists()


@pytest.mark.parametrize("pid", [b"", b"0", b"-1", b"1 2", b"x", b"9" * 20])
def test_a_pid_that_is_none_is_nobody(tmp_path: Path, pid: bytes) -> None:
    (tmp_path / "pid").write_bytes(pid)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "pid")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert KeptOutput(tmp_path).supervisor() == 0
        holder.kill()


@pytest.mark.parametrize("how", ["absolute", "relative", "link"])
async def test_the_id_of_a_job_in_a_log_reads_and_signals_nobody(
    tmp_path: Path, outside: Path, how: str
) -> None:
    """The notice of its end would send the last lines to the model, and a stop would signal the pid."""
    runtime = start(tmp_path, [says("Ok.")] * 2, trusted=False, sets=("permissions.mode=plan",))
    jobs, path = runtime.setup.places.jobs, runtime.store.new_path(runtime.setup.cwd, "s")
    for folder in (jobs / JOB, path.parent):
        folder.mkdir(parents=True)
    for name in ("out.0.0", "pid"):
        (jobs / JOB / name).symlink_to(outside / name)
    id_ = {"absolute": str(outside), "relative": f"../../../../../{outside.name}", "link": JOB}[how]
    assert (jobs / id_).exists()
    job = {"number": 1, "id": id_, "command": "make"}
    call = {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "make"}}
    done = {"tool_use_id": "c1", "tool_name": "bash", "is_error": False, "content": [], "duration_ms": 1}
    path.write_bytes(
        line(0, "SessionStarted", {"version": 1, "id": "s", "cwd": "/w", "model": "m", "requires": []})
        + line(1, "UserMessage", {"content": [{"type": "text", "text": "go"}], "origin": "prompt"})
        + line(
            2, "AssistantMessage", {"content": [call], "model": "m", "stop_reason": "tool_use", "usage": {}}
        )
        + line(3, "ToolResult", {**done, "details": {"job": job}})
    )
    runtime.open_session(path)
    with WATCH.over(outside) as seen:
        for shown in runtime.parts["jobs"].visible():
            await runtime.parts["jobs"].stop(shown.number)
        await runtime.submit("go on")
    assert not seen
    assert "secret" not in path.read_text()
    await runtime.close()
