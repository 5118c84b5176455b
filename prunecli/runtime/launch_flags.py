"""Command-line options for a new session: its folders, its system prompt and its id."""

from pathlib import Path

from prunecli.model.requests import system_texts
from prunecli.runtime.added_folders import real_folder
from prunecli.runtime.preamble import recorded
from prunecli.runtime.runtime import Runtime
from prunecli.runtime.setup import Setup
from prunecli.safety.trust import TrustStore
from prunecli.session.session import Session
from prunecli.session.store import Store
from prunecli.util.errors import UsageError
from prunecli.util.launch_options import Launch

NO_EFFECT = "--append-system-prompt has no effect here: a resumed session keeps its system prompt."
_MOST_BYTES = 1_000_000


def folders(
    asked: Launch, store: TrustStore, cwd: Path, home: Path
) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Return the folders of `--add-dir`, and those that are untrusted and need approval. Raises UsageError."""
    try:
        found = tuple(dict.fromkeys(real_folder(text, cwd, home) for text in asked.add_dirs))
    except UsageError as error:
        raise UsageError(f"--add-dir: {error.message}", error.hint) from None
    trusted = tuple(path for path in found if asked.trust or store.may_act(path))
    waiting = tuple(path for path in found if path not in trusted)
    if waiting and asked.headless:
        raise UsageError(
            f"--add-dir: {waiting[0]} is not trusted", "run `prunecli trust DIR`, or use --trust for this run"
        )
    return trusted, waiting


def appended(asked: Launch) -> str:
    """Return the text of `--append-system-prompt` or its file. Raises UsageError."""
    if asked.append_prompt_file is None:
        return asked.append_prompt
    name, path = "--append-system-prompt-file", asked.append_prompt_file
    text = file_text(name, path if asked.cwd is None else asked.cwd / path)
    if not text.strip():
        raise UsageError(f"{name}: {path} is empty", "add the text to it")
    return text


def file_text(flag: str, path: Path) -> str:
    """Read a text file given to a flag. Raises UsageError."""
    try:
        with path.expanduser().open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise UsageError(f"{flag}: {path} is larger than {_MOST_BYTES:,} bytes", "use a smaller file")
        return data.decode()
    except OSError as error:
        raise UsageError(f"{flag}: {path}: {error.strerror}", "name a readable file") from None
    except (UnicodeDecodeError, RuntimeError, ValueError):
        raise UsageError(f"{flag}: {path} is not UTF-8 text", "name a text file") from None


def watch_prompt(runtime: Runtime) -> None:
    """Add a notice if an opened session's recorded system prompt lacks the appended text."""

    def opened(session: Session, setup: Setup = runtime.setup) -> None:
        kept = recorded(session.context)
        if kept and setup.append_prompt not in system_texts(kept):
            session.notices.append(NO_EFFECT)

    if runtime.setup.append_prompt:
        runtime.on_session.append(opened)


def check_id(asked: Launch, store: Store) -> None:
    if asked.session_id and not store.is_free(asked.session_id):
        raise UsageError(
            f"--session-id: session {asked.session_id} already exists",
            f"-r {asked.session_id} continues it; --fork copies it under another id",
        )
