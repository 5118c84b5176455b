"""Is this one message right, taken by itself? Its role, its blocks and their fields.

What needs the other messages (pairs of call and result, order, totals) is in conversation.py; `Facts` is what it
needs to know of each message.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.endpoint import searches
from tests.endpoint.documents import check_document
from tests.endpoint.images import Picture, check_image
from tests.endpoint.render import RenderedBlock, render
from tests.endpoint.rules import Rules
from tests.endpoint.shape import (
    IDENTIFIER,
    NAME,
    Json,
    RefusedError,
    cache_ttl,
    expect,
    pattern,
    shape,
    unknown_tag,
)
from tests.endpoint.signatures import Origin, open_summary, tag, verify, verify_redacted

BLANK = "text content blocks must contain non-whitespace text"
EMPTY = "text content blocks must be non-empty"
THINKING = ("thinking", "redacted_thinking")

_SERVER_BLOCKS = frozenset(
    f"{name}_tool_result"
    for name in ("web_search", "web_fetch", "code_execution", "bash_code_execution", "tool_search")
) | {"server_tool_use", "text_editor_code_execution_tool_result", "container_upload"}
"""Blocks of tools that the service runs itself: taken as they come, but for those of searches (searches.py)."""

_OF_USER = frozenset({"text", "image", "document", "search_result", "tool_result", "compaction"})
_OF_ASSISTANT = (
    frozenset({"text", "thinking", "redacted_thinking", "tool_use", "compaction"}) | _SERVER_BLOCKS
)
_IN_RESULT = frozenset({"text", "image", "document", "search_result", "tool_reference"})


@dataclass(frozen=True, slots=True)
class Thought:
    """A signed thinking block: its index in the content, where it was issued, its short name."""

    index: int
    origin: Origin
    tag: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What the rest of the judge needs to know of one message.

    `problem` is why it is refused, None when it is right by itself; then the rest holds. `calls` and `results` are
    (index in the content, tool use id); `leading` are the ids of the results that stand before everything else;
    `keys` are the keys of all blocks but thinking; `thinking` are the signed blocks; `marks` is (where, lifetime) of
    each breakpoint; `cites` is where a user's text carries citations, "" if nowhere; `summary` is what the signature
    of a summary says, which has no key: what it stands for has; `searching` are the blocks of a message with
    searches.
    """

    role: str
    problem: RefusedError | None = None
    kinds: tuple[str, ...] = ()
    blocks: tuple[RenderedBlock, ...] = ()
    keys: tuple[bytes, ...] = ()
    calls: tuple[tuple[int, str], ...] = ()
    results: tuple[tuple[int, str], ...] = ()
    leading: frozenset[str] = frozenset()
    thinking: tuple[Thought, ...] = ()
    marks: tuple[tuple[str, str], ...] = ()
    pictures: tuple[Picture, ...] = ()
    ends_with_space: bool = False
    cites: str = ""
    summary: Origin | None = None
    searching: tuple[Mapping[str, Json], ...] = ()

    @property
    def thoughtful(self) -> bool:
        """Whether a thinking block is in it, signed or not."""
        return len(self.keys) != len(self.kinds)


def examine(message: Json, rules: Rules) -> Facts:
    """The facts of a message, or in `problem` why the service refuses it; paths are relative to the message."""
    role = message.get("role") if isinstance(message, dict) else None
    try:
        return _Examination(message, rules).facts()
    except RefusedError as problem:
        return Facts(role if isinstance(role, str) else "", problem.with_traceback(None))


