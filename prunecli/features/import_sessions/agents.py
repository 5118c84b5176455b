"""The agents of `session/importers` as importers, one for each name."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from prunecli.session.importers import finding, handoff
from prunecli.session.session_search import Hit
from prunecli.session.store import Listed, Store


class OtherAgent:
    """See `prunecli.runtime.importers.Importer`. `name` is what people type, such as @claude."""

    def __init__(self, name: str) -> None:
        self._name = name

    def listed(self, environ: Mapping[str, str], cwd: Path | None, problems: list[str]) -> Iterator[Listed]:
        return finding.listed(self._name, environ, cwd, problems)

    def search(self, sessions: Sequence[Listed], query: str) -> Iterable[Hit | int]:
        return finding.search(sessions, query)

    def check_some(self, environ: Mapping[str, str], cwd: Path) -> None:
        handoff.check_some(self._name, environ, cwd)

    def hand_over(
        self, wanted: str, environ: Mapping[str, str], cwd: Path, store: Store
    ) -> handoff.HandedOver:
        found = handoff.find(wanted, environ, cwd)
        return handoff.hand_over(found.path, self._name, store, cwd)


claude = OtherAgent("@claude")
codex = OtherAgent("@codex")
pi = OtherAgent("@pi")
gemini = OtherAgent("@gemini")
opencode = OtherAgent("@opencode")
