"""Compaction on demand: may this request ask for a summary, is the summary that it carries one of ours, and what does
the thinking behind it hang on?

A summary is one signed block. Its signature holds the digest of all that it replaced, so that thinking in the turns
behind it is checked as if that still stood there: as long as system prompt and tools are the same, the first message
behind it has another role than the last one that it replaced, and a model with preserved thinking made it. Otherwise
the conversation begins anew with the block. Source: the service's pages on compaction on demand, compaction that
keeps recent turns, and compaction and preserved thinking.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.endpoint.content import Facts
from tests.endpoint.render import RenderedBlock
from tests.endpoint.rules import COMPACTION, Model, Rules
from tests.endpoint.shape import Json, RefusedError, one_of, shape, unknown_tag
from tests.endpoint.signatures import Origin, seal_summary, tag

MAX_INSTRUCTIONS = 16_384
NO_BETA = f"requires anthropic-beta: {COMPACTION}"
_START = b"\0" * 16


def check_compaction(fields: Mapping[str, Json], betas: frozenset[str], model: Model) -> bool:
    """Whether a request asks for a summary. Raises RefusedError where it may not, or not beside what else it asks."""
    asked = fields.get("compaction")
    if asked is None:
        return False
    if COMPACTION not in betas:
        raise RefusedError("compaction", NO_BETA)
    shape(asked, "compaction", {"type": str}, {"instructions": str})
    one_of(asked["type"], ("summarize",), "compaction.type")
    if len(asked.get("instructions") or "") > MAX_INSTRUCTIONS:
        raise RefusedError(
            "compaction.instructions", f"String should have at most {MAX_INSTRUCTIONS} characters"
        )
    if not model.summarizes:
        raise RefusedError("", "This model does not support the compaction parameter.")
    output = fields.get("output_config") or {}
    beside = {
        "context_management": fields.get("context_management"),
        "stop_sequences": fields.get("stop_sequences"),
        "output_config.format": output.get("format"),
        "output_config.task_budget.remaining": (output.get("task_budget") or {}).get("remaining"),
        "tool_choice": (fields.get("tool_choice") or {}).get("type") in ("any", "tool"),
    }
    for name, value in beside.items():
        if value:
            raise RefusedError(name, "cannot be combined with `compaction`")
    return True


def check_summaries(
    facts: Sequence[Facts], betas: frozenset[str], model: Model, rules: Rules, *, asked: bool
) -> None:
    """Refuse summaries that this endpoint would not take back, and a conversation that has nothing to summarize."""
    found = [
        (index, at)
        for index, one in enumerate(facts)
        for at, kind in enumerate(one.kinds)
        if kind == "compaction"
    ]
    where = f"messages.{found[0][0]}.content.{found[0][1]}" if found else ""
    if found and (COMPACTION not in betas or not model.summarizes or "compaction" in rules.refused):
        unknown_tag({"type": "compaction"}, ("text", "tool_use"), where)
    if len(found) > 1:
        code = "compaction_block_ambiguous"
        raise RefusedError("messages", "more than one `compaction` block", code=code)
    if found and found[0] != (0, 0):
        said = "the `compaction` block must be the first block of the conversation"
        raise RefusedError(where, said, code="compaction_block_misplaced")
    if asked and sum(len(one.kinds) for one in facts) == len(found):
        raise RefusedError("messages", "nothing to summarize", code="compaction_nothing_to_summarize")
    if asked and facts[-1].role == "assistant" and facts[-1].calls:
        raise RefusedError("messages", "the last turn is not finished", code="compaction_incomplete_turn")


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a summary replaces: the digest of it all, b"" where no thinking is bound to it, of system prompt and tools
    alone, and the role of its last message."""

    digest: bytes
    preamble: bytes
    role: str

    def block(self, summary: str, model: str, key: bytes) -> dict[str, Json]:
        """The signed block."""
        held = f"{self.preamble.hex()}.{self.role}"
        origin = Origin(held, 0, self.digest.hex(), tag(summary), model)
        return {"type": "compaction", "content": summary, "signature": seal_summary(origin, key)}


def preamble_digest(blocks: Sequence[RenderedBlock]) -> bytes:
    """The digest of system prompt and tools."""
    return hashlib.blake2b(b"".join(block.key for block in blocks), digest_size=16).digest()


def continued(facts: Sequence[Facts], preamble: Sequence[RenderedBlock]) -> bytes | None:
    """The digest that stands for a leading summary; None where there is none."""
    if not facts or facts[0].summary is None:
        return None
    origin, first = facts[0].summary, facts[0]
    kept = first.role if len(first.kinds) > 1 else next((one.role for one in facts[1:]), "")
    if origin.prefix and origin.message_id == f"{preamble_digest(preamble).hex()}.{_other(kept)}":
        return bytes.fromhex(origin.prefix)
    return hashlib.blake2b(_START + preamble_digest(preamble) + first.blocks[0].key, digest_size=16).digest()


def _other(role: str) -> str:
    return "assistant" if role == "user" else "user"
