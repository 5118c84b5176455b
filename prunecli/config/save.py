"""Keeping a value: `--save` writes settings.toml, `config init` writes a first config.toml.

Files of the user are written whole beside their place and renamed, mode 0600; what a person wrote is never touched.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prunecli.config.declared import Key
from prunecli.config.effective import Config
from prunecli.config.files import parse_toml, read, reason
from prunecli.config.keys import dotted
from prunecli.config.layer import text_value
from prunecli.config.schema import Schema
from prunecli.errors import ConfigError
from prunecli.paths import Places


def save(places: Places, config: Config, key: str, text: str) -> str:
    """Writes one value to settings.toml. Answers with a note on what sets the key too and counts more, or "".

    `key` and `text` are as for `Config.with_value`; the text "null" takes a value out that can be unset. Raises
    ConfigError for a value that does not fit, alone or with the others, and for a file that can't be written.
    """
    full, value = text_value(key, text, "", Schema(config.strategies, config.providers))
    place = places.shown(places.settings_file)
    after = config.saved(full, value, place)
    with _locked(places.config):
        label = places.settings_file.name
        written = read(places.settings_file, label)
        table = {} if written is None else parse_toml(written, label, places.settings_file)
        _put(table, full, value)
        import tomli_w  # only here: a start does not need it

        write_private(places.settings_file, tomli_w.dumps(table).encode())
    found = after.found[full]
    if any(layer.kind == "settings" for layer in found.layers):
        return ""
    return f"here {found.layers[-1].where(full)} sets {dotted(full)} too, and counts more"


def init(places: Places) -> Path:
    """Writes the sample as the user's config.toml. Raises ConfigError where there is one already."""
    target = places.config_file
    if os.path.lexists(target):
        raise ConfigError(f"{places.shown(target)}: is there already", "prunecli config path names all files")
    try:
        sample = places.sample_config.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"{places.sample_config}: can't be read: {reason(error)}", "install again"
        ) from error
    with _locked(places.config):
        write_private(target, sample)
    return target


def write_private(path: Path, data: bytes) -> None:
    """Writes a file of mode 0600 whole or not at all; a link stays a link. Raises ConfigError."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        descriptor = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ConfigError(f"{path}: can't be written: {reason(error)}", "nothing was changed") from error


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One writer at a time, so that of two sessions which save none undoes the other. Makes the folder, mode 0700."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise ConfigError(
            f"{folder}: can't be used: {reason(error)}", "it holds the configuration"
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _put(table: dict[str, Any], key: Key, value: Any) -> None:
    """Sets a value in nested tables, or takes it out where it is None."""
    for name in key[:-1]:
        table = table.setdefault(name, {})
    if value is None:
        table.pop(key[-1], None)
    else:
        table[key[-1]] = list(value) if isinstance(value, tuple) else value
