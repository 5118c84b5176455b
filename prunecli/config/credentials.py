"""Which credential goes to the endpoint: from the environment or the key file, never from TOML, never logged."""

import stat
from collections.abc import Mapping
from dataclasses import dataclass, field

from prunecli.config.files import read_bytes, reason
from prunecli.config.save import write_private
from prunecli.errors import ConfigError
from prunecli.paths import Places

MAX_KEY_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Credentials:
    """At most one of key and token, kept out of `repr`; `source` says where it came from, or that there is none."""

    api_key: str | None = field(default=None, repr=False)
    auth_token: str | None = field(default=None, repr=False)
    source: str = "none"

    def __bool__(self) -> bool:
        return bool(self.api_key or self.auth_token)


def credentials(environ: Mapping[str, str], places: Places) -> Credentials:
    """ANTHROPIC_AUTH_TOKEN, else ANTHROPIC_API_KEY, else the key file.

    Only one is sent: a gateway that is reached with a token has no business with the key of the account. Raises
    ConfigError for a key file that others can read, and for what can't be a key; the message never quotes it.
    """
    if token := environ.get("ANTHROPIC_AUTH_TOKEN", "").strip():
        return Credentials(auth_token=_checked(token, "ANTHROPIC_AUTH_TOKEN"), source="ANTHROPIC_AUTH_TOKEN")
    if key := environ.get("ANTHROPIC_API_KEY", "").strip():
        return Credentials(api_key=_checked(key, "ANTHROPIC_API_KEY"), source="ANTHROPIC_API_KEY")
    if kept := _read(places):
        return Credentials(api_key=kept, source=places.shown(places.key_file))
    return Credentials()


def save_key(places: Places, key: str) -> None:
    """Writes the key file, mode 0600 (`prunecli login`). Raises ConfigError."""
    checked = _checked(key.strip(), "the key")
    try:
        places.config.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{places.config}: can't be made: {reason(error)}") from error
    write_private(places.key_file, checked.encode() + b"\n")


def _read(places: Places) -> str | None:
    name, anew = places.shown(places.key_file), "prunecli login writes it anew"
    found = read_bytes(places.key_file, name, MAX_KEY_BYTES + 2, anew)
    if found is None:
        return None
    data, mode = found
    if mode & 0o077:
        raise ConfigError(
            f"{name}: its mode is {stat.S_IMODE(mode):04o}, others can read the key", f"chmod 600 {name}"
        )
    try:
        return _checked(data.decode("ascii").strip(), name)
    except UnicodeDecodeError:
        raise ConfigError(f"{name}: holds no key", anew) from None


def _checked(key: str, source: str) -> str:
    """The key, if it can stand in a header: printable ASCII in one word."""
    if not key or len(key) > MAX_KEY_BYTES or not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError(f"{source}: holds no key", "a key is one word of printable ASCII")
    return key
