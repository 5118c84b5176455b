"""/add-dir: work in another folder too."""

from collections.abc import Sequence
from pathlib import Path

from prunecli.commands.command import Choice, Choose, Effect, Say, unquoted
from prunecli.runtime import Runtime
from prunecli.runtime.added_folders import folder_of, in_words
from prunecli.util.sanitize import one_line

_YES, _NO = "yes ", "no "


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Work in another folder too: /add-dir ../lib. Without one, list them."""
    setup, arguments = runtime.setup, unquoted(arguments)
    if not arguments:
        also = f"Also works in {in_words(setup)}. " if setup.added.paths else ""
        return [Say(f"{also}/add-dir DIR adds a folder.")]
    if arguments.startswith(f"{_NO}/"):
        return [Say(f"Not added: {one_line(arguments.removeprefix(_NO))}.")]
    agreed = arguments.startswith(f"{_YES}/")
    path = folder_of(arguments.removeprefix(_YES) if agreed else arguments, setup)
    if path in setup.added.paths:
        return [Say(f"Already works in {one_line(str(path))}.")]
    if agreed:
        setup.trust_store.trust(path)
    elif not setup.trust_store.may_act(path):
        return [_question(path)]
    runtime.folders.add(path)
    return [Say(f"Also works in {one_line(str(path))} now, with the same permissions.")]


def _question(path: Path) -> Choose:
    return Choose(
        "Trust this folder and work in it too?",
        "add-dir",
        (
            Choice(f"{_YES}{path}", "Yes", "Allows edits and commands there, as in the working directory"),
            Choice(f"{_NO}{path}", "No", "Stays outside"),
        ),
        grave=True,
        about=one_line(str(path)),
    )
