"""Are these messages right together? Order, pairs of call and result, thinking, breakpoints, images.

Works on the facts of each message, so that it costs little for the messages that were examined before.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from tests.endpoint.content import THINKING, Facts
from tests.endpoint.documents import check_pages_together
from tests.endpoint.images import Picture, check_images_together
from tests.endpoint.rules import VERSION_2023, Model, Rules
from tests.endpoint.searches import check_pairs
from tests.endpoint.shape import Json, RefusedError
from tests.endpoint.signatures import Origin

UNANSWERED = (
    "`tool_use` ids were found without `tool_result` blocks immediately after: {ids}. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
UNASKED = (
    "unexpected `tool_use_id` found in `tool_result` blocks: {id}. "
    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
)
TWICE = "each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)
UNTHOUGHT = (
    "Expected `thinking` or `redacted_thinking`, but found `{kind}`. When `thinking` is enabled, a final `assistant` "
    "message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). "
    "We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`."
)


FOLLOW = "role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result"
ANYWHERE = "; the directive-only form (content: [] with output_config) is accepted at any position"

_NONE: Set[str] = frozenset()


@dataclass(slots=True)
class Replies:
    """What this endpoint sent so far: the kinds of each message's blocks, where each call stood, the content of
    paused turns, and their ids (`unfinished`)."""

    kinds: dict[str, tuple[str, ...]] = field(default_factory=dict)
    calls: dict[str, Origin] = field(default_factory=dict)
    paused: list[Sequence[Json]] = field(default_factory=list)
    unfinished: set[str] = field(default_factory=set)

    def goes_on(self, content: Json) -> bool:
        """Whether the last message is a turn that was paused here, sent back unchanged: no prefill, but how the
        service wants to be asked for the rest."""
        return isinstance(content, list) and any(
            content[-len(blocks) :] == list(blocks) for blocks in self.paused if blocks
        )

    def add(self, message_id: str, kinds: Sequence[str], calls: Mapping[str, int]) -> None:
        """Remember a reply; `calls` are the places of its calls by their ids."""
        self.kinds[message_id] = tuple(kinds)
        for name, place in calls.items():
            self.calls[name] = Origin(message_id, place)


def check_messages(
    facts: Sequence[Facts],
    model: Model,
    rules: Rules,
    replies: Replies,
    version: str,
    *,
    goes_on: bool = False,
) -> None:
    """Refuse a conversation that the service would refuse; `version` is that of the API, `goes_on` as of `Replies`,
    and of a request for a summary. Raises RefusedError."""
    if not facts:
        raise RefusedError("messages", "at least one message is required")
    for index, message in enumerate(facts):
        if message.problem is not None:
            raise message.problem.below(f"messages.{index}")
        if message.cites and version != VERSION_2023:
            raise RefusedError(f"messages.{index}.{message.cites}", "Extra inputs are not permitted")
    _check_system(facts, model, rules)
    if facts[0].role != "user" and facts[0].summary is None:
        raise RefusedError("messages", 'first message must use the "user" role')
    _check_empty(facts)
    _check_pairs(facts)
    for index, message in enumerate(facts):
        if message.searching:
            try:
                check_pairs(message.searching, waits=goes_on and index == len(facts) - 1)
            except RefusedError as problem:
                raise problem.below(f"messages.{index}") from None
    _check_thinking(facts, replies)
    check_images_together(list(_pictures(facts)), rules)
    check_pages_together(list(_pictures(facts)), rules)
    if not goes_on:
        _check_prefill(facts[-1], model)


def check_breakpoints(marks: Sequence[tuple[str, str]], limit: int) -> None:
    """Refuse too many breakpoints, or a longer lifetime behind a shorter one; `marks` are (where, lifetime)."""
    if len(marks) > limit:
        raise RefusedError(
            "", f"A maximum of {limit} blocks with cache_control may be provided. Found {len(marks)}."
        )
    seen_short = False
    for where, ttl in marks:
        if ttl == "1h" and seen_short:
            raise RefusedError(
                f"{where}.cache_control.ttl",
                "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks "
                "are processed in the following order: `tools`, `system`, `messages`.",
            )
        seen_short = seen_short or ttl == "5m"


def _check_system(facts: Sequence[Facts], model: Model, rules: Rules) -> None:
    """System messages, of models that take them only: not first, behind a user's message, and last or before an
    answer. Several in a row count as one."""
    told = [index for index, message in enumerate(facts) if message.role == "system"]
    if told and (not model.takes_system or "system messages" in rules.refused):
        raise RefusedError("", "role 'system' is not supported on this model")
    for index in told:
        before, after = index - 1, index + 1
        while before >= 0 and facts[before].role == "system":
            before -= 1
        while after < len(facts) and facts[after].role == "system":
            after += 1
        if before < 0:
            wrong = "use the top-level 'system' parameter for the initial system prompt"
        elif facts[before].role != "user" and not facts[before].kinds[-1].endswith("_tool_result"):
            wrong = FOLLOW
        elif after < len(facts) and facts[after].role != "assistant":
            wrong = "role 'system' must precede an 'assistant' message or end the array"
        else:
            continue
        raise RefusedError(f"messages.{index}", wrong + ANYWHERE)


def _check_empty(facts: Sequence[Facts]) -> None:
    for index, message in enumerate(facts):
        if message.kinds:
            continue
        if message.role == "user":
            raise RefusedError(f"messages.{index}", "user messages must have non-empty content")
        if index + 1 < len(facts):
            raise RefusedError(
                f"messages.{index}",
                "all messages must have non-empty content except for the optional final assistant message",
            )


def _check_pairs(facts: Sequence[Facts]) -> None:
    seen: set[str] = set()
    previous: Set[str] = _NONE
    for index, message in enumerate(facts):
        if message.results:
            _check_results(f"messages.{index}.content", message, previous)
        if not message.calls:
            previous = _NONE
            continue
        previous = {name for _, name in message.calls}
        for place, name in message.calls:
            if name in seen:
                raise RefusedError(f"messages.{index}.content.{place}", "`tool_use` ids must be unique")
            seen.add(name)
        answers = facts[index + 1].leading if index + 1 < len(facts) else frozenset()
        missing = [name for _, name in message.calls if name not in answers]
        if missing:
            raise RefusedError(f"messages.{index}", UNANSWERED.format(ids=", ".join(missing)))


def _check_results(where: str, message: Facts, asked: Set[str]) -> None:
    """Each result answers a call of the message before, and no call is answered twice."""
    answered: set[str] = set()
    for place, name in message.results:
        if name not in asked:
            raise RefusedError(f"{where}.{place}", UNASKED.format(id=name))
        if name in answered:
            raise RefusedError(f"{where}.{place}", TWICE.format(id=name))
        answered.add(name)


def _check_thinking(facts: Sequence[Facts], replies: Replies) -> None:
    """Signed blocks stand in the message and the order in which they were issued, each once, behind those of a paused
    turn that theirs goes on with; the latest assistant message has all of those in front of its last block that is
    known."""
    seen: set[str] = set()
    latest = next((at for at in range(len(facts) - 1, -1, -1) if facts[at].role == "assistant"), -1)
    for index, message in enumerate(facts):
        if not message.thoughtful:
            continue
        if message.kinds[-1] in THINKING:
            where = f"messages.{index}.content.{len(message.kinds) - 1}"
            raise RefusedError(
                where, f"The final block in an assistant message cannot be `{message.kinds[-1]}`."
            )
        known = [(thought.index, thought.origin) for thought in message.thinking if thought.origin.message_id]
        name, last = "", -1
        for place, origin in known:
            if origin.message_id != name:
                if origin.message_id in seen or (name and name not in replies.unfinished):
                    raise RefusedError(f"messages.{index}.content.{place}", MODIFIED)
                name, last = origin.message_id, -1
                seen.add(name)
            if origin.position <= last:
                raise RefusedError(f"messages.{index}.content.{place}", MODIFIED)
            last = origin.position
        for name in dict.fromkeys(origin.message_id for _, origin in known) if index == latest else ():
            _check_complete(index, message, [one for _, one in known if one.message_id == name], replies)


def _check_complete(index: int, message: Facts, thoughts: list[Origin], replies: Replies) -> None:
    name = thoughts[0].message_id
    calls = [replies.calls[call] for _, call in message.calls if call in replies.calls]
    end = max(origin.position for origin in [*thoughts, *calls] if origin.message_id == name)
    wanted = [place for place, kind in enumerate(replies.kinds.get(name, ())[:end]) if kind in THINKING]
    there = {origin.position for origin in thoughts}
    if any(place not in there for place in wanted):
        raise RefusedError(f"messages.{index}.content.{message.thinking[0].index}", MODIFIED)


def check_open_loop(facts: Sequence[Facts]) -> None:
    """With thinking of type "enabled", the first assistant message of the open tool loop begins with thinking."""
    start = None
    index = len(facts) - 1
    while index > 0 and facts[index].role == "user" and facts[index].results:
        start = index - 1
        index -= 2
    if facts[-1].role == "assistant":
        start = len(facts) - 1
    if start is None or not facts[start].kinds:
        return
    kind = facts[start].kinds[0]
    if kind not in THINKING:
        raise RefusedError(f"messages.{start}.content.0.type", UNTHOUGHT.format(kind=kind))


def _pictures(facts: Sequence[Facts]) -> Iterator[Picture]:
    for index, message in enumerate(facts):
        if not message.pictures:
            continue
        for picture in message.pictures:
            yield replace(picture, where=f"messages.{index}.{picture.where}")


def _check_prefill(last: Facts, model: Model) -> None:
    if last.role != "assistant":
        return
    if not model.prefill:
        raise RefusedError(
            "",
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        )
    if last.ends_with_space:
        raise RefusedError("messages", "final assistant content cannot end with trailing whitespace")
