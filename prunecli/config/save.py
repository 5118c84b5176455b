"""Saves values: `--save` writes settings.toml.

Files are written next to their place and renamed, mode 0600. Files that the user wrote are never changed.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prunecli.config.declared import Key
from prunecli.config.effective import Config
from prunecli.config.files import parse_toml, read, reason
from prunecli.config.keys import dotted
from prunecli.config.layer import file_layer, text_value
from prunecli.config.schema import Schema
from prunecli.util.errors import ConfigError
from prunecli.util.file_systems import lock
from prunecli.util.lazy import lazy
from prunecli.util.paths import Places
from prunecli.util.private_file import make_private, write_private

if TYPE_CHECKING:
    import tomli_w
else:
    tomli_w = lazy("tomli_w")


def save(places: Places, config: Config, key: str, text: str) -> str:
    """Write one value to settings.toml. Returns a note if another source overrides it, or "".

    `key` and `text` are as for `Config.with_value`; the text "null" unsets a value that may be unset. Raises
    ConfigError for an invalid value, alone or with others, and for a file that cannot be written.
    """
    full, value = text_value(key, text, "", config.schema)
    place = places.shown(places.settings_file)
    after = config.saved(full, value, place)
    put(places, config.schema, full, value)
    found = after.found[full]
    if any(layer.kind == "settings" for layer in found.layers):
        return ""
    return f"but {found.layers[-1].where(full)} also sets {dotted(full)} and takes precedence"


def put(places: Places, schema: Schema, key: Key, value: Any) -> None:
    """Put a value or a table in settings.toml; None removes it. Raises ConfigError, and then nothing is written."""
    path, label = places.settings_file, places.settings_file.name
    with locked(places.config):
        written = read(path, label)
        table = {} if written is None else parse_toml(written, label, path)
        _put(table, key, value)
        text = tomli_w.dumps(table)
        file_layer("settings", text, label, path, places.shown(path), schema)
        write(path, text.encode())


def write(path: Path, data: bytes) -> None:
    """Write a private file; follows a link. Raises ConfigError."""
    try:
        write_private(Path(os.path.realpath(path)), data, sync=True)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {reason(error)}", "nothing was changed") from error


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the folder, so that two sessions do not overwrite each other's values. Creates it with mode 0700."""
    try:
        make_private(folder)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise ConfigError(
            f"cannot use {folder}: {reason(error)}", "the configuration is kept there"
        ) from error
    try:
        lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _put(table: dict[str, Any], key: Key, value: Any) -> None:
    """Set a value in nested tables, or remove it if it is None."""
    for name in key[:-1]:
        table = table.setdefault(name, {})
    if value is None:
        table.pop(key[-1], None)
    else:
        table[key[-1]] = list(value) if isinstance(value, tuple) else value
