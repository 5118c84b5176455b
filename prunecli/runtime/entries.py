"""Entries as the user names them: by the numbers that /context shows."""

from collections.abc import Sequence

from prunecli.errors import UsageError
from prunecli.runtime.runtime import Runtime


def entries_of(runtime: Runtime, words: Sequence[str]) -> tuple[int, ...]:
    """The entries of these numbers. Raises UsageError for none and for one that is no entry."""
    known = runtime.session.context.entries
    seqs: list[int] = []
    for word in words:
        if not word.isdigit() or int(word) not in known:
            raise UsageError(f"{word} is no entry of this session", "/context shows them with their numbers")
        seqs.append(int(word))
    if not seqs:
        raise UsageError("which entry?", "/context shows them with their numbers")
    return tuple(seqs)
