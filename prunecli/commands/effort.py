"""/effort: how hard the model tries."""

from collections.abc import Sequence

from prunecli.commands.command import Choice, Choose, Effect, Say
from prunecli.config.save import save
from prunecli.figures import short
from prunecli.model.events import SettingChanged
from prunecli.providers.optional_fields import EFFORT
from prunecli.runtime import Runtime

DEFAULT = "default"


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Choose the model's effort for this session: /effort high; --save keeps it."""
    words = arguments.split()
    level = next((word for word in words if not word.startswith("--")), "").lower()
    choices = runtime.choices
    taken = choices.efforts
    if taken == ():
        return [Say(f"{runtime.model_name} takes no effort.", "error" if level else "info")]
    if EFFORT in choices.refused:
        return [Say("This endpoint refused the effort setting.", "error" if level else "info")]
    if not level:
        offered = (DEFAULT, *taken)
        current = choices.effort or DEFAULT
        return [
            Choose("Effort", "effort", tuple(Choice(one, one, current=one == current) for one in offered))
        ]
    if level not in (DEFAULT, *taken):
        return [Say(f"{runtime.model_name} takes {', '.join(taken)} or {DEFAULT}, not {level!r}.", "error")]
    before = choices.effort
    runtime.emit(SettingChanged("model.effort", level))
    said = f"Effort: {level}."
    if runtime.choices.effort != before and runtime.session.context.requests:
        tokens = short(runtime.session.context.counts.context_tokens)
        said += (
            f" Earlier thinking stays valid; the next request caches its messages anew (~{tokens} tokens)."
        )
    if "--save" in words:
        note = save(runtime.setup.places, runtime.config, "model.effort", level)
        said += f" Saved{note and f'; {note}'}."
    return [Say(said)]
