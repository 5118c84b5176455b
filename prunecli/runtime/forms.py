"""Forms: questions of a plugin or server with several fields, and how a front end answers them.

A front end sets `Host.fill_form`; without one, forms are declined.
"""

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Literal, NoReturn, TypeAlias

from prunecli.model.messages import Json
from prunecli.util.frozen import frozen

Kind: TypeAlias = Literal["text", "number", "integer", "boolean", "choice", "choices"]


@frozen
class Field:
    """One value that the user gives. `choices` are values and labels; `default` is None if there is none."""

    name: str
    title: str
    kind: Kind = "text"
    about: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    required: bool = False
    default: Json = None
    least: float | None = None
    most: float | None = None

    def value(self, text: str) -> Json:
        """Return the value of a typed text. Raises a ValueError that names what is expected."""
        text = text.strip()
        match self.kind:
            case "text":
                self._bound(len(text), "characters")
                return text
            case "number" | "integer":
                number = _number(text, whole=self.kind == "integer")
                self._bound(number, "")
                return number
            case "boolean":
                if text.lower() not in ("y", "yes", "true", "n", "no", "false"):
                    raise ValueError("expected yes or no")
                return text.lower() in ("y", "yes", "true")
            case "choice":
                return self._chosen(text)
            case "choices":
                return [self._chosen(part.strip()) for part in text.split(",") if part.strip()]

    def checked(self, value: Json) -> Json:
        """Return a value given by another program, after checking it. Raises a ValueError that names what is
        expected."""
        match self.kind:
            case "boolean" if not isinstance(value, bool):
                raise ValueError("expected true or false")
            case "number" | "integer":
                whole = self.kind == "integer"
                if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
                    raise ValueError(f"expected a {'whole ' if whole else ''}number")
                self._bound(finite(value), "")
            case "text" | "choice":
                return self.value(value if isinstance(value, str) else _not_a("text"))
            case "choices":
                listed = value if isinstance(value, list) else _not_a("list")
                return [self._chosen(one if isinstance(one, str) else _not_a("text")) for one in listed]
        return value

    def _bound(self, number: float, unit: str) -> None:
        if (self.least is not None and number < self.least) or (self.most is not None and number > self.most):
            low, high = self.least, self.most
            bounds = [
                f"at least {low:g}" if low is not None else "",
                f"at most {high:g}" if high is not None else "",
            ]
            raise ValueError(f"expected {' and '.join(filter(None, bounds))} {unit}".strip())

    def _chosen(self, text: str) -> str:
        for value, label in self.choices:
            if text in (value, label):
                return value
        raise ValueError(f"expected one of {', '.join(label for _, label in self.choices)}"[:200])


@frozen
class Elicitation:
    """A question of `server`. Either `fields`, or a `url` to open; with neither, the user only agrees."""

    server: str
    message: str
    fields: tuple[Field, ...] = ()
    url: str = ""


@frozen
class Reply:
    """The user's answer; it has `values` only if accepted."""

    action: Literal["accept", "decline", "cancel"]
    values: Mapping[str, Json] = field(default_factory=dict)


Elicit: TypeAlias = Callable[[Elicitation], Awaitable[Reply]]


def _number(text: str, *, whole: bool) -> int | float:
    try:
        number = int(text) if whole else float(text)
        finite(number)
    except ValueError:
        raise ValueError(f"expected a {'whole ' if whole else ''}number") from None
    return number


def finite(number: float) -> float:
    """Return the number if it is finite and not too large. Raises ValueError."""
    try:
        found = float(number)
    except OverflowError:
        raise ValueError("expected a smaller number") from None
    if not math.isfinite(found):
        raise ValueError("expected a finite number")
    return found


def _not_a(kind: str) -> NoReturn:
    raise ValueError(f"expected a {kind}")
