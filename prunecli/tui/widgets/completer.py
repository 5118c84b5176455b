"""Connects prompt and menu: typing requests completions, and the chosen one goes into the prompt."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence

from prunecli.front.presentation import completion
from prunecli.tui.slices import ended
from prunecli.tui.widgets.menu import Menu
from prunecli.tui.widgets.prompt import Prompt

NO_FILE = "No matches; ignored files are left out"
FRESH_SECONDS = 10.0
"""Seconds before the files are listed again."""

Commands = Callable[[], Sequence[tuple[str, str, Sequence[str]]]]
"""Name, help and aliases of every slash command."""


Arguments = Callable[[str], Sequence[tuple[str, str]]]
"""The possible last words of a command line, each with its detail."""


class Completer:
    """Completion for one prompt. `@` offers the files of `root`, an absolute folder, and `resources`."""

    def __init__(
        self,
        prompt: Prompt,
        menu: Menu,
        commands: Commands,
        arguments: Arguments,
        root: str,
        resources: Callable[[], Sequence[str]] = lambda: (),
    ) -> None:
        self._prompt = prompt
        self._menu = menu
        self._commands = commands
        self._arguments = arguments
        self.root = root
        self._resources = resources
        self._topic = self._query = ""
        self._shown_for = ("", "")
        self._was_moved = False
        self._dismissed = ""
        self._paths: list[str] = []
        self._whole = True
        self._good_until = 0.0
        self._listing: asyncio.Task[None] | None = None
        self._answered: str | None = None
        self._left: str | None = None

    @property
    def is_open(self) -> bool:
        return self._menu.is_open and bool(self._menu.offers)

    def asked(self, topic: str, query: str) -> None:
        """Offer completions for the typed text; a `topic` of "" means there are none."""
        if self._topic == "file" and (topic, query) != ("file", self._query):
            self._left = "" if self._answered == self._query or self._dismissed == "file" else self._query
        if topic != self._topic:
            self._dismissed = ""
        self._topic, self._query, self._was_moved = topic, query, False
        if not topic or topic == self._dismissed:
            self.close()
        elif topic == "command":
            self._open(completion.command_offers(query, self._commands()))
        elif topic == "argument":
            offers = completion.argument_offers(query, self._arguments(query))
            self._open(offers) if offers else self.close()
        elif topic == "history":
            offers = completion.history_offers(query, self._prompt.past.entries)
            self._open(offers, "" if offers else "No matching prompts")
        else:
            self._prompt.run_worker(self._offer_files(query), group="complete", exclusive=True)

    async def _offer_files(self, query: str) -> None:
        """List and match files in a thread, so that keys stay responsive."""
        if self._listing is None or (self._listing.done() and time.monotonic() > self._good_until):
            self._listing = self._begin_listing()
        if not self._paths:
            if self._wants(query):
                self._open((), "Listing files …")
            await asyncio.shield(self._listing)
        offers = await asyncio.to_thread(
            completion.file_offers, query, self._paths, resources=self._resources()
        )
        if self._wants(query):
            rest = "" if self._whole else f"only the first {len(self._paths):,} files were searched"
            self._open(offers, rest or ("" if offers or query in self._paths else NO_FILE))
            self._answered = query

    def _wants(self, query: str) -> bool:
        """Return whether the files for this query are still wanted: keys may have come since it was typed."""
        return (self._topic, self._query) == ("file", query) and self._dismissed != "file"

    def is_unanswered(self, text: str) -> bool:
        """Return whether a submitted prompt ends with an `@` word that was never offered completions.

        That happens if Enter comes before the files are listed.
        """
        mention = completion.last_mention(text)
        unseen = self._left is None and self._topic != "file"
        return mention is not None and (unseen or self._left == mention.query)

    async def completed(self, text: str) -> str:
        """Complete the last word of an unanswered prompt as Enter would have done. Without a match, return it
        unchanged."""
        mention = completion.last_mention(text)
        if mention is None or not self.is_unanswered(text):
            return text
        if self._is_file(mention.query) or mention.query in self._resources():
            return text
        self._left = ""
        if self._listing is None:
            self._listing = self._begin_listing()
        await asyncio.shield(self._listing)
        offers = await asyncio.to_thread(completion.file_offers, mention.query, self._paths, 1)
        return text[: mention.start] + offers[0].value.strip() if offers else text

    def _begin_listing(self) -> asyncio.Task[None]:
        task = asyncio.create_task(self._list())
        task.add_done_callback(ended)
        return task

    async def _list(self) -> None:
        """List the files. Not canceled with its caller, since each typed letter calls it again."""
        self._paths, self._whole = await asyncio.to_thread(completion.listed, self.root)
        self._good_until = time.monotonic() + FRESH_SECONDS

    def _open(self, offers: Sequence[completion.Offer], note: str = "") -> None:
        self._shown_for = self._topic, self._query
        self._menu.show(offers, note)

    def close(self) -> None:
        self._menu.close()

    def knows(self, name: str) -> bool:
        return any(name in (known, *aliases) for known, _, aliases in self._commands())

    def key(self, action: str) -> bool:
        """Handle a prompt key in the menu; return False if it has no meaning there or submits a complete command."""
        match action:
            case "older" | "newer" | "search_history":
                self._menu.move(-1 if action == "older" else 1)
                self._was_moved = True
            case "complete":
                self.choose()
            case "submit":
                return self._enter()
            case _:
                self._dismissed = self._topic
                self.close()
                if self._prompt.searching:
                    self._prompt.end_search()
        return True

    def _enter(self) -> bool:
        if self._shown_for != (self._topic, self._query):
            return False
        if self._topic == "command" and not self._was_moved and self.knows(self._query):
            self.close()
            return False
        if self._topic == "argument" and not self._was_moved and self._is_argument:
            self.close()
            return False
        if self._topic == "file" and not self._was_moved and self._is_file(self._query):
            self.close()
            return False
        if self._topic not in ("command", "argument"):
            return bool(self.choose())
        offer = self._menu.chosen
        self.close()
        if offer and (self._topic == "argument" or self._was_moved or self._query in offer.label):
            self._prompt.complete(
                offer.value.rstrip()
            )  # scattered letters may be another agent's command: /ps
        return False

    def _is_file(self, query: str) -> bool:
        """Return whether this is the path of a file, or of a folder with its slash, possibly one that the list
        omits."""
        path = os.path.join(self.root, query)
        return os.path.isfile(path) or (query.endswith("/") and os.path.isdir(path))

    @property
    def _is_argument(self) -> bool:
        """Whether the last word of the command line is complete, or missing."""
        last = self._query.rpartition(" ")[2]
        return not last or any(offer.value == last for offer in self._menu.offers)

    def choose(self) -> str:
        """Put the marked completion into the prompt and return its topic."""
        offer, topic = self._menu.chosen, self._topic
        self.close()
        if offer:
            self._prompt.complete(offer.value)
        return topic if offer else ""
