"""Host names in lists and rules, and the addresses that are always refused. Pure.

The sandbox's proxy and the web tools share these rules. An entry is an exact name or `*.example.com`, which matches
every host below example.com but not example.com itself.
"""

import ipaddress
import re

_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NOT_GLOBAL = tuple(
    ipaddress.ip_network(text)
    for text in (
        "100.64.0.0/10",
        "168.63.129.16/32",
        "192.0.0.0/24",
        "192.88.99.0/24",
        "2002::/16",
        "3fff::/20",
    )
)
"""Carrier, protocol and translated ranges, whose addresses do not show where they lead, and Azure's own services."""
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
"""The public IPv6 addresses. NAT64, IPv4-compatible and site-local addresses, among others, are not in this range."""
_LOCAL_ENDINGS = ("localhost", "local", "internal", "localdomain", "lan", "home.arpa")
"""Suffixes of names that always resolve to this machine or its network."""


def problem(pattern: str) -> str:
    """Return the problem with an entry of the list, or ""."""
    name = pattern.lower().removeprefix("*.")
    if is_address(name):
        return f"expected a host name, got the address {pattern!r}"
    if not _NAME.fullmatch(name) or len(name) > 253:
        return f'expected a host name such as "pypi.org" or "*.example.com", got {pattern!r}'
    if pattern.startswith("*.") and "." not in name:
        return f"{pattern!r} would match every host below .{name}"
    return ""


def normal(host: str) -> str:
    """Return the host in the form for comparison: lower case, without a trailing dot; "" if it is not a host name."""
    name = host.lower().removesuffix(".")
    return name if len(name) <= 253 and _NAME.fullmatch(name) and not is_address(name) else ""


def is_allowed(host: str, patterns: tuple[str, ...]) -> bool:
    """Return whether the list contains this host. An address is never a host name."""
    name = normal(host)
    return bool(name) and any(_names(pattern.lower(), name) for pattern in patterns)


def is_public(address: str) -> bool:
    """Return whether an address is on the public internet: not this machine, its network, or a cloud's metadata
    service."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    if mapped is not None:
        found = mapped
    return (
        found.is_global
        and not found.is_multicast
        and (found.version == 4 or found in _GLOBAL_UNICAST)
        and not any(found in network for network in _NOT_GLOBAL if network.version == found.version)
    )


def is_local_name(name: str) -> bool:
    """Return whether a host name can only lead to this machine or its network: `localhost`, `printer.local`,
    `intranet`."""
    name = name.lower().removesuffix(".")
    return "." not in name or any(name.endswith(f".{ending}") for ending in _LOCAL_ENDINGS)


def is_loopback(host: str) -> bool:
    host = host.rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _names(pattern: str, name: str) -> bool:
    return name.endswith(pattern[1:]) if pattern.startswith("*.") else name == pattern


def is_address(name: str) -> bool:
    """Return whether a resolver would read it as an address, including the forms of inet_aton (0x7f.1,
    2130706433)."""
    last = name.rpartition(".")[2]
    return last.isdigit() or re.fullmatch(r"0x[0-9a-f]*", last) is not None or ":" in name
