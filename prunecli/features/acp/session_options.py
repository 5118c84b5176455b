"""The options of a session: mode, model and effort."""

from collections.abc import Sequence
from typing import TypeAlias

from acp.schema import (
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
)

from prunecli.commands.command import Choose, Say, run_line
from prunecli.commands.model import known
from prunecli.runtime import Runtime
from prunecli.safety.permissions.verdict import MODES, Mode
from prunecli.util.errors import UsageError
from prunecli.util.sanitize import one_line

Options: TypeAlias = list[SessionConfigOptionSelect | SessionConfigOptionBoolean]

_MODES: dict[Mode, tuple[str, str]] = {
    "ask": ("Ask", "Asks before changing files or running commands"),
    "edits": ("Edits", "Edits files without asking; asks before running commands"),
    "plan": ("Plan", "Reads only, then proposes a plan"),
    "auto": ("Auto", "Runs everything except what deny rules block"),
}
_COMMANDS = (("model", "Model", "model"), ("effort", "Effort", "thought_level"))


def modes(runtime: Runtime) -> SessionModeState:
    listed = [SessionMode(id=mode, name=_MODES[mode][0], description=_MODES[mode][1]) for mode in MODES]
    return SessionModeState(current_mode_id=runtime.gatekeeper.mode, available_modes=listed)


def config_options(runtime: Runtime) -> Options:
    """Return all options. Editors that support options ignore `modes`, so this includes the mode."""
    found: Options = [
        _select("mode", "Mode", "mode", [(mode, *_MODES[mode]) for mode in MODES], runtime.gatekeeper.mode)
    ]
    for command, label, category in _COMMANDS:
        if values := _values(runtime, command):
            found.append(_select(command, label, category, values, _current(runtime, command)))
    return found


def choose(runtime: Runtime, option: str, value: str) -> Sequence[Say]:
    """Set an option and return a notice. Raises UsageError for a value that is not offered."""
    if option == "mode":
        set_mode(runtime, value)
        return []
    commands = [command for command, _, _ in _COMMANDS]
    if option not in commands:
        raise UsageError(f"unknown option {one_line(option)!r}", f"options: mode, {', '.join(commands)}")
    offered = [one for one, _, _ in _values(runtime, option)]
    if value not in offered:
        raise UsageError(f"no {option} {one_line(value)!r}", f"choose one of {', '.join(offered) or 'none'}")
    return [effect for effect in run_line(runtime, f"/{option} {value}") if isinstance(effect, Say)]


def set_mode(runtime: Runtime, mode: str) -> None:
    """Change the mode. Raises UsageError."""
    chosen = next((one for one in MODES if one == mode), None)
    if chosen is None:
        raise UsageError(f"unknown mode {one_line(mode)!r}", f"choose one of {', '.join(MODES)}")
    runtime.gatekeeper.mode = chosen


def _current(runtime: Runtime, command: str) -> str:
    return runtime.model_name if command == "model" else runtime.choices.effort or "default"


def _values(runtime: Runtime, command: str) -> list[tuple[str, str, str]]:
    effects = [known(runtime)] if command == "model" else run_line(runtime, f"/{command}")
    offers = [effect for effect in effects if isinstance(effect, Choose)]
    listed = offers[0].choices if offers else ()
    values = [(one.value, one.label, one.detail) for one in listed if not one.value.startswith("--")]
    current = _current(runtime, command)
    if command == "model" and current not in [value for value, _, _ in values]:
        values.insert(0, (current, current, ""))
    return values


def _select(
    id_: str, name: str, category: str, values: Sequence[tuple[str, str, str]], current: str
) -> SessionConfigOptionSelect:
    options = [
        SessionConfigSelectOption(value=value, name=one_line(label), description=one_line(detail) or None)
        for value, label, detail in values
    ]
    return SessionConfigOptionSelect.model_validate(
        {
            "type": "select",
            "id": id_,
            "name": name,
            "category": category,
            "current_value": current,
            "options": options,
        }
    )
