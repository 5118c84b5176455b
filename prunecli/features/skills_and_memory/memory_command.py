"""/memory: the instruction files in effect; `# text` at the prompt adds a line to one."""

from collections.abc import Sequence
from pathlib import Path

from prunecli.agent.instructions import Instructions
from prunecli.agent.system_prompt import as_text
from prunecli.commands.command import Choice, Choose, EditFile, Effect, Say, Table
from prunecli.features.skills_and_memory.extensions import Extensions
from prunecli.features.skills_and_memory.memories import Scope, bullet
from prunecli.features.skills_and_memory.nested_instructions import TITLE
from prunecli.model.events import UserMessage
from prunecli.model.notes import notice_parts
from prunecli.runtime import Runtime
from prunecli.safety.project_settings import refused_links
from prunecli.util.errors import UsageError
from prunecli.util.figures import short
from prunecli.util.sanitize import one_line, visible

_LABELS: dict[Scope, str] = {"project": "Project", "user": "User, for all projects"}
_HELP = "# TEXT at the prompt adds a line; /memory edit user or project opens $EDITOR"


def words(runtime: Runtime, before: str) -> Sequence[tuple[str, str]]:
    memories = runtime.parts.of(Extensions).memories
    if before == "edit":
        return [(scope, _shown(runtime, memories.path(scope))) for scope in memories.scopes()]
    return () if before else (("edit", "change a file in $EDITOR"),)


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """List the instruction files, edit one (edit user|project), or add a line (add TEXT)."""
    deed, _, rest = arguments.partition(" ")
    match deed:
        case "":
            return _listed(runtime)
        case "add":
            return _asked(runtime, rest.strip())
        case "save":
            return _saved(runtime, rest)
        case "keep":
            return [Say("Not saved.")]
        case "edit":
            scope = _scope(runtime, rest)
            return [EditFile(runtime.parts.of(Extensions).memories.open(scope), f"memory edited {scope}")]
        case "edited":
            return [Say(runtime.parts.of(Extensions).memories.edited(_scope(runtime, rest)))]
        case _:
            raise UsageError(f"/memory {deed}: unknown argument", _HELP)


def _asked(runtime: Runtime, text: str) -> Sequence[Effect]:
    line, memories = bullet(text), runtime.parts.of(Extensions).memories
    choices = [
        Choice(f"save {scope} {text}", _LABELS[scope], _shown(runtime, memories.path(scope)))
        for scope in memories.scopes()
    ]
    last = Choice("keep", "Don't save")
    return [Choose("Add this line to which file?", "memory", (*choices, last), grave=True, about=f"+ {line}")]


def _saved(runtime: Runtime, rest: str) -> Sequence[Effect]:
    scope, _, text = rest.partition(" ")
    path = runtime.parts.of(Extensions).memories.add(_scope(runtime, scope), text)
    return [Say(f"Added to {_shown(runtime, path)}: {one_line(bullet(text))}")]


def _scope(runtime: Runtime, word: str) -> Scope:
    """Return the file that a word names, or else the first file that may be changed."""
    scopes: tuple[Scope, ...] = ("project", "user")
    scope = next((scope for scope in scopes if scope == word.strip()), None)
    if scope is None and word.strip():
        raise UsageError(f"no file named {word.strip()!r}", "/memory edit user or /memory edit project")
    return scope or runtime.parts.of(Extensions).memories.scopes()[0]


def _listed(runtime: Runtime) -> Sequence[Effect]:
    setup, context = runtime.setup, runtime.session.context
    trusted = runtime.gatekeeper.trusted
    reader = Instructions(setup.cwd, setup.places.config, setup.places.home, trusted=trusted)
    found = reader.at_start()
    lost = [*(refused_links(setup.cwd) if trusted else ()), *map(visible, reader.missed)]
    said: list[Effect] = [Say("\n".join(lost), "warning")] if lost else []
    rows = [_row(runtime, _shown(runtime, path), as_text(path, text)) for path, text in found]
    for item in context.items:
        parts = notice_parts(item.event) if isinstance(item.event, UserMessage) else None
        if parts and parts[0].startswith(TITLE):
            name = parts[0].removeprefix(TITLE)
            slash = "" if name.endswith(".md") else "/"
            rows.append(_row(runtime, f"{name}{slash} (used here)", parts[1]))
    if not rows:
        more = "" if trusted else " This directory is read-only, so its files are not used."
        return [*said, Say(f"No instruction files.{more} {_HELP}.")]
    headings = ("file", "lines", "size", "tokens")
    return [*said, Table("Instructions", headings, tuple(rows), (1, 2, 3), _HELP)]


def _row(runtime: Runtime, name: str, text: str) -> tuple[str, ...]:
    counts = runtime.session.context.counts
    size = len("".join(text.splitlines(keepends=True)[1:-1]).encode("utf-8", "replace"))
    tokens = counts.scale.tokens(counts.counter.count(text))
    return name, f"{text.count(chr(10)) - 1:,}", f"{short(size)}B", f"~{short(tokens)}"


def _shown(runtime: Runtime, path: Path) -> str:
    cwd = runtime.setup.cwd
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else runtime.setup.places.shown(path)
