"""Titles of sessions without a model: the verb and object of a prompt."""

import re

TITLE = "session.title"
"""The setting that holds a title by a model. A name that the user gave comes first."""
TITLE_CHARS = 48
_POLITE = re.compile(
    r"^(?:(?:hi|hey|hello|ok(?:ay)?|so|now|then|and|first|next|please|pls|thanks|great|good|cool|yes|sure|"
    r"(?:can|could|would|will) you(?: please| just| also)*|(?:i|we)(?:'d| would)? (?:want|need|like)(?: you)? to|"
    r"(?:i|we) (?:want|need) you to|let'?s|go ahead and|help me(?: to)?|try to|just|also)\b[\s,.:;!—-]*)+",
    re.IGNORECASE,
)
"""What stands before the verb."""
_END = re.compile(
    r"[.!?;](?=\s|$)|,\s|\s[—–-]+\s|:\s|\s\((?=\w)|"
    r"\s(?:because|since|so that|so|which|but|then|and then|as it|if|when|please)\s",
    re.IGNORECASE,
)
"""Where the object ends."""
_INJECTED = re.compile(r"^\s*<([a-z][\w-]*)\b[^>\n]*>.*?</\1>\s*", re.DOTALL | re.MULTILINE)
"""A text in tags at the start of a line, which a program put around the words."""
_MENTION = re.compile(r"(?<!\S)@(?=\S)")
_LINK = re.compile(r"\[?https?://[^\s?#\])]*?((?:[^\s/?#\])]+/)?[^\s/?#\])]+)/?(?:[?#\])]\S*)?(?=\s|$)")
"""An address, of which the last two parts tell enough."""


def without_tags(prompt: str) -> str:
    """Return a prompt without the texts in tags that a program put before or after the words; all of it if there is
    nothing else."""
    return _INJECTED.sub("", prompt).strip() or prompt


def title_of(prompt: str) -> str:
    """Return at most TITLE_CHARS of the first line that asks for something: "Fix the failing test in parser.py"; ""
    for a greeting, or text without a word."""
    spare = ""
    for line in without_tags(prompt).splitlines():
        text = _POLITE.sub("", " ".join(line.strip(" \t#*>`-").split()))
        text = _LINK.sub(r"\1", _MENTION.sub("", text))
        if line.lstrip().startswith("<") or not re.search(r"\w{2}", text):
            continue
        if end := next((one for one in _END.finditer(text) if len(text[: one.start()].split()) > 1), None):
            text = text[: end.start()]
        text = _cut(text[:1].upper() + text[1:].rstrip(" .!?,:;"))
        is_heading = line.startswith("#")
        if line.rstrip().endswith(":") or (is_heading and " " not in text):
            spare = spare or text  # "Implement the following plan:": the plan's own heading tells more
        elif is_heading or not spare:
            return text
    return spare


def _cut(text: str) -> str:
    """Cut at the end of a word."""
    if len(text) <= TITLE_CHARS:
        return text
    short = text[: TITLE_CHARS - 1]
    space = short.rfind(" ")
    return (short[:space] if space > TITLE_CHARS // 2 else short).rstrip(" ,:;") + "…"
