"""Reads the files mentioned in a prompt and records them after it as separate results.

The tool `read` reads a file and `ls` lists a folder, with the same rules, limits and hooks as for the model's calls.
So attachments can be pruned, recalled and superseded like other results.
"""

import asyncio
import os
from dataclasses import replace
from typing import NamedTuple

from prunecli.agent.execute import Executor
from prunecli.model.codec import well_formed, well_formed_json
from prunecli.model.events import Attached, UserMessage
from prunecli.model.messages import Json, Text, ToolUse, plain_text
from prunecli.model.notes import ATTACHED
from prunecli.model.signals import Notice
from prunecli.runtime.given_images import Attachment, headline
from prunecli.tools.files.image import media_type_of
from prunecli.tools.files.media import is_media_name
from prunecli.tools.files.mentions import MAX_MENTIONS, Mention, mentions
from prunecli.tools.ls import Ls
from prunecli.tools.read import Read
from prunecli.util.errors import PromptBlocked
from prunecli.util.regular import open_regular

_HEAD_BYTES = 16


async def attach(executor: Executor, words: str, *, strict: bool = False) -> list[Attachment]:
    """Read the files mentioned in a prompt. The result contains a line for each file that can't be attached.

    With `strict`, raises PromptBlocked for an image or PDF that can't be attached, because the prompt is useless
    without it.
    """
    wanted = await asyncio.to_thread(_wanted, words, str(executor.context().cwd))
    if len(wanted) > MAX_MENTIONS:
        executor.session.tell(Notice(f"Only the first {MAX_MENTIONS} mentions were attached.", "warning"))
    reading = replace(executor, tools={"read": Read(), "ls": Ls()})
    attachments: list[Attachment] = []
    for one in wanted[:MAX_MENTIONS]:
        made = one.problem or await _attachment(reading, one)
        if isinstance(made, Attachment):
            attachments.append(made)
            continue
        path = one.mention.path
        why = f"{path} was not attached: {made.removeprefix(f'{path}: ')}"
        if strict and one.is_media:
            raise PromptBlocked(why, "remove the @ to send only its path")
        executor.session.tell(Notice(why, "warning"))
    return attachments


class _Wanted(NamedTuple):
    """A mention with the call that reads it, and the reason if it can't be read."""

    mention: Mention
    call: ToolUse
    is_media: bool
    problem: str


def _wanted(words: str, cwd: str) -> list[_Wanted]:
    wanted: list[_Wanted] = []
    for mention in mentions(words, cwd):
        path = os.path.expanduser(mention.path)
        full = os.path.join(cwd, path)
        given: dict[str, Json] = {"path": well_formed(path)}
        if os.path.isdir(full):
            wanted.append(_Wanted(mention, ToolUse("", "ls", given), False, ""))
            continue
        if mention.first:
            given |= {"offset": mention.first, "limit": mention.last - mention.first + 1}
        empty = is_media_name(full) and not os.path.getsize(full)
        is_media = _is_media(full)
        wanted.append(
            _Wanted(mention, ToolUse("", "read", given), is_media, "the file is empty" if empty else "")
        )
    return wanted


async def _attachment(reading: Executor, wanted: _Wanted) -> Attachment | str:
    call = wanted.call
    output, cut = await reading.outcome(call)
    if output.details.get("denied"):
        return str(output.details.get("reason") or "you did not allow it")
    if output.is_error:
        return plain_text(output.content).strip().partition("\n")[0]
    details = well_formed_json(dict(output.details))
    head = Text(f"{ATTACHED}{headline(well_formed(wanted.mention.label), output.content)}]")
    attached = Attached(call.name, call.input, details)
    return Attachment(UserMessage((head, *output.content), "attachment", attached=attached), cut)


def _is_media(path: str) -> bool:
    """Return whether a file is an image or a PDF, by its name or its first bytes."""
    if is_media_name(path):
        return True
    try:
        with open_regular(path) as file:
            sample = file.read(_HEAD_BYTES)
    except OSError:
        return False
    return media_type_of(sample) is not None or sample.startswith(b"%PDF-")
