"""`[tools.web]` of the configuration."""

from typing import Annotated

from prunecli.tools.web.address import problem
from prunecli.util.by_project import Refused
from prunecli.util.frozen import frozen


@frozen
class Web:
    """What web_fetch may reach."""

    private: Annotated[
        tuple[str, ...],
        'Hosts on this machine or its network that web_fetch may reach, such as ["localhost:8000"]; without a port,'
        " all ports. Each host still needs approval.",
        Refused("it opens this machine's network to the model"),
    ] = ()

    def __post_init__(self) -> None:
        if wrong := next(filter(None, map(problem, self.private)), ""):
            raise ValueError(f"private: {wrong}")