class _Examination:
    """One pass over a message's blocks."""

    def __init__(self, message: Json, rules: Rules):
        self._message = message
        self._rules = rules
        self._calls: list[tuple[int, str]] = []
        self._results: list[tuple[int, str]] = []
        self._thinking: list[Thought] = []
        self._cites = ""
        self._marks: list[tuple[str, str]] = []
        self._pictures: list[Picture] = []
        self._summary: Origin | None = None
        self._checks: Mapping[str, Callable[[int, dict[str, Json], str], None]] = {
            "text": self._text,
            "image": self._image,
            "document": self._document,
            "thinking": self._thought,
            "redacted_thinking": self._redacted,
            "tool_use": self._call,
            "tool_result": self._result,
            "compaction": self._compacted,
            searches.USE: lambda _, block, where: searches.check_use(block, where),
            searches.RESULT: lambda _, block, where: searches.check_result(block, where),
        }

    def facts(self) -> Facts:
        role = self._role()
        content = self._message["content"]
        if isinstance(content, str):
            if content and not content.strip():
                raise RefusedError("content", BLANK)
            content = [{"type": "text", "text": content}] if content else []
        expect(content, list, "content")
        rendered = tuple(self._block(index, block, role) for index, block in enumerate(content))
        kinds = tuple(block["type"] for block in content)
        searching = searches.USE in kinds or searches.RESULT in kinds
        first_other = next((index for index, kind in enumerate(kinds) if kind != "tool_result"), len(kinds))
        last = content[-1] if content else {}
        return Facts(
            role,
            kinds=kinds,
            blocks=rendered,
            keys=tuple(
                block.key
                for kind, block in zip(kinds, rendered, strict=True)
                if not block.thinking and kind != "compaction"
            ),
            calls=tuple(self._calls),
            results=tuple(self._results),
            leading=frozenset(name for index, name in self._results if index < first_other),
            thinking=tuple(self._thinking),
            marks=tuple(self._marks),
            pictures=tuple(self._pictures),
            ends_with_space=last.get("type") == "text" and last["text"] != last["text"].rstrip(),
            cites=self._cites,
            summary=self._summary,
            searching=tuple(content) if searching else (),
        )

    def _role(self) -> str:
        message = self._message
        if not isinstance(message, dict):
            raise RefusedError("", "Input should be a valid dictionary or object to extract fields from")
        shape(message, "", {"role": str}, {"content": None})
        role = message["role"]
        if role == "system" and self._rules.system_messages:
            return "user"
        if role == "system" and not message.get("content"):
            raise RefusedError("", "system content must contain at least one block")
        if role not in ("user", "assistant", "system"):
            raise RefusedError("", f'Unexpected role "{role}". Allowed roles are "user" or "assistant"')
        if message.get("content") is None:
            raise RefusedError("content", "Field required")
        return str(role)

    def _block(self, index: int, block: Json, role: str) -> RenderedBlock:
        kind = block.get("type") if isinstance(block, dict) else None
        if role == "system" and kind != "text":
            only = "role 'system' supports text, tool_addition, and tool_removal blocks only"
            raise RefusedError("", only)
        allowed = _OF_USER if role == "user" else _OF_ASSISTANT
        gone = {searches.USE, searches.RESULT} if "web_search" in self._rules.refused else set[str]()
        if not isinstance(kind, str) or kind not in (_OF_USER | _OF_ASSISTANT) - gone:
            unknown_tag(block, _OF_USER | _OF_ASSISTANT, f"content.{index}")
        if kind not in allowed:
            other = "assistant" if role == "user" else "user"
            raise RefusedError(f"content.{index}", f"`{kind}` blocks can only be in `{other}` messages")
        where = f"content.{index}.{kind}"
        before = len(self._pictures)
        marks = len(self._marks)
        check = self._checks.get(kind)
        if check is not None:
            check(index, block, where)
        if own := cache_ttl(block, where):
            self._marks.append((where, own))
        ttls = [ttl for _, ttl in self._marks[marks:]]
        ttl = "1h" if "1h" in ttls else "".join(ttls[:1])
        known = self._thinking[-1:] if kind in THINKING else []
        sealed = next((thought.origin.chars for thought in known if thought.index == index), 0)
        return render(role, block, ttl, self._rules.chars_per_token, self._pictures[before:], sealed)

    def _text(self, index: int, block: dict[str, Json], where: str) -> None:
        shape(block, where, {"type": str, "text": str}, {"cache_control": dict, "citations": list})
        if not block["text"] and block.get("cache_control") is not None:
            raise RefusedError(where, "cache_control cannot be set for empty text blocks")
        if not block["text"].strip():
            raise RefusedError(f"content.{index}", BLANK if block["text"] else EMPTY)
        if block.get("citations") and self._message["role"] == "assistant":
            searches.check_citations(block["citations"], f"{where}.citations")
        if block.get("citations") and self._message["role"] == "user":
            self._cites = self._cites or f"{where}.citations"

    def _image(self, index: int, block: dict[str, Json], where: str) -> None:
        self._pictures.append(check_image(block, where, self._rules))

    def _document(self, index: int, block: dict[str, Json], where: str) -> None:
        self._pictures.append(check_document(block, where, self._rules))

    def _thought(self, index: int, block: dict[str, Json], where: str) -> None:
        if not self._rules.signatures and "signature" not in block:
            shape(block, where, {"type": str, "thinking": str}, {})
            return
        shape(block, where, {"type": str, "thinking": str, "signature": str}, {})
        origin = verify(block["thinking"], block["signature"], self._rules.signing_key)
        if origin is not None:
            self._thinking.append(Thought(index, origin, tag(block["signature"])))
        elif self._rules.signatures:
            raise RefusedError(f"content.{index}", "Invalid `signature` in `thinking` block")

    def _redacted(self, index: int, block: dict[str, Json], where: str) -> None:
        shape(block, where, {"type": str, "data": str}, {})
        origin = verify_redacted(block["data"], self._rules.signing_key)
        if origin is not None:
            self._thinking.append(Thought(index, origin, tag(block["data"])))
        elif self._rules.signatures:
            raise RefusedError(f"content.{index}", "Invalid `data` in `redacted_thinking` block")

    def _compacted(self, index: int, block: dict[str, Json], where: str) -> None:
        optional: dict[str, type | None] = {"content": None, "signature": None, "encrypted_content": str}
        shape(block, where, {"type": str}, {**optional, "tool_changes": list, "cache_control": dict})
        expect(block.get("content"), str, f"{where}.content")
        if not isinstance(block.get("signature"), str):
            raise RefusedError(where, "a `compaction` block with `content` requires its `signature`")
        origin = open_summary(block["signature"], self._rules.signing_key)
        if origin is None:
            said = "the `signature` of the `compaction` block does not verify"
            raise RefusedError(where, said, code="compaction_signature_invalid")
        if origin.previous != tag(block["content"]):
            said = "the `content` of the `compaction` block is not what its `signature` recorded"
            raise RefusedError(where, said, code="compaction_content_mismatch")
        self._summary = origin

    def _call(self, index: int, block: dict[str, Json], where: str) -> None:
        shape(
            block,
            where,
            {"type": str, "id": str, "name": str, "input": dict},
            {"cache_control": dict, "caller": dict, "toolset_name": str},
        )
        pattern(block["id"], IDENTIFIER, f"{where}.id")
        pattern(block["name"], NAME, f"{where}.name")
        self._calls.append((index, block["id"]))

    def _result(self, index: int, block: dict[str, Json], where: str) -> None:
        shape(
            block,
            where,
            {"type": str, "tool_use_id": str},
            {"content": None, "is_error": bool, "cache_control": dict, "toolset_name": str},
        )
        pattern(block["tool_use_id"], IDENTIFIER, f"{where}.tool_use_id")
        content = block.get("content")
        if block.get("is_error") and not content:
            raise RefusedError(where, "content cannot be empty if `is_error` is true")
        self._results.append((index, block["tool_use_id"]))
        if content is None or isinstance(content, str):
            return
        expect(content, list, f"{where}.content")
        for inner, item in enumerate(content):
            self._inside_result(item, f"{where}.content.{inner}")

    def _inside_result(self, item: Json, where: str) -> None:
        kind = item.get("type") if isinstance(item, dict) else None
        if not isinstance(kind, str) or kind not in _IN_RESULT:
            unknown_tag(item, _IN_RESULT, where)
        if kind == "text":
            shape(
                item, f"{where}.text", {"type": str, "text": str}, {"cache_control": dict, "citations": list}
            )
            if not item["text"].strip():
                raise RefusedError(where, BLANK if item["text"] else EMPTY)
        if kind == "image":
            self._pictures.append(check_image(item, f"{where}.image", self._rules))
        if kind == "document":
            self._pictures.append(check_document(item, f"{where}.document", self._rules))
        if ttl := cache_ttl(item, f"{where}.{kind}"):
            self._marks.append((f"{where}.{kind}", ttl))
