"""/config: edit the user's configuration, then reload it."""

import os
from collections.abc import Sequence

from prunecli.commands.command import EditFile, Effect, refuse
from prunecli.config.sample import init
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Edit config.toml in $EDITOR, then reload it."""
    refuse("config", arguments.split())
    places = runtime.setup.places
    if not os.path.exists(places.config_file):
        init(places)
    return [EditFile(places.config_file, "reload")]
