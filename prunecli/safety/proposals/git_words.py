"""What a layer changes in repositories, as git says it: asked inside the sandbox, on the layer, without any
configuration. A command could mislead only these words."""

import asyncio
import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from prunecli.safety.proposals.changes import Proposal
from prunecli.tools.processes.command import run
from prunecli.tools.processes.sandboxing import Sandboxing
from prunecli.util.errors import ToolError
from prunecli.util.figures import counted
from prunecli.util.frozen import frozen
from prunecli.util.sanitize import one_line

_GIT = """
bare() {  # a folder with the data of a repository and nothing of its configuration
  at=$(mktemp -d) && cp "$1/HEAD" "$at/HEAD" && : > "$at/config" || return
  for name in objects refs packed-refs shallow; do [ ! -e "$1/$name" ] || ln -s "$1/$name" "$at/$name"; done
  export GIT_DIR="$at" GIT_INDEX_FILE="$1/index"
}
"""
_SHOW = f"""{_GIT}
for folder; do
  printf 'folder %s\\n' "$folder"
  bare "$folder" || continue
  git symbolic-ref -q HEAD
  git for-each-ref --format='ref %(refname) %(objectname)'
  found=$(git ls-files -s | cksum) && git rev-parse --git-dir > /dev/null && echo "index $found"
done 2> /dev/null
"""
_COUNT = f"""{_GIT}
while [ $# -ge 3 ]; do
  bare "$1"; printf '%s\\n' "$(git rev-list --count "$2..$3")"; shift 3
done 2> /dev/null
"""
_SECONDS, _MOST = 5.0, 1_000_000
_OFF = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}
_KINDS = {"refs/heads/": "branch", "refs/tags/": "tag", "refs/remotes/": "remote branch", "refs/": "ref"}


@frozen
class _Repository:
    """What git says of a repository: its branch, its refs, and a sum of its index."""

    head: str = ""
    refs: tuple[tuple[str, str], ...] = ()
    index: str = ""


def with_git_words(proposal: Proposal) -> Proposal:
    """Return the proposal with `git` told: "1 commit on main", "branch topic made". An index that git only wrote
    again, with other times of files, is no change. Must not be called in an event loop."""
    folders = list(dict.fromkeys(_folders(proposal)))
    if not folders:
        return proposal
    try:
        words, same = asyncio.run(_words(proposal, folders))
    except ToolError:
        return replace(proposal, git=("git can't say what changed",))
    indexes = {f"{folder}/index" for folder in same}
    changes = tuple(change for change in proposal.changes if change.full not in indexes)
    return replace(proposal, changes=changes, git=tuple(words))


async def _words(proposal: Proposal, folders: list[str]) -> tuple[list[str], list[str]]:
    """Return the words, and the repositories whose index has the same content as before."""
    walls = proposal.layer.walls
    ask = ["/bin/sh", "-c", _SHOW, "sh", *folders]
    old = _read(await _said(walls.confine(granted=False, reads=True), proposal, ask))
    new = _read(await _said(proposal.layer.confine(), proposal, ask))
    words, same, moved = list[str](), list[str](), list[tuple[str, str, str, str]]()
    for folder in folders:
        before, after = old.get(folder, _Repository()), new.get(folder, _Repository())
        if folder not in new or not after.index:
            words.append("a repository that git can't read")
            continue
        if not before.index:
            words.append("a new repository")
        earlier, later = dict(before.refs), dict(after.refs)
        for ref in sorted({*earlier, *later}):
            if ref not in earlier:
                words += [f"{_name(ref)} made"] if before.index else []
            elif ref not in later:
                words.append(f"{_name(ref)} deleted")
            elif earlier[ref] != later[ref]:
                moved.append((ref, folder, earlier[ref], later[ref]))
        if before.index and before.head != after.head:
            words.append(f"on {_name(after.head)} now" if after.head else "on no branch now")
        if before.index and before.index != after.index and before.refs == after.refs:
            words.append("index changed")
        elif before.index == after.index:
            same.append(folder)
    return [one_line(word) for word in (*await _moves(proposal, moved), *words)], same


async def _moves(proposal: Proposal, moved: list[tuple[str, str, str, str]]) -> list[str]:
    if not moved:
        return []
    pairs = [part for _, folder, old, new in moved for part in (folder, old, new, folder, new, old)]
    output = await _said(proposal.layer.confine(), proposal, ["/bin/sh", "-c", _COUNT, "sh", *pairs])
    counts = [int(line) if line.isdigit() else 0 for line in output.splitlines()]
    counts += [0] * (2 * len(moved) - len(counts))
    words = list[str]()
    for (ref, *_), more, fewer in zip(moved, counts[::2], counts[1::2], strict=False):
        name = _name(ref).removeprefix("branch ")
        words += [f"{counted(more, 'commit')} on {name}"] if more else []
        words += [f"{counted(fewer, 'commit')} less on {name}"] if fewer else []
        words += [] if more or fewer else [f"{_name(ref)} moved"]
    return words


def _folders(proposal: Proposal) -> Iterable[str]:
    for change in proposal.changes:
        before, found, _ = f"{change.full}/".partition("/.git/")
        if found:
            yield before + "/.git"


def _name(ref: str) -> str:
    for start, kind in _KINDS.items():
        if ref.startswith(start):
            return f"{kind} {ref.removeprefix(start)}"
    return ref


def _read(output: str) -> dict[str, _Repository]:
    found = dict[str, _Repository]()
    for part in re.split(r"^folder ", output, flags=re.MULTILINE)[1:]:
        folder, *lines = part.splitlines()
        head = next((line for line in lines if line.startswith("refs/")), "")
        refs = [line.removeprefix("ref ").rpartition(" ") for line in lines if line.startswith("ref ")]
        index = next((line for line in lines if line.startswith("index ")), "")
        found[folder] = _Repository(head, tuple((ref, name) for ref, _, name in refs), index)
    return found


async def _said(confine: Sandboxing, proposal: Proposal, words: list[str]) -> str:
    """Return what a command in the sandbox said. Raises ToolError."""
    output = bytearray()

    def take(data: bytes) -> bool:
        output.extend(data)
        return len(output) < _MOST

    cwd, env = proposal.layer.roots[0], {**proposal.layer.walls.ground.environ, **_OFF}
    async with confine(words, cwd=cwd, env=env, command="git") as box:
        await run(
            box.argv,
            cwd=Path(cwd),
            env=box.env,
            take=take,
            time_limit=_SECONDS,
            descriptors=box.descriptors,
            overlays=box.overlays,
        )
    return output.decode("utf-8", "replace")
