"""Finds tools of all servers by words in their names and descriptions. Pure.

A word's weight depends on its place (name before description) and on the number of tools that have it. The best tools
come with their schemas, the next ones in one line each. The whole text has a limit.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import log

from prunecli.features.mcp.results import in_line
from prunecli.features.mcp.server_state import RemoteTool, Server
from prunecli.model.messages import Json
from prunecli.util.frozen import frozen

WITH_SCHEMA = 5
LINES = 30
MAX_CHARS = 16_000
MAX_SCHEMA = 6_000
"""Maximum characters of one schema among several. A schema requested alone may fill the whole text."""
_NAME, _PART, _TEXT = 8.0, 3.0, 1.0
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")


@frozen
class Listed:
    server: str
    tool: RemoteTool

    @property
    def name(self) -> str:
        return f"{self.server}:{self.tool.name}"


def answer(words: str, servers: Sequence[Server], states: str) -> str:
    """Return what a search finds, in words. `states` tells of servers that are not connected."""
    return in_words(search(words, listed(servers)), states)


def listed(servers: Iterable[Server]) -> list[Listed]:
    return [
        Listed(server.name, tool)
        for server in servers
        if server.state == "connected"
        for tool in server.offer.tools
    ]


def search(words: str, tools: Sequence[Listed]) -> list[Listed]:
    """Return the tools with any of the words, best first; without words, all tools in order. An exact name gives only
    that tool."""
    exact = [tool for tool in tools if words.strip() in (tool.name, tool.tool.name)]
    if exact and ":" in words:
        return exact
    wanted = _words(words)
    if not wanted:
        return list(tools)
    texts = [(Counter(_words(tool.name)), Counter(_words(tool.tool.description))) for tool in tools]
    rarity = {
        word: log(1 + len(tools) / (1 + sum(_has(word, name) or _has(word, text) for name, text in texts)))
        for word in wanted
    }
    scores = [
        sum(rarity[word] * _score(word, name, text) for word in wanted) + (100 if one in exact else 0)
        for one, (name, text) in zip(tools, texts, strict=True)
    ]
    ranked = sorted(range(len(tools)), key=lambda at: (-scores[at], at))
    return [tools[at] for at in ranked if scores[at] > 0]


def in_words(found: Sequence[Listed], states: str) -> str:
    """Return the result of a search, for the model; `states` is one line about servers that are not connected, or
    ""."""
    if not found:
        return f"No tool found. {states}".strip()
    alone = len(found) == 1
    parts, room = list[str](), MAX_CHARS
    for one in found[:WITH_SCHEMA]:
        text = _whole(one, MAX_CHARS - 1_000 if alone else MAX_SCHEMA)
        if len(text) > room:
            break
        parts.append(text)
        room -= len(text)
    rest = found[len(parts) :]
    lines = list[str]()
    for one in rest[:LINES]:
        line = f"{one.name}  {in_line(one.tool.description, 100)}"
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    if lines:
        parts.append("\n".join(lines))
    if left := len(rest) - len(lines):
        parts.append(f"{left} more; search with other words, or for server:tool to get its schema")
    return "\n\n".join(filter(None, [*parts, states]))


def _whole(one: Listed, most: int) -> str:
    schema = json.dumps(_slim(one.tool.schema), ensure_ascii=False, separators=(",", ":"))
    if len(schema) > most:
        schema = f"{schema[:most]} … ({len(schema):,} characters, the rest left out)"
    return f"{one.name}\n{in_line(one.tool.description, 1_500)}\narguments: {schema}"


def _slim(schema: Json) -> Json:
    """Return the schema without keys that only validators need."""
    return {key: value for key, value in dict(schema).items() if key not in ("$schema", "$id", "title")}


def _score(word: str, name: "Counter[str]", text: "Counter[str]") -> float:
    in_name = _NAME if word in name else _PART if _has(word, name) else 0.0
    return in_name + (_TEXT if word in text else _TEXT / 2 if _has(word, text) else 0.0)


def _has(word: str, among: "Counter[str]") -> bool:
    return word in among or (len(word) > 2 and any(other.startswith(word) for other in among))


def _words(text: str) -> list[str]:
    return [found.lower() for found in _WORDS.findall(text)]
