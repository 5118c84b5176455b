"""Whether a project's configuration file may set an option, declared in the annotation of each option.

Such a file may come from someone else. So an option that declares nothing is refused, and none is allowed that names
an address, an endpoint, a provider, a program, a folder outside, code, a confirmation or an expense.
"""

from typing import TypeAlias

from prunecli.util.frozen import frozen


@frozen
class Allowed:
    """A project may set the option."""


@frozen
class Refused:
    """A project may not set the option; `why` completes "not allowed in a project file: "."""

    why: str


ByProject: TypeAlias = Allowed | Refused

ALLOWED = Allowed()
