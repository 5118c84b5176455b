"""Unpacks the package when it runs from a zip application: it reads data and starts helpers as files."""

import atexit
import os
import shutil
import sys
from zipfile import ZipFile
from zipimport import zipimporter

import prunecli
from prunecli.util.private_file import make_temporary


def unpack() -> None:
    """Import the rest of the package from a folder that is removed at exit. Raises OSError."""
    loader = prunecli.__loader__
    if not isinstance(loader, zipimporter):
        return
    folder = make_temporary("prunecli-zip-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    inside = f"{loader.prefix}prunecli/"
    with ZipFile(loader.archive) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.startswith(inside)])
    for name, module in tuple(sys.modules.items()):
        if name.partition(".")[0] == "prunecli" and hasattr(module, "__path__"):
            module.__path__[:] = [os.path.join(folder, loader.prefix, *name.split("."))]
