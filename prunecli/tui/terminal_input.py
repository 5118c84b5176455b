"""Turns what a terminal sends into events: keys, pastes, bursts of text, mouse, focus and reports.

Input is cut into whole pieces first: pastes, escape sequences by their form (ECMA-48), and text. Textual's parser
gets one whole sequence at a time. What it does not understand is dropped, as are the terminal's replies to questions
of others (OSC, DCS, APC, DA). Nothing here raises, whatever is sent.

Three things differ from Textual. Esc and a letter pressed right after it are two keys. Ctrl and Alt work on keyboards
with other letters. Lines without paste marks that come faster than anybody types are one text, not several prompts.
"""

import re
from collections.abc import Callable, Generator, Iterator

from textual import events
from textual._keyboard_protocol import FUNCTIONAL_KEYS
from textual._xterm_parser import XTermParser
from textual.keys import Keys
from textual.message import Message

PASTE_START, PASTE_END = "\x1b[200~", "\x1b[201~"
PAUSE_SECONDS = 0.02
"""The longest pause within a burst."""
ESCAPE_SECONDS, REPLY_SECONDS = 0.1, 0.5
"""Seconds to wait for the rest of a sequence: after Esc and at most one character, which may be keys, and later."""
LONG = 16
"""Characters without a pause that are inserted at once, because each key takes a millisecond or two."""
_MOST_HELD = 100_000
"""Maximum characters of an unfinished sequence."""
_LONGEST_SEQUENCE = 32
"""The longest sequence that Textual's parser reads."""
_MOST_COLUMNS = 5_000
"""The largest size that is believed."""

_TEXT = re.compile("[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]+")
_STRING = re.compile("\x1b[]P_^X][^\x00-\x1f\x7f\x9c]*(?:\x07|\x1b\\\\|\x9c)")
_CSI = "\x1b\\[[-0-?]*[ -/]*"
_SEQUENCE = re.compile(f"\x1b\\[M[^\x1b]{{3}}|\x1b\\[\\[[A-E]|{_CSI}[@-Z\\\\-~]|\x1bO[0-9;]*[@-~]")
_SEQUENCES = re.compile(f"{_STRING.pattern}|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]?")
_CUT_MOUSE = re.compile("\x1b\\[M[^\x1b]{0,2}\\Z")
_CUT_CSI = re.compile(f"(?:{_CSI}|\x1b\\[\\[)\\Z")
_CUT_PAIR = re.compile("\x1b(?:[]_^X]|O[0-9;]*|P[0-?]*)?\\Z")
_REPLY = re.compile("\x1b(?:\\][\\dlL]|P[0-?]*[!$+|]|_G)[^\x00-\x1f\x7f\x9c]*")
"""A reply by how it begins."""
_KEY = re.compile(
    r"\x1b\[(\d{0,7})(?::(\d{0,7}))?(?::(\d{0,7}))?(?:;(\d{0,3})(?::(\d))?)?(?:;([\d:]*))?([u~A-FHPQS])"
)
"""A key of the Kitty keyboard protocol: code:shifted:base ; modifiers:event ; text."""
_KEYS = re.compile(r"\x1b\[[\d:;]*[u~A-FHPQS]")
_SIZE = re.compile(r"\x1b\[48;(\d+)[\d:]*;(\d+)[\d:]*;(\d+)[\d:]*;(\d+)[\d:]*t")
_BREAK_INSIDE = re.compile(r"[\r\n][^\r\n]")
_KONSOLE_SHIFT_ENTER = "\x1bOM"
"""Elsewhere the Enter of the number pad, but only in a mode that the program does not use."""
_SHORTCUT = 2 | 4 | 8
"""The bits of Alt, Ctrl and Super."""
_RELEASED = "3"

_LAYOUTS = (
    ("йцукенгшщзхъфывапролджэячсмитьбю", "qwertyuiop[]asdfghjkl;'zxcvbnm,."),
    ("іїєў", "s]'o"),
    ("ςερτυθιοπασδφγηξκλζχψωβνμ", "wertyuiopasdfghjklzxcvbnm"),
    ("קראטוןםפשדגכעיחלךזסבהנמצת", "ertyuiopasdfghjklzxcvbnm,"),
    ("ضصثقفغعهخحشسيبلاتنمئءؤرىةو", "qwertyuiopasdfghjklzxcvnm,"),
    ("ㅂㅈㄷㄱㅅㅛㅕㅑㅐㅔㅁㄴㅇㄹㅎㅗㅓㅏㅣㅋㅌㅊㅍㅠㅜㅡ", "qwertyuiopasdfghjklzxcvbnm"),
)
"""Letters and their keys: Russian, Ukrainian and Belarusian, Greek, Hebrew, Arabic, Korean. For terminals that do not
report the key itself."""
_LATIN = {letter: key for letters, keys in _LAYOUTS for letter, key in zip(letters, keys, strict=True)}


