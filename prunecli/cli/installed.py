"""What is installed, for the subcommands. A project's plugins bring none: nothing of it acts before it is trusted."""

import os
from functools import cache

from prunecli.plugins.app import Installed
from prunecli.util.paths import Places


def installed() -> Installed:
    return _of(Places.of(os.environ))


@cache
def _of(places: Places) -> Installed:
    from prunecli.config.plugins import (  # deferred: most starts have no subcommand
        installed_for,
        switched_off,
    )

    return installed_for(places, None, switched_off((places.config_file, places.settings_file)))
