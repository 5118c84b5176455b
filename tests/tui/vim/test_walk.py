"""Long walks through vim's commands, at random, end at the text that vim itself ends at."""

import random
import shutil
from pathlib import Path

import pytest

from tests.tui.vim.against import by_engine, by_vim
from tests.tui.vim.test_engine import CODE, LETTERS, PROSE, QUOTES, WORDS

WIDE = "日本語 テスト です。 한국어 mixed中文words\n\n🙂 emoji 👍x éä ño\n\t\ttab\tin\tline\n  {x: [1, 2], y: (3)}"
BLANK = "\n\n\n   \n\t\na\n\n\nb  \n  "
TEXTS = (
    PROSE,
    CODE,
    WORDS,
    LETTERS,
    QUOTES,
    "",
    "x y\n",
    WIDE,
    " ".join(map(str, range(200))) + "\nend",
    BLANK,
)
MOTIONS = [" ", *"h l j k w b e W B E ge gE 0 ^ $ gg G { } + - _ g_ | % f t F T ; , \b".split()]  # noqa: SIM905
MOVING = "w e b $ j k G W E B l".split()  # noqa: SIM905
"""For gU and its like, with which vim changes a character although a motion does not move."""
OBJECTS = "iw aw iW aW i( a( i[ a[ i{ a{ i\" a\" i' a' ip ap ib aB i<".split()  # noqa: SIM905
OPERATORS = "d c y > < g~ gu gU".split()  # noqa: SIM905
VISUAL = 'd y U u ~ x J gJ > < p P rq r日 D Y X \x1b c s C S v\x1b g~ gU "ad "_p'.split()  # noqa: SIM905
SCRIPTS = 3_000
EQUAL = 0.985
"""What is known to differ: steps of undo that change nothing, counts beyond the last line, `gJ` and objects there."""


def walk(seed: int) -> tuple[str, str]:
    rng = random.Random(seed)

    def count() -> str:
        return rng.choice(["", "", "", "2", "3", "5"])

    def typed() -> str:
        return rng.choice(["zz", "q w", "xy\bk", "(é", "日", "", "ab\ncd"]) + "\x1b"

    def motion(among: list[str]) -> str:
        key = rng.choice(among)
        times = rng.choice(["", "", "", "2", "3", "10"]) if key != "0" else ""
        return times + key + (rng.choice('aeo ,.("日x') if key in "ftFT" else "")

    def register() -> str:
        return rng.choice(["", "", "", "", '"a', '"A', '"b', '"_', '"0', '"1', '"-'])

    def operated() -> str:
        operator = rng.choice(OPERATORS)
        at_all = motion(MOVING if operator[0] == "g" else MOTIONS)
        what = rng.choice([at_all, at_all, count() + rng.choice(OBJECTS), operator[-1]])
        return register() + count() + operator + what + typed() * (operator == "c")

    def selected() -> str:
        kind = rng.choice("vV")
        objects = [one for one in OBJECTS if kind == "v" or "p" not in one]
        steps = [
            rng.choice([motion(MOTIONS), motion(MOTIONS), rng.choice(objects), "o"])
            for _ in range(rng.randrange(3))
        ]
        end = rng.choice(VISUAL)
        return kind + "".join(steps) + end + typed() * (end in ("c", "s", "C", "S"))

    def command() -> str:
        match rng.randrange(12):
            case 0 | 1 | 2:
                return motion(MOTIONS)
            case 3 | 4:
                return operated()
            case 5:
                key = rng.choice(["J", "gJ", "~", "rq", "ré", *"xXDYsCS"])
                return (register() if key in "xXDYsCS" else "") + count() + key + typed() * (key in "sCS")
            case 6:
                return count() + rng.choice(["i", "a", "I", "A", "o", "O", "gI"]) + typed()
            case 7:
                return register().replace('"_', "") + count() + rng.choice("pP")
            case 8:
                return count() + rng.choice("..uu\x12")
        return selected()

    return rng.choice(TEXTS), "ferq" + "".join(command() for _ in range(rng.randrange(2, 9)))


@pytest.mark.skipif(not shutil.which("vim"), reason="vim is not installed")
def test_walks_end_at_the_text_that_vim_ends_at(tmp_path: Path) -> None:
    cases = list(map(walk, range(SCRIPTS)))
    made = [text for at in range(0, SCRIPTS, 500) for text in by_vim(cases[at : at + 500], tmp_path)]
    wrong = [(*case, text) for case, text in zip(cases, made, strict=True) if by_engine(*case) != text]
    assert len(wrong) <= (1 - EQUAL) * SCRIPTS, sorted(wrong, key=lambda one: len(one[1]))[:20]
