"""What is installed for a directory: the features, the user's plugins, and the approved ones of the project."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import is_dataclass, replace
from inspect import iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prunecli.config.declared import declared
from prunecli.config.files import parse_toml, read
from prunecli.config.options import SECTIONS
from prunecli.plugins.app import Brought, Installed, PluginError
from prunecli.plugins.discovery import PROJECT_FOLDER, Found, of_project, of_user
from prunecli.plugins.installing import install
from prunecli.providers.registry import SHIPPED
from prunecli.safety.approvals import Approvals
from prunecli.safety.project_settings import down_to, leads_outside
from prunecli.tools.registry import ALIASES, own
from prunecli.util.errors import ConfigError
from prunecli.util.lazy import lazy
from prunecli.util.paths import PACKAGE, Places, names_in

if TYPE_CHECKING:
    from prunecli.tools import inputs
else:
    inputs = lazy("prunecli.tools.inputs")


def installed_for(
    places: Places, cwd: Path | None, disabled: frozenset[str] = frozenset(), *, trusted: bool = False
) -> Installed:
    """Return what is installed. The plugins of the project in `cwd` are there if it is trusted, and on if the user
    approved their exact content."""
    found = list(of_user(places))
    if cwd is not None and trusted:
        found += _of_project(cwd)
    waiting = frozenset(one for one in found if one.kind == "project" and not is_approved(places, one))
    return install(tuple(found), disabled, waiting, examined)


def waiting(places: Places, cwd: Path, disabled: Collection[str]) -> list[Found]:
    """Return the plugins of the project that wait for approval."""
    found = (one for one in _of_project(cwd) if one.name not in disabled)
    return [one for one in found if not is_approved(places, one)]


def _of_project(cwd: Path) -> Iterator[Found]:
    folders = [one for one in down_to(cwd) if not leads_outside(one / PROJECT_FOLDER, cwd)]
    return (one for one in of_project(folders, cwd) if not leads_outside(Path(one.target), cwd))


def is_approved(places: Places, found: Found) -> bool:
    """Return whether the user approved exactly this content. One that cannot be read is not."""
    approvals = Approvals(places.approvals_file)
    return bool(found.data) and approvals.has(Path(found.owner), "plugin", found.name, _definition(found))


def approve(places: Places, found: Found) -> None:
    """Store the approval of a plugin with this content. Raises ConfigError."""
    Approvals(places.approvals_file).approve(Path(found.owner), "plugin", found.name, _definition(found))


def revoke(places: Places, cwd: Path) -> list[str]:
    """Remove the approvals of the project's plugins, and return what they were of. Raises ConfigError."""
    approvals = Approvals(places.approvals_file)
    found = list(_of_project(cwd))
    return [one.source for one in found if approvals.revoke(Path(one.owner), "plugin", one.name)]


def _definition(found: Found) -> str:
    return found.data.decode("utf-8", "backslashreplace")


def switched_off(files: Sequence[Path], sets: Sequence[str] = ()) -> frozenset[str]:
    """Return `plugins.disabled`, read ahead of the configuration, because what is installed decides its valid keys.
    Errors are reported when the configuration is read."""
    off: Any = ()
    for path in files:
        try:
            text = read(path, path.name) or ""
            table = parse_toml(text, path.name, path) if "disabled" in text else {}
        except ConfigError:
            continue
        off = _disabled_in(table, off)
    for given in sets:
        if given.replace(" ", "").startswith("plugins.disabled="):
            try:
                off = _disabled_in(parse_toml(given, "--set", Path("--set")), off)
            except ConfigError:
                continue
    return frozenset(one for one in off if isinstance(one, str)) if isinstance(off, list) else frozenset()


def _disabled_in(table: Any, before: Any) -> Any:
    section = table.get("plugins")
    return section.get("disabled", before) if isinstance(section, dict) else before


# What a plugin brings ----------------------------------------------------------------------------------------


def examined(kind: str, one: Brought) -> Brought:
    """Return what a plugin brought, loaded if the start needs it.

    Raises PluginError if it is malformed or if its name is one of prunecli's; loading may raise anything.
    """
    if kind in ("part", "widget"):
        raise PluginError(f"app.{kind} is for features of prunecli, because nothing guards what it brings")
    if one.name in _ours(kind) or (kind == "options" and one.name.partition(".")[0] in SECTIONS):
        raise PluginError(f"the {kind} {one.name!r} is one of prunecli's")
    if kind == "tool":
        return _examined_tool(one)
    if kind == "options":
        options = one.load()
        if not (isinstance(options, type) and is_dataclass(options)):
            raise PluginError(f"the options {one.name!r} are not a class of options")
        if one.facts["check"] or one.facts["display"]:
            raise PluginError(
                f"the options {one.name!r} need no check and display; raise ValueError in __post_init__"
            )
        declared(options)
        options()  # each needs a default
        return replace(one, target=options)
    if not isinstance(one.target, str) and (wrong := _wrong(kind, one.target)):
        raise PluginError(f"the {kind} {one.name!r} {wrong}")
    return one


def _ours(kind: str) -> Sequence[str]:
    match kind:
        case "tool":
            return (*own(), *ALIASES)
        case "command":
            return [name.replace("_", "-") for name in names_in(PACKAGE / "commands", ".py")]
        case "subcommand":
            return names_in(PACKAGE / "cli", ".py")
        case "strategy":
            return ("auto", *names_in(PACKAGE / "context" / "strategies", ".py"))
        case "provider":
            return SHIPPED.names()
    return ()


def _wrong(kind: str, target: Any) -> str:
    """Return why an object cannot be of this kind, or ""."""
    match kind:
        case "command":
            return "" if callable(target) or callable(getattr(target, "run", None)) else "has no function run"
        case "strategy":
            return (
                ""
                if callable(target) or callable(getattr(target, "propose", None))
                else "has no function propose"
            )
        case "provider":
            needed = ("KEYS", "needs_key", "make", "check")
            return next((f"has no {name}" for name in needed if not hasattr(target, name)), "")
        case "sessions":
            needed = ("listed", "search", "check_some", "hand_over")
            return next((f"has no {name}" for name in needed if not hasattr(target, name)), "")
        case "moment" | "notices" | "status" | "check" | "importer":
            return "" if callable(target) else "is no function"
    return ""


def _examined_tool(one: Brought) -> Brought:
    tool = one.load()
    tool = tool() if isinstance(tool, type) else tool
    if tool.name != one.name:
        raise PluginError(f"the tool {one.name!r} is named {tool.name!r}")
    run, texts = getattr(tool, "run", None), (tool.description, tool.summary({}))
    if not iscoroutinefunction(run) or not all(isinstance(text, str) for text in texts):
        raise PluginError(
            f"the tool {one.name!r} needs a description, summary(given) and async run(given, context)"
        )
    if not isinstance(tool.parallel, bool):
        raise PluginError(f"the tool {one.name!r} needs parallel = True or False")
    inputs.definition(tool)
    return replace(one, target=tool)
