"""The preamble of a session: its system prompt and tool schemas.

It is recorded once, before the first prompt, and never changes: a changed byte would break the prompt cache and all
thinking bound to it. Later changes are added to the next prompt as a note.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from prunecli.agent.instructions import Instructions
from prunecli.agent.system_prompt import PromptFacts, system_prompt
from prunecli.context.state import Context
from prunecli.model.codec import well_formed
from prunecli.model.events import SettingChanged
from prunecli.model.messages import Json
from prunecli.model.notes import CHANGED, DELETED, changes_told
from prunecli.model.requests import PREAMBLE, system_texts, tool_names
from prunecli.providers.models import ModelInfo
from prunecli.runtime.added_folders import fact
from prunecli.runtime.instruction_notices import as_known, files_in, known
from prunecli.runtime.offered_models import record_prices
from prunecli.runtime.parts import Parts
from prunecli.runtime.session_model import SessionModel
from prunecli.runtime.setup import ADDED, Setup
from prunecli.session.session import Session
from prunecli.tools.inputs import definition
from prunecli.tools.tool import Tool

_LINE = re.compile(r"^(Working directory|Platform|Context window): .*$", re.MULTILINE)
"""The facts in the first system text that may change. The date stays that of the session's start."""

_FILE = re.compile(r'<instructions file="([^"\n]*)">')

_REPLACES = f"{CHANGED} This replaces the corresponding part of the system prompt:"
_AS_BEFORE = f"{CHANGED} The system prompt applies again, without later changes."


def preamble(
    setup: Setup,
    tools: Iterable[Tool],
    begun: int,
    *,
    window: int,
    trusted: bool,
    task: tuple[str, str] | None = None,
    codes: bool = True,
) -> dict[str, Json]:
    """Return the current preamble, as the setting that records it. A folder's name can hold bytes that are not text.

    `window` is in tokens; `begun` is the start of the session in unix ms, which gives the date. `task` and
    `codes` have the same meaning as in `system_prompt`.
    """
    definitions = [definition(tool) for tool in tools]
    place = PromptFacts(
        setup.cwd,
        setup.platform,
        date.fromtimestamp(begun / 1000).isoformat(),
        window,
        any(tool["name"] == "prun" for tool in definitions),
        fact(setup),
    )
    found = Instructions(setup.cwd, setup.places.config, setup.places.home, trusted=trusted).at_start()
    texts = system_prompt(place, found, task, codes=codes)
    return {"system": list(map(well_formed, texts)), "tools": definitions}


def begin(
    session: Session,
    setup: Setup,
    tools: Iterable[Tool],
    model: SessionModel,
    info: ModelInfo,
    *,
    window: int,
    trusted: bool,
    parts: Parts,
) -> str:
    """Record the preamble of a session without one, a model named on the command line, and the prices of the model
    `info` that only the endpoint knows.

    `parts` add to the preamble. Returns a note to the model about changes since it was recorded, or "".
    """
    first = session.records[0].timestamp if session.records else setup.clock()
    now = preamble(setup, tools, first, window=window, trusted=trusted, codes=parts.codes)
    if recorded(session.context) is None:
        texts = *now["system"], *map(well_formed, (*parts.system_texts(), setup.append_prompt))
        session.emit(SettingChanged(PREAMBLE, {**now, "system": list(filter(None, texts))}))
    if setup.naming:
        session.emit(SettingChanged("session.name", setup.naming.pop()))
    if (added := list(map(str, setup.added.paths))) != (session.context.settings.get(ADDED) or []):
        session.emit(SettingChanged(ADDED, added))
    if name := model.unrecorded(session):
        session.emit(SettingChanged("model.name", name))
    record_prices(session, info)
    return change_note(session.context, now)


def recorded(context: Context) -> Mapping[str, Json] | None:
    """Return the recorded preamble of a session; None for a new or imported session."""
    value = context.settings.get(PREAMBLE)
    return value if isinstance(value, dict) and (value.get("system") or value.get("tools")) else None


def known_tools(context: Context, enabled: Mapping[str, Tool]) -> dict[str, Tool]:
    """Return the enabled tools that were enabled when the session started."""
    known = enabled if context.tool_names is None else context.tool_names
    return {name: tool for name, tool in enabled.items() if name in known}


def change_note(context: Context, now: Mapping[str, Json]) -> str:
    """Return the note to the model about differences between the current preamble and the recorded one.

    Return "" without differences, or if the note is already in the context.
    """
    kept = recorded(context)
    if kept is None:
        return ""
    told = changes_told([getattr(item.event, "content", ()) for item in context.items if item.kind == "user"])
    system = system_texts(kept)
    before = {**files_in(system), **files_in([told])}
    heard = as_known(known(context, system), now["system"], before)
    if _note(_differences(system, heard), told) == told:
        return ""
    note = _note(_differences(system, now["system"]), told)
    return "" if note == told else note


def _note(parts: Sequence[str], told: str) -> str:
    return "\n".join([_REPLACES, *parts]) if parts else _AS_BEFORE if told else ""


def _differences(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """Return the changed facts and instruction files. The agent's own text never changes within a session."""
    facts = {found[1]: found[0] for found in _LINE.finditer(before[0] if before else "")}
    lines = [one[0] for one in _LINE.finditer(now[0]) if facts.get(one[1], one[0]) != one[0]]
    files = [text for text in now[1:] if text not in before and _FILE.match(text)]
    gone = _names(before[1:]) - _names(now[1:])
    removed = [f'<instructions file="{name}">\n{DELETED}\n</instructions>' for name in sorted(gone)]
    return [*lines, *files, *removed]


def _names(texts: Iterable[str]) -> set[str]:
    return {match[1] for text in texts if (match := _FILE.match(text))}


def tool_changes(context: Context, enabled: Iterable[str]) -> list[str]:
    if recorded(context) is None:
        return []
    kept, enabled = tool_names(context.settings[PREAMBLE]), tuple(enabled)
    added = [name for name in enabled if name not in kept]
    gone = [name for name in kept if name not in enabled]
    return [
        f"{words} {', '.join(names)}{way}"
        for words, names, way in (
            ("Newly enabled, but not in this session:", added, ". /new to use it."),
            ("Disabled since this session began, so calls are refused:", gone, "."),
        )
        if names
    ]
