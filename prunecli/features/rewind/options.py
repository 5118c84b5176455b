"""What `[tools]` of the configuration has of this feature."""

from typing import Annotated

from prunecli.util.by_project import Refused
from prunecli.util.frozen import frozen


@frozen
class Tools:
    """The files of the workspace."""

    snapshots: Annotated[
        bool,
        "Save files before changes, for /rewind. Without git, only files that edit and write change.",
        Refused("it protects your files"),
    ] = True
