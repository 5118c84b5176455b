"""ask: ask the user a question with a few answers to choose from, or to answer in their own words."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from prunecli.model.messages import Json
from prunecli.model.requests import ASK
from prunecli.model.touches import Touches
from prunecli.tools.asking import Inquiry, Option
from prunecli.tools.tool import ToolContext, ToolOutput, in_one_line, text_output
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen

LEAST, MOST = 2, 4
MOST_CHARS = 4_000
DECLINED = "The user declined to answer."
NOBODY = "No one is available to answer."


@frozen
class AskInput:
    question: str
    options: Annotated[tuple[Option, ...], "2-4"]
    multiple: bool = False
    default: Annotated[str | None, "label, if nobody is there"] = None


class Ask:
    """The call. It touches nothing, so it needs no permission and is possible in plan mode."""

    name: ClassVar[str] = ASK
    description: ClassVar[str] = (
        "Ask the user what you cannot find out and should not guess; free text is possible. One question a "
        "call, best option first."
    )
    parallel: ClassVar[bool] = True
    Input: ClassVar[type] = AskInput

    def summary(self, given: Mapping[str, Json]) -> str:
        return in_one_line(given.get("question"))

    def touches(self, _: object) -> Touches:
        return Touches()

    async def run(self, given: AskInput, context: ToolContext) -> ToolOutput:
        labels = _labels(given)
        default = -1
        if given.default is not None:
            default = next((at for at, one in enumerate(labels) if one == given.default.strip()), -1)
            if default < 0:
                raise ToolError(f"default is one of the labels: {', '.join(labels)}.")
        inquiry = Inquiry(given.question.strip(), given.options, given.multiple, max(0, default))
        reply = await context.ask(inquiry) if context.ask else None
        if reply is None and default < 0:
            return text_output(f"{NOBODY} Decide yourself, or end with the question.", {"answer": "nobody"})
        if reply is None:
            return text_output(
                f"{NOBODY} Your default applies: {labels[default]}", {"answer": labels[default]}
            )
        chosen = ", ".join(labels[at] for at in reply.chosen)
        lines = [f"The user chose: {chosen}"] if chosen else []
        lines += [f"The user {'added' if chosen else 'answered'}: {reply.words}"] if reply.words else []
        answer = " · ".join(filter(None, [chosen, reply.words])) or "declined"
        return text_output("\n".join(lines) or DECLINED, {"answer": answer})


def _labels(given: AskInput) -> list[str]:
    """Return the labels of a question. Raises ToolError if it cannot be asked."""
    labels = [option.label.strip() for option in given.options]
    if not given.question.strip():
        raise ToolError("question is empty.")
    if not LEAST <= len(labels) <= MOST:
        raise ToolError(f"options: give {LEAST} to {MOST}, not {len(labels)}.")
    if not all(labels) or len(set(labels)) < len(labels):
        raise ToolError("options: each needs a different label.")
    size = len(given.question) + sum(len(one.label) + len(one.description) for one in given.options)
    if size > MOST_CHARS:
        raise ToolError(f"The question and its options have {size:,} characters; at most {MOST_CHARS:,}.")
    return labels
