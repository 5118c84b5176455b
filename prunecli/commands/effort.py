"""/effort: set the model's effort."""

from collections.abc import Sequence

from prunecli.commands.command import Choice, Choose, Effect, Say, kept, refuse
from prunecli.model.events import SettingChanged
from prunecli.providers.optional_fields import EFFORT
from prunecli.runtime import Runtime
from prunecli.util.figures import short

DEFAULT = "default"


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Set the model's effort for this session: /effort high; --save keeps it."""
    words = arguments.split()
    level, *surplus = [word.lower() for word in words if word != "--save"] or [""]
    refuse("effort", surplus if level else words, "a level, with --save to keep it")
    choices = runtime.choices
    taken = choices.efforts
    if taken == ():
        return [Say(f"{runtime.model_name} has no effort setting.", "error" if level else "info")]
    if EFFORT in choices.refused:
        return [Say("This endpoint rejected the effort setting.", "error" if level else "info")]
    if not level:
        offered = (DEFAULT, *taken)
        current = choices.effort or DEFAULT
        return [
            Choose("Effort", "effort", tuple(Choice(one, one, current=one == current) for one in offered))
        ]
    if level not in (DEFAULT, *taken):
        return [Say(f"No effort level {level!r}: choose {', '.join(taken)} or {DEFAULT}.", "error")]
    before = choices.effort
    runtime.emit(SettingChanged("model.effort", level))
    said = f"Effort: {level}."
    if runtime.choices.effort != before and runtime.session.context.requests:
        tokens = short(runtime.session.context.counts.context_tokens)
        said += f" Earlier thinking stays valid; the next request caches ~{tokens} tokens again."
    if "--save" in words:
        said += f" {kept(runtime, 'model.effort', level)}"
    return [Say(said)]
