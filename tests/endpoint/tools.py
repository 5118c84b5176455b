"""Are the tools and the system prompt right? Names, schemas, blank texts, breakpoints."""

import re

from tests.endpoint.render import RenderedBlock, render
from tests.endpoint.rules import Rules
from tests.endpoint.shape import (
    NAME,
    Json,
    RefusedError,
    cache_ttl,
    expect,
    one_of,
    pattern,
    shape,
    unknown_tag,
)

_TOOL: dict[str, type | None] = {
    "type": str,
    "description": str,
    "cache_control": dict,
    "strict": bool,
    "defer_loading": bool,
    "eager_input_streaming": bool,
    "allowed_callers": list,
    "input_examples": list,
}
_SERVER_TOOL = re.compile(r"[a-z_]+_20\d{6}")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


def check_tools(tools: Json, rules: Rules, marks: list[tuple[str, str]]) -> tuple[RenderedBlock, ...]:
    """The rendered tools, or RefusedError; their breakpoints are added to `marks`."""
    rendered: list[RenderedBlock] = []
    names: set[str] = set()
    for index, tool in enumerate(tools):
        where = f"tools.{index}"
        expect(tool, dict, where)
        if tool.get("type") in (None, "custom"):
            where += ".custom"
            shape(tool, where, {"name": str, "input_schema": dict}, _TOOL)
            _schema(tool["input_schema"], f"{where}.input_schema")
        elif not _is_servers(tool["type"], rules):
            unknown_tag(tool, ("custom",), where)
        expect(tool.get("name"), str, f"{where}.name")
        pattern(tool["name"], NAME, f"{where}.name")
        if tool["name"] in names:
            raise RefusedError("tools", "Tool names must be unique.")
        names.add(tool["name"])
        if ttl := cache_ttl(tool, where):
            marks.append((where, ttl))
        rendered.append(render("tool", tool, ttl, rules.chars_per_token))
    return tuple(rendered)


def _is_servers(kind: Json, rules: Rules) -> bool:
    """Whether the service, or the gateway in its place, has a tool of this type."""
    known = isinstance(kind, str) and _SERVER_TOOL.fullmatch(kind)
    return bool(known) and not (kind.startswith("web_search_") and "web_search" in rules.refused)


def _schema(schema: dict[str, Json], where: str) -> None:
    if "type" not in schema:
        raise RefusedError(f"{where}.type", "Field required")
    one_of(schema["type"], ("object",), f"{where}.type")
    if any(word in schema for word in ("oneOf", "allOf", "anyOf")):
        raise RefusedError(where, "input_schema does not support oneOf, allOf, or anyOf at the top level")
    if (properties := schema.get("properties")) is not None:
        expect(properties, dict, f"{where}.properties")
        for name in properties:
            if not _PROPERTY.fullmatch(name):
                wanted = f"'^{_PROPERTY.pattern}$'"
                raise RefusedError(f"{where}.properties", f"Property keys should match pattern {wanted}")
    if (required := schema.get("required")) is not None:
        expect(required, list, f"{where}.required")
        for index, name in enumerate(required):
            expect(name, str, f"{where}.required.{index}")


def check_system(system: Json, rules: Rules, marks: list[tuple[str, str]]) -> tuple[RenderedBlock, ...]:
    """The rendered system prompt, or RefusedError; its breakpoints are added to `marks`."""
    if system is None:
        return ()
    if isinstance(system, str):
        system = [{"type": "text", "text": system}] if system else []
    expect(system, list, "system")
    rendered: list[RenderedBlock] = []
    for index, block in enumerate(system):
        where = f"system.{index}"
        if not isinstance(block, dict) or block.get("type") != "text":
            unknown_tag(block, ("text",), where)
        shape(block, where, {"type": str, "text": str}, {"cache_control": dict, "citations": list})
        if not block["text"] and block.get("cache_control") is not None:
            raise RefusedError(where, "cache_control cannot be set for empty text blocks")
        if not block["text"].strip():
            raise RefusedError(where, "text content blocks must contain non-whitespace text")
        if ttl := cache_ttl(block, where):
            marks.append((where, ttl))
        rendered.append(render("system", block, ttl, rules.chars_per_token))
    return tuple(rendered)
