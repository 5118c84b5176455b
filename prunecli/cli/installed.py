"""What is installed, for the subcommands: a project's plugins are left out, since subcommands ask for no trust."""

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.plugins.app import Installed
from prunecli.plugins.discovery import of_user
from prunecli.plugins.features import features
from prunecli.util.lazy import lazy
from prunecli.util.paths import Places
from prunecli.util.regular import read_regular

if TYPE_CHECKING:
    from prunecli.config import plugins
else:
    plugins = lazy("prunecli.config.plugins")


def installed() -> Installed:
    return _of(Places.of(os.environ))


@cache
def _of(places: Places) -> Installed:
    files = places.config_file, places.settings_file
    if not any(of_user(places)) and not any(map(_may_switch_off, files)):
        return features()

    return plugins.installed_for(places, None, plugins.switched_off(files))


def _may_switch_off(path: Path) -> bool:
    try:
        return b"disabled" in read_regular(path)
    except OSError:
        return False
