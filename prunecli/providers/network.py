"""Reads proxies, certificates and the TLS key log from the environment.

The libraries used read the same variables and raise various exceptions for invalid values. So each variable is
checked here first, and an error names the variable.
"""

import os
import ssl
from collections.abc import Iterator, Mapping
from ipaddress import ip_address, ip_network
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from prunecli.util.errors import UsageError

SCHEMES = ("http", "https", "socks5", "socks5h")
"""The supported schemes of proxies."""

_UNREAD = ("NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


class Route(NamedTuple):
    """The route to an endpoint: `proxy` is a URL, `variable` the variable that set it, `ca_file` a PEM file that
    replaces the system's certificates, and `unread` a variable by which other programs find theirs; "" for none."""

    proxy: str = ""
    ca_file: str = ""
    variable: str = ""
    unread: str = ""


DIRECT = Route()


def route(address: str, environ: Mapping[str, str]) -> Route:
    """Return the route to an http(s) address. Raises a UsageError that names an invalid variable."""
    (proxy, variable), ca_file = _proxy(address, environ), environ.get("SSL_CERT_FILE", "")
    if urlsplit(address).scheme == "https":
        _check_key_log(
            environ.get("SSLKEYLOGFILE", "")
        )  # first, because reading certificates also opens this file
        _check_certificates(ca_file)
    unread = "" if ca_file else next((name for name in _UNREAD if environ.get(name)), "")
    return Route(proxy, ca_file, variable, unread)


def _proxy(address: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the proxy for an address and its variable; "" for none. Respects NO_PROXY; a proxy without a scheme uses
    http."""
    parts = urlsplit(address)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if _is_spared(parts.hostname or "", port, environ):
        return "", ""
    for variable, value in _set(f"{parts.scheme}_proxy", "all_proxy", environ=environ):
        url = value if "://" in value else f"http://{value}"
        if not _is_proxy(url):
            raise UsageError(
                f"{variable}: not a proxy URL",
                f"use http://host:3128 or socks5://host:1080, or unset it (schemes: {', '.join(SCHEMES)})",
            )
        return url, variable
    return "", ""


def _is_spared(host: str, port: int, environ: Mapping[str, str]) -> bool:
    """Return whether NO_PROXY names the host: by `*`, a domain, an address or a network, each perhaps with a port."""
    for _, value in _set("no_proxy", environ=environ):
        for spared in value.lower().replace(",", " ").split():
            has_port = spared.count(":") == 1 or "]:" in spared
            name, _, only = spared.rpartition(":") if has_port else (spared, "", "")
            suffix = name.strip("[]").lstrip("*").lstrip(".")
            named = name == "*" or (suffix and (host == suffix or host.endswith(f".{suffix}")))
            if only in ("", str(port)) and (named or _is_inside(host, suffix)):
                return True
    return False


def _is_inside(host: str, network: str) -> bool:
    if not network or not (host[-1:].isdigit() or ":" in host):
        return False

    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False


def _set(*names: str, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the set variables among these names, in either case, in order of precedence."""
    for name in names:
        for variable in (name, name.upper()):
            if value := environ.get(variable, "").strip():
                yield variable, value


def _is_proxy(url: str) -> bool:
    try:
        parts: SplitResult = urlsplit(url)
        port = parts.port
    except ValueError:  # no port, or an unclosed bracket
        return False
    host = parts.hostname or ""
    plain = url.isprintable() and url.isascii() and " " not in url
    return parts.scheme in SCHEMES and bool(host) and plain and port != 0


def _check_certificates(path: str) -> None:
    if not path:
        return

    try:
        ssl.create_default_context(cafile=path)
    except ssl.SSLError as error:
        raise UsageError(
            f"SSL_CERT_FILE: no certificates in {path}", "set it to a PEM file, or unset it"
        ) from error
    except OSError as error:
        raise UsageError(
            f"SSL_CERT_FILE: {path}: {error.strerror}", "set it to a PEM file, or unset it"
        ) from error


def _check_key_log(path: str) -> None:
    if not path:
        return
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"SSLKEYLOGFILE: {path}: {why}", "set it to a writable file, or unset it") from error
