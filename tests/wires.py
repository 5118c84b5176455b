"""Which wire the scripted providers of the running test are played through; tests/through.py does it."""

import zlib
from importlib import import_module
from importlib.util import find_spec
from typing import Any

WIRES = ("messages", "chat", "responses")
_current = [WIRES[0]]


def wire_of(test: str, option: str) -> str:
    """The wire of a test by its name: the chosen one, or for a tenth of the tests one of OpenAI's two."""
    if option != "tenth":
        return option
    number = zlib.crc32(test.encode())
    return WIRES[1 + number // 10 % 2] if number % 10 == 0 else WIRES[0]


def choose(test: str, option: str) -> None:
    """Choose the wire of the test that runs next. Without the feature or its SDK, there is one wire."""
    there = find_spec("prunecli.features.openai") and find_spec("openai")
    _current[0] = wire_of(test, option) if there else WIRES[0]


def over_wire(provider: Any) -> Any:
    """The provider, played through the wire of the running test."""
    if _current[0] == WIRES[0]:
        return provider
    return import_module("tests.through").ThroughWire(provider, _current[0])


def over_wires(connections: Any) -> None:
    """Play all providers of a runtime so."""
    made = connections.provider_for
    connections.provider_for = lambda model: over_wire(made(model))
    connections.renew()
