"""/output-style: choose the style of new sessions."""

from collections.abc import Sequence

from prunecli.commands.command import Choice, Choose, Effect, Say, kept
from prunecli.features.output_styles.part import DEFAULT, OutputStyles
from prunecli.runtime import Runtime
from prunecli.runtime.preamble import recorded

NONE = "No output styles. They are Markdown files in .claude/output-styles, or in ~/.claude/output-styles."


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Choose the output style of new sessions; --save keeps it."""
    part, words = runtime.parts.of(OutputStyles), arguments.split()
    keep = words[-1:] == ["--save"]
    wanted = " ".join(words[:-1] if keep else words)
    styles = part.styles()
    if not wanted:
        if not styles:
            return [Say(NONE)]
        current = part.wanted.lower() or DEFAULT
        rows = [(DEFAULT, "prunecli's own"), *((one.name, one.description) for one in styles.values())]
        return [
            Choose(
                "Output style of new sessions",
                "output-style",
                tuple(Choice(name, name, about, current=name.lower() == current) for name, about in rows),
            )
        ]
    if wanted.lower() != DEFAULT and wanted.lower() not in styles:
        known = ", ".join(one.name for one in styles.values())
        return [
            Say(f"No output style named {wanted!r}{f': choose {known}' if known else f'. {NONE}'}", "error")
        ]
    name = DEFAULT if wanted.lower() == DEFAULT else styles[wanted.lower()].name
    runtime.use_config(runtime.config.with_value("output_style.name", name))
    when = (
        ""
        if recorded(runtime.session.context) is None
        else " It takes effect with /new; this session keeps its own."
    )
    if not keep:
        return [Say(f"Output style: {name}.{when} /output-style {wanted} --save keeps it.")]
    return [Say(f"Output style: {name}. {kept(runtime, 'output_style.name', name)}{when}")]
