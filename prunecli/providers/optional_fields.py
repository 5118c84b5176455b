"""Optional request fields that some endpoints reject, and a search for the rejected field in an error.

Gateways and older servers know fewer fields than the API itself. Each of these fields can be omitted: the request
keeps its meaning, but is less convenient or costs more.
"""

import re

from prunecli.model.requests import COMPACTION, COMPACTION_BETA, DIAGNOSTICS, SEARCH, SYSTEM_MESSAGES

BLOCK_BINDING = "thinking.block_binding"
DISPLAY = "thinking.display"
THINKING = "thinking"
CACHE_TTL = "cache_control.ttl"
CACHE_CONTROL = "cache_control"
EFFORT = "output_config"
CONTEXT_MANAGEMENT = "context_management"

CONTEXT_MANAGEMENT_BETA = "context-management-2025-06-27"
"""The value of the `anthropic-beta` header that `context_management` needs."""

BETAS = {
    "thinking-binding-controls-2026-08-01": BLOCK_BINDING,
    CONTEXT_MANAGEMENT_BETA: CONTEXT_MANAGEMENT,
    COMPACTION_BETA: COMPACTION,
}
"""The field of each beta feature in the `anthropic-beta` header."""

# The patterns are compiled when first used: only failures need them, and compiling them would delay every start.
_REFUSED = (
    r"(?i)extra inputs? (?:is|are) not (?:permitted|allowed)|extra(?:neous)?[ _](?:key|field|forbidden|properties)"
    r"|additional ?properties|(?:unknown|unrecogni[sz]ed|unexpected|unsupported|invalid|illegal)"
    r" (?:\w+ )?(?:field|parameter|param|argument|key|property|keyword|name|value|option|beta)"
    r"|(?:is|are) not (?:permitted|allowed|supported|recogni[sz]ed|known)|does(?: not|n't) support"
    r"|no such (?:field|parameter)|input tag '(?:compaction|(?:web_search|server_tool)_\w+)' [^.]*does not match"
    r"|unexpected role|web search is(?: not|n't) (?:enabled|available)"
)
_A_VALUE = r"(?i)supported (?:values|levels)|input should be|use effort"
"""Words that mean a known field has a wrong value. Omitting the field would hide the mistake."""
_FIELDS = (
    (BLOCK_BINDING, r"(?i)block_binding|prefix_mismatch_behavior"),
    (CONTEXT_MANAGEMENT, r"(?i)context_management"),
    (COMPACTION, r"(?i)\bcompaction\b"),
    (DIAGNOSTICS, r"(?i)\bdiagnostics\b"),
    (SEARCH, r"(?i)\bweb[_ ]search"),
    (SYSTEM_MESSAGES, r"(?i)\brole\W+system\b"),
    (EFFORT, r"(?i)output_config|\beffort\b|reasoning effort"),
    (DISPLAY, r"(?i)\bthinking\b.*\bdisplay\b|\bdisplay\b.*\bthinking\b"),
    (CACHE_TTL, r"(?i)cache_control\S*\bttl\b|\bttl\b"),
    (CACHE_CONTROL, r"(?i)\bcache_control\b(?!\.)"),
    (THINKING, r"(?i)\bthinking\b(?!\.\w+\.)(?!` blocks)|\breasoning\b"),
)
_HEADER = r"(?i)anthropic-beta|\bbeta (?:flag|header|feature)"


def refused_fields(message: str) -> tuple[str, ...]:
    """Return the fields that an error may be about, most specific first; () if the error is about something else."""
    if not re.search(_REFUSED, message) or re.search(_A_VALUE, message):
        return ()
    named = [field for beta, field in BETAS.items() if beta in message]
    named += [field for field, pattern in _FIELDS if re.search(pattern, message)]
    if not named and re.search(_HEADER, message):
        named = list(BETAS.values())
    return tuple(dict.fromkeys(named))
