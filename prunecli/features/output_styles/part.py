"""The output style of a new session: a text at the end of its system prompt, recorded with it."""

import re
from collections.abc import Sequence
from typing import Annotated

from prunecli.agent.front_matter import flag, read, text
from prunecli.agent.system_prompt import style_in, style_text
from prunecli.config.claude_plugins import usable
from prunecli.model.requests import system_texts
from prunecli.runtime.claude_settings import claude_settings
from prunecli.runtime.definition_folders import Found, Shelf, Shelved, folders
from prunecli.runtime.host import Host
from prunecli.runtime.parts import Part
from prunecli.runtime.preamble import recorded
from prunecli.safety.project_settings import down_to
from prunecli.util.by_project import ALLOWED
from prunecli.util.errors import ConfigError
from prunecli.util.frozen import frozen
from prunecli.util.sanitize import one_line

DEFAULT = "default"
_NAME = re.compile(r"[^\"\n<>]{1,64}")


@frozen
class Options:
    """Output styles: Markdown files in .claude/output-styles or .prunecli/output-styles of a project or of yours."""

    name: Annotated[
        str,
        "The style of new sessions (/output-style); empty: `outputStyle` of Claude Code's settings.",
        ALLOWED,
    ] = ""


@frozen
class Style:
    """A style. `codes`: the instructions for coding stay in the system prompt."""

    name: str
    description: str
    body: str
    codes: bool
    owner: str


def parse(found: Found) -> Style:
    """Return the style in a file. Raises a ConfigError that names the file and the key."""
    fields, body = read(found.path)
    where, name = one_line(str(found.path)), text(fields, "name") or found.path.stem
    if not _NAME.fullmatch(name) or not name.isprintable():
        raise ConfigError(f"{where}: name: invalid name {one_line(name)[:60]!r}")
    if not body:
        raise ConfigError(f"{where}: no text below the front matter")
    description = one_line(" ".join(text(fields, "description").split()))
    return Style(name, description, body, flag(fields, "keep-coding-instructions"), found.folder.owner)


class OutputStyles(Part):
    def __init__(self, host: Host, parent: "OutputStyles | None") -> None:
        super().__init__(host, parent)
        self._shelf = Shelf(parse)

    def _look(self) -> Shelved[Style]:
        setup = self.host.setup
        project = down_to(setup.cwd) if self.host.gatekeeper.trusted else ()
        plugins = usable(setup.places, self.host.config.plugins.disabled)
        where = setup.places.config, setup.places.home, plugins
        return self._shelf.look(folders("output-styles", project, *where))

    def styles(self) -> dict[str, Style]:
        """Return the styles by lowercase name. Reads folders."""
        found: dict[str, Style] = {}
        for style in self._look().definitions:
            found.setdefault(style.name.lower(), style)
        return found

    @property
    def wanted(self) -> str:
        """The name of the style that new sessions have, "" for none."""
        return self._named[0]

    @property
    def _named(self) -> tuple[str, str]:
        """The name of the style of new sessions, and where it is named."""
        name: str = self.host.config.section("output_style").name
        where, setup = "output_style.name", self.host.setup
        if not name:
            trusted = self.host.gatekeeper.trusted
            found = claude_settings("outputStyle", setup.cwd, setup.places.home, trusted=trusted)
            named = (
                (one.value, f"outputStyle in {one.label}") for one in found if isinstance(one.value, str)
            )
            name, where = next(named, ("", ""))
        return ("" if name.lower() == DEFAULT else name), where

    @property
    def current(self) -> str:
        """The name of the style of this session, which never changes within it."""
        preamble = recorded(self.host.session.context)
        return self.wanted if preamble is None else style_in(system_texts(preamble))

    @property
    def _style(self) -> Style | None:
        wanted = "" if self.host.who else self.wanted
        return self.styles().get(wanted.lower()) if wanted else None

    def opened(self, *, headless: bool) -> None:  # noqa: ARG002  # the base class's signature
        wanted, where = self._named
        if wanted and not self.host.who and self._style is None:
            known = ", ".join(one.name for one in self.styles().values()) or "there is none"
            self.host.notices.append(
                f"{where}: no style named {one_line(wanted)!r}, so none is used: {one_line(known)}"
            )

    def system_texts(self) -> Sequence[str]:
        style = self._style
        return (style_text(style.name, style.body),) if style else ()

    @property
    def codes(self) -> bool:
        style = self._style
        return style is None or style.codes

    def unusable(self) -> Sequence[str]:
        return () if self.host.who else self._look().problems

    def status_rows(self) -> Sequence[tuple[str, str]]:
        return (("output style", f"{one_line(self.current)} · /output-style"),) if self.current else ()
