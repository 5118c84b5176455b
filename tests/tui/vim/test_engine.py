"""The engine does to a text what vim itself does."""

import random
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.vim.against import by_engine, by_vim, edited

PROSE = "the quick brown fox\njumps over  the lazy dog\n\n  indented line here\nlast, one. (end)\n"
CODE = "def f(a, b):\n    return [a, (b + 1)]\n\n\nprint(\"hi there\", 'x')\n{\n  one\n  two\n}"
WORDS = "one two\n\n   \nthree  four-five  six\n\tseven\nêt é a_b 日本 かな x"
LETTERS = "a b c\nd e f\ng h i\nj k l"
QUOTES = 'say "a b" and "c \\" d" end\n(a (b c) d) [x]\n'
TEXTS = (PROSE, CODE, WORDS, LETTERS, QUOTES, "", "x")

TABLE = """
x 3x X $x dd 2dd jdd Gdd dG dgg dj dk 3dj d$ D d0 wd^ dw 2dw d2w 2d2w wdb de dE dB wdge df, dt, $dF( dTa
d} jd{ d% di( ci(q| da( dib di[ di{ da{ di" da" ci"q| di' diw daw diW daW d2aw dip dap yipP 2dap cip| ca(q|
cwnew| cw| 2cwx| cc| ccq| Sq| sq| 3sq| C| Cq| jcjq| Iq| Aq| aq| iq| oq| Oq| 3ix| 2oq| 3Aq| 2Oq| gIq|
yyp yyP 2yyjp Yp ywP y$P yiwwP "ayyj"ap "ayw"Ayw$"ap ddp ddkP xp dwdw"1p dd"1P "_ddp yyjdd"0p dw"-p
>> << 2>> >j jj>> .j >G<G g~~ guu gUU gUiw g~w guw J 3J gJ jJ ~ 3~ rx 3rx r| u dduu xxu. xu\x12 ddj.u\x12
fo; fo, fa;x to;x Fo; 2fox cwx|w. dw.. x3. A!|j. ddjp. >>j. J. ~.. rqw. iab|w. oq|j.. dawu. ciwnew|jb.
vd vwd vjd vey$p viwd vawd vip> vi(d va"d vab~ vU veu vjJ vrq vexp vjyP veod v$d vGd Vd Vjd VGd VyP Vjp V> Vj< VU
Vju VrqV VJ vjVd Vjvd vwcq| Vcq| vsq| vD vY$p vX vCq| wvby$p vefad vd. Vjdu Vd. vwd. v| vjojd v2wd yyVp yyjVjP ywjviwp
v"_p V"_p v"_P vp. VjpG. "1p.. viwawd viWaWd jfcva(a(d $va[a(d vapd fe2␣x $␣x j0\x08x j0d\x08 $d␣ 3d␣ 50%x d50%
"addP "aD"-P d%P d}"1P jVkux jVko~x feVux y_x Vjcq|ux G~x.
G0 ggx 3Gx 3|x g_x +x -x jjkx _x 2_x $hx gex gEx Bx Wx Ex ex bx }x {x %x wwbx e2x 5lx 3wx 2ex lx.u.u
"""
"""Edits, separated by white space; | is Esc, and ␣ a space."""


def table() -> list[tuple[str, str]]:
    edits = [
        edit.replace("|", "\x1b").replace("\\x12", "\x12").replace("\\x08", "\b").replace("␣", " ")
        for edit in TABLE.split()
    ]
    return [(TEXTS[at % 5], edit) for at, edit in enumerate(edits)]


_MOTIONS = "h l j k w b e W B E ge 0 ^ $ gg G fa te F, To ; , } + - _ g_ 3| 2w 3l 2j".split()  # noqa: SIM905
_OBJECTS = "iw aw iW aW i( a( i[ a[ ip ap".split()  # noqa: SIM905


def drawn(seed: int) -> tuple[str, str]:
    """Some commands in a row, without those of which vim counts what it did differently with every release."""
    rng = random.Random(seed)

    def command() -> str:
        typed = rng.choice(["zz", "q w", "xy\bk"]) + "\x1b"
        count = rng.choice(["", "", "", "2", "3"])
        match rng.randrange(9):
            case 0 | 1:
                return rng.choice(_MOTIONS)
            case 2 | 3:
                operator = rng.choice(["d", "c", "y", ">", "<"])
                what = rng.choice([rng.choice(_MOTIONS), rng.choice(_OBJECTS), operator])
                return rng.choice(["", '"a', '"A']) + operator + what + typed * (operator == "c")
            case 4:
                return rng.choice(
                    ["J", "gJ", *(count + one for one in ("x", "D", "~", "s" + typed, "C" + typed))]
                )
            case 5:
                return count + rng.choice("iaIAoO") + typed
            case 6:
                return rng.choice(["", '"a', '"0']) + count + rng.choice("pP")
            case 7:
                return rng.choice([".", ".", "u", "u", "\x12"])
        selected = rng.choice(["", "j", "w", "e", "iw", "o"])
        return rng.choice("vV") + selected + rng.choice(["d", "y", "U", "c" + typed, "\x1b"])

    return rng.choice(TEXTS), "ferq" + "".join(command() for _ in range(rng.randrange(2, 6)))


@pytest.mark.skipif(not shutil.which("vim"), reason="vim is not installed")
def test_an_edit_gives_the_text_that_vim_gives(tmp_path: Path) -> None:
    cases = [*table(), *(drawn(seed) for seed in range(120))]
    assert len(cases) >= 300
    made = by_vim(cases, tmp_path)
    wrong = [
        (text, keys, vim, own)
        for (text, keys), vim in zip(cases, made, strict=True)
        if (own := by_engine(text, keys)) != vim
    ]
    assert not wrong


_PRESSED = "hjklwbeWBE0^$gGfFtT;,{}%+-_|xXdcyY<>~uUJrpPiaIAoOsSCDvV.123\"'()[]wp \x1b\x12\b日"


@given(st.sampled_from(TEXTS), st.text(_PRESSED, max_size=40))
def test_no_keys_lead_out_of_the_text_or_what_is_undone_astray(text: str, keys: str) -> None:
    vim = edited(text, keys)
    assert 0 <= vim.at <= len(vim.text)
    vim.escape()
    vim.escape()
    vim.press("9")
    vim.press("9")
    vim.press("u")
    assert vim.text == text