class Burst(events.Paste):
    """Text without paste marks that came faster than anybody types."""

    @property
    def is_typed(self) -> bool:
        """Whether it is one line, which Enter may send."""
        return not _BREAK_INSIDE.search(self.text)

    def as_keys(self) -> Iterator[events.Key]:
        """Yield its characters as keys, for parts of the screen without a text field."""
        parser = XTermParser()
        for char in self.text:
            yield from parser._sequence_to_key_events(char)


Burst.handler_name = events.Paste.handler_name  # every field takes it as a paste


def without_sequences(text: str) -> str:
    """Remove escape sequences: pasted from a terminal, they are colors and cursor movements."""
    return _SEQUENCES.sub("", text) if "\x1b" in text or "\x9b" in text else text


class TerminalInput(XTermParser):
    """The parser. `is_bound` returns whether a key has an action. Times are seconds of one steady clock."""

    def __init__(self, is_bound: Callable[[str], object], *, debug: bool = False) -> None:
        super().__init__(debug)
        self._is_bound = is_bound
        self._held = ""
        self._pasted: list[str] | None = None
        self._burst = ""
        self._reports_keys = False
        self._read_at = self._text_at = float("-inf")

    @property
    def waits(self) -> bool:
        """Whether the next pause decides what the last input was."""
        return bool(self._burst or self._held)

    def read(self, text: str, at: float, *, early: bool = False) -> Iterator[Message]:
        """Yield the events of new input, "" for none. `early`: it waited to be read, so nobody knows how fast it
        came."""
        if text:
            self._read_at = at
        elif self._held and at - self._read_at > (ESCAPE_SECONDS if len(self._held) < 3 else REPLY_SECONDS):
            held, self._held = self._held, ""
            yield from self._given_up(held)
        text, self._held = (self._held + text, "") if text else ("", self._held)
        while text:
            if self._pasted is not None:
                used = yield from self._in_paste(text)
            elif match := _TEXT.match(text):
                used = match.end()
                yield from self._typed(match[0], at, early=early)
            else:
                yield from self._end_burst()
                used = yield from self._control(text)
            if not used:
                self._held = text if len(text) < _MOST_HELD else ""
                break
            text = text[used:]
        if self._burst and at - self._text_at > PAUSE_SECONDS:
            yield from self._end_burst()

    # Text and pastes -------------------------------------------------------------------------------------------

    def _in_paste(self, text: str) -> Generator[Message, None, int]:
        """Collect a paste. Returns the characters used: all but a possible beginning of its end."""
        assert self._pasted is not None  # noqa: S101  # the caller checked
        inside, end, _ = text.partition(PASTE_END)
        if not end:
            keep = next((n for n in range(len(PASTE_END) - 1, 0, -1) if text.endswith(PASTE_END[:n])), 0)
            inside = text[: len(text) - keep]
        self._pasted.append(inside)
        if end:
            whole, self._pasted = "".join(self._pasted), None
            yield events.Paste(without_sequences(whole).replace("\x00", ""))
        return len(inside) + len(end)

    def _typed(self, text: str, at: float, *, early: bool) -> Iterator[Message]:
        """Yield the keys of text, or hold it back while it may be a burst."""
        goes_on, self._text_at = at - self._text_at <= PAUSE_SECONDS, at
        has_break = "\r" in text[not goes_on :] or "\n" in text[not goes_on :]
        if not early and (self._burst or has_break or len(text) >= LONG):
            self._burst += text
        else:
            yield from self._keys(text)

    def _end_burst(self) -> Iterator[Message]:
        """Yield a burst as one text if it has a line break inside or is long; else as keys, such as a word and
        Enter."""
        text, self._burst = self._burst, ""
        whole = text.rstrip("\r\n")
        if _BREAK_INSIDE.search(text):
            whole = text
        elif len(whole) < LONG or "\t" in whole:
            whole = ""
        if whole:
            yield Burst(whole)
        yield from self._keys(text[len(whole) :])

    def _keys(self, text: str) -> Iterator[Message]:
        for char in text.replace("\r\n", "\r"):
            yield from self._key(char)

    def _key(self, sequence: str) -> list[events.Key]:
        try:
            found = list(super()._sequence_to_key_events(sequence))
        except (ValueError, OverflowError):
            return []
        return [key for key in found if key.key != Keys.Ignore]

    # Escape sequences ------------------------------------------------------------------------------------------

    def _control(self, text: str) -> Generator[Message, None, int]:
        """Yield the events of a control character or an escape sequence at the start of the text.

        Returns the characters used, 0 if the rest of a sequence is missing.
        """
        if text[0] != "\x1b":
            yield from self._key(text[0]) if text[0] < "\x80" else ()
        elif _CUT_MOUSE.match(text):
            return 0
        elif match := _STRING.match(text):
            return match.end()
        elif (match := _SEQUENCE.match(text)) and (text[1] != "O" or self._key(match[0])):
            yield from self._sequence(match[0])
            return match.end()
        elif _CUT_PAIR.match(text) or _CUT_CSI.match(text):
            return 0
        elif match := _REPLY.match(text):  # cut off by its end, or by a key
            return 0 if text[match.end() :] in ("", "\x1b") else match.end()
        elif (match := re.match(_CSI, text)) and match.end() > 2:  # broken off
            return match.end()
        elif text[1] == "\x1b":
            yield events.Key("escape", "\x1b")
        else:
            yield from self._pair(text[1])
            return 2
        return 1

    def _given_up(self, held: str) -> Iterator[Message]:
        """Yield what an unfinished sequence was: Esc, Esc and a character, or nothing."""
        if len(held) == 1:
            yield events.Key("escape", "\x1b")
        elif len(held) > 2 and held[1] == "[":
            yield from self._key(held)  # rxvt ends some keys with $
        elif not _REPLY.match(held):
            yield from self._pair(held[1])
            yield from self._keys(held[2:])

    def _sequence(self, sequence: str) -> Iterator[Message]:
        """Yield the events of a whole sequence, none for one that is unknown."""
        if sequence == PASTE_START:
            self._pasted = []
        elif sequence == _KONSOLE_SHIFT_ENTER:
            yield events.Key("shift+enter", None)
        elif _KEYS.fullmatch(sequence):
            key = _KEY.fullmatch(sequence)
            yield from self._reported(key) if key else ()
        elif len(sequence) <= _LONGEST_SEQUENCE and _is_believed(sequence):
            yield from self._understood(sequence)

    def _understood(self, sequence: str) -> list[Message]:
        """Return what Textual's parser makes of a sequence, and start it anew unless it reached the end."""
        try:
            found = list(self.feed(sequence))
            if self._awaiting.timeout is None:
                return found
        except (ValueError, OverflowError, ZeroDivisionError):
            pass
        self._tokens.clear()
        self._timeout_time = None
        self._gen = self.parse(self._tokens.append)
        self._awaiting = next(self._gen)
        return []

    def _reported(self, report: re.Match[str]) -> list[events.Key]:
        """Return the keys of a report in the Kitty protocol, or in xterm's older one (27;modifiers;code~)."""
        code, _, base, modifiers, kind, text, final = report.groups(default="")
        self._reports_keys |= final == "u"
        if final == "~" and code == "27" and text:
            code, text, final = text, "", "u"
        texts = [char for one in text.split(":") if (char := _character(one)) and char.isprintable()]
        if kind == _RELEASED or (final == "u" and not _character(code)):
            return []
        number = int(code or 1)
        if final != "u" and f"{number}{final}" not in FUNCTIONAL_KEYS:
            return []
        if final == "u" and not texts and number > 0x7F and (int(modifiers or 1) - 1) & _SHORTCUT:
            code = base if 0 < int(base or 0) <= 0x7F else str(ord(_latin(chr(number)) or chr(number)))
        shown = ":".join(str(ord(char)) for char in texts)
        more = f";{modifiers}" * bool(modifiers or shown) + f";{shown}" * bool(shown)
        return self._key(f"\x1b[{code}{more}{final}")

    def _pair(self, char: str) -> Iterator[events.Key]:
        """Yield the keys of Esc and a character: one if Alt and it have an action, else two."""
        if char in "\r\n":  # where Alt+Enter is reported, Shift+Enter was made to send this
            yield events.Key("shift+enter" if self._reports_keys else "alt+enter", None)
        elif known := self._key(f"\x1b{char}"):
            yield from known
        elif alt := next((key for key in self._with_alt(char) if self._is_bound(key)), ""):
            yield events.Key(alt, None)
        else:
            yield events.Key("escape", "\x1b")
            yield from self._key(char)

    def _with_alt(self, char: str) -> Iterator[str]:
        for letter in (char, _LATIN.get(char.lower(), "")):
            for key in (
                super()._sequence_to_key_events(letter, True) if letter.isprintable() and letter else ()
            ):
                yield key.key if key.key.startswith("alt+") else f"alt+{key.key}"


def _latin(letter: str) -> str:
    """Return the letter that the same key types on a Latin keyboard, "" if unknown."""
    return _LATIN.get(letter.lower(), "")


def _character(code: str) -> str:
    """Return the character of a decimal code, "" if there is none."""
    number = int(code) if code.isdecimal() and len(code) < 8 else 0
    return chr(number) if 0 < number <= 0x10FFFF and not 0xD800 <= number < 0xE000 else ""


def _is_believed(sequence: str) -> bool:
    """Return whether a sequence is not a report of an impossible size."""
    size = _SIZE.fullmatch(sequence)
    return not size or (
        all(0 < int(cells) <= _MOST_COLUMNS for cells in size.groups()[:2]) and "0" not in size.groups()[2:]
    )
