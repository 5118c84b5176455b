"""What is installed, for the subcommands. A project's plugins bring none: nothing of it acts before it is trusted."""

import os
from functools import cache
from typing import TYPE_CHECKING

from prunecli.plugins.app import Installed
from prunecli.util.lazy import lazy
from prunecli.util.paths import Places

if TYPE_CHECKING:
    from prunecli.config import plugins
else:
    plugins = lazy("prunecli.config.plugins")


def installed() -> Installed:
    return _of(Places.of(os.environ))


@cache
def _of(places: Places) -> Installed:
    return plugins.installed_for(
        places, None, plugins.switched_off((places.config_file, places.settings_file))
    )
