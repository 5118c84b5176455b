"""Writes the manual page and the completion scripts from the program's own tables: `python -m distribution.make`."""

from pathlib import Path

from typer.completion import get_completion_script  # type: ignore[attr-defined]  # not in its __all__

from prunecli import __version__
from prunecli.cli.app import EXAMPLES
from prunecli.cli.flags import FLAGS, commands

SHARE = Path(__file__).parent / "share"
PLACES = {
    "bash": "bash-completion/completions/prunecli",
    "zsh": "zsh/site-functions/_prunecli",
    "fish": "fish/vendor_completions.d/prunecli.fish",
}
_TAIL = {"zsh": '\n_prunecli_completion "$@"'}
"""zsh loads the file at the first Tab, which would otherwise only define the function."""


def files() -> dict[str, str]:
    """Return the text of each file, by its path below `share`."""
    made = {"man/man1/prunecli.1": manual()}
    for shell, place in PLACES.items():
        script = get_completion_script(prog_name="prunecli", complete_var="_PRUNECLI_COMPLETE", shell=shell)
        made[place] = script.strip().replace(" $1 ", " prunecli ") + _TAIL.get(shell, "") + "\n"
    return made


def manual() -> str:
    """Return the manual page in the man macros of roff."""
    lines = [
        f'.TH PRUNECLI 1 "" "prunecli {__version__}" "User Commands"',
        ".SH NAME",
        r"prunecli \- coding agent for the terminal whose context you can see, prune and restore",
        ".SH SYNOPSIS",
        ".B prunecli",
        r"[\fIOPTIONS\fR] [\fIPROMPT\fR]",
        ".br",
        ".B prunecli",
        r"\fICOMMAND\fR [\fIARGS\fR...]",
        ".SH EXAMPLES",
    ]
    for line, what in EXAMPLES:
        lines += [".TP", rf"\fB{_roff(line)}\fR", _roff(what[:1].upper() + what[1:] + ".")]
    lines.append(".SH COMMANDS")
    for name, what in commands().items():
        lines += [".TP", rf"\fB{_roff(name)}\fR", _roff(what)]
    lines.append(".SH OPTIONS")
    for flag in FLAGS:
        value = rf" \fI{_roff('|'.join(flag.choices) or flag.value)}\fR" if flag.value else ""
        names = ", ".join(rf"\fB{_roff(name)}\fR" for name in flag.names)
        lines += [".TP", names + value, _roff(flag.help.replace("{others}", ", or @claude, @codex ..."))]
    lines += [
        ".SH EXIT STATUS",
        "0: finished. 1: the model or the network failed. 2: wrong usage or configuration. 3: stopped by a limit or",
        "a refusal, or the answer was cut off. 4: the session file cannot be used, or the machine fails.",
        "70: an internal error.",
        ".SH FILES",
        ".TP",
        r"\fI~/.config/prunecli/config.toml\fR",
        r"The configuration; \fBprunecli config init\fR writes a commented sample.",
        ".TP",
        r"\fI~/.local/share/prunecli/sessions\fR",
        "The sessions.",
    ]
    return "\n".join(lines) + "\n"


def _roff(text: str) -> str:
    """Escape a text: backslashes, hyphens that must stay hyphens, and a leading dot or quote."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text


if __name__ == "__main__":
    for place, text in files().items():
        file = SHARE / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
