"""Which colors code has."""

from prunecli.tui.transcript.highlight import CodeText, LineLexer, highlight
from prunecli.tui.transcript.rows import Run
from prunecli.util.lexing import LONGEST_LINE, language_of, lexer
from tests.tui.transcript.showing import INKS

STRING = ["Literal.String"]
KEYWORD = dict(INKS.syntax)["Keyword"]
DOC = 's = """\n' + "text in a string\n" * 200 + '"""\nx = 1'


def plain(lines: list[list[Run]]) -> str:
    return "\n".join("".join(text for text, _ in line) for line in lines)


def style_names(line: list[Run]) -> list[str]:
    names: dict[object, str] = {INKS.code: "code"}
    for name, style in INKS.syntax:
        names.setdefault(style, name)
    return [names[style] for _, style in line]


def test_the_text_comes_out_as_it_went_in():
    for language in ("python", "bash", "json", "console", "html", "nothing-known", ""):
        for code in ("", "\n", "x = 1\n\n\ny", "  a\n", "$ ls\nout\n", "<a b='c'>"):
            assert plain(highlight(code, language, INKS)) == code


def test_kinds_of_words_have_colors_of_their_own():
    assert (
        style_names(highlight("def f(): return 1  # why", "python", INKS)[0])[0]
        == style_names([("", KEYWORD)])[0]
    )
    assert "Comment" in style_names(highlight("x  # why", "python", INKS)[0])


def test_unknown_languages_and_very_long_lines_are_plain():
    assert style_names(highlight("def f(): pass", "klingon", INKS)[0]) == ["code"]
    assert style_names(highlight("x = 1;" * LONGEST_LINE, "python", INKS)[0]) == ["code"]


def test_no_plug_in_is_looked_for():
    assert lexer("no such language") is None
    assert lexer("") is None


def test_file_names_tell_the_language():
    for path, language in {
        "src/a.py": "python",
        "A.RS": "rust",
        "Makefile": "make",
        "dir.d/Dockerfile": "docker",
        "x.h": "c",
        "notes.txt": "",
        "LICENSE": "",
        "a.unheard-of": "",
        "C:\\x\\y.ts": "typescript",
    }.items():
        assert language_of(path) == language


def test_only_what_is_asked_for_is_lexed():
    lexing = LineLexer("x = 1\n" * 10_000, "python", INKS)
    assert lexing.advance(5, 1_000)
    assert len(lexing.lines) < 20
    assert not lexing.advance(9_000, 500)
    assert not lexing.done


def test_a_closed_text_is_lexed_as_a_whole_and_an_open_one_piece_by_piece():
    code = CodeText("python")
    first, second, third = (
        "\n".join(DOC.split("\n")[:100]),
        "\n".join(DOC.split("\n")[100:200]),
        'x"""\nx = 1',
    )
    for piece in (first, second, third):
        code.add(piece)
    assert style_names(code.lines(1, INKS, 100_000)[0]) != STRING
    version = code.version
    code.close()
    assert code.version > version
    assert style_names(code.lines(1, INKS, 100_000)[0]) == STRING
    assert plain(list(code.lines(0, INKS, 100_000))) == first


def test_what_is_far_ahead_is_rough_until_it_is_refined():
    code = CodeText("python")
    for start in range(0, 200, 50):
        code.add("\n".join(DOC.split("\n")[start : start + 50]))
    code.close()
    rough = code.lines(3, INKS, 100)
    assert code.rough
    assert style_names(rough[0]) != STRING
    version = code.version
    while not code.refine(500):
        assert code.rough
    assert not code.rough
    assert code.version > version
    assert style_names(code.lines(3, INKS, 0)[0]) == STRING


def test_forgotten_lines_are_made_again():
    code = CodeText("python")
    code.add("x = 1")
    code.add("y = 2")
    code.close()
    before = list(code.lines(1, INKS, 1000))
    code.forget()
    assert list(code.lines(1, INKS, 1000)) == before


def test_a_lexer_that_takes_too_long_is_given_up():
    code = "x = 1\ny = 2"
    lines = highlight(code, "python", INKS, seconds=-1)
    assert plain(lines) == code
    assert {style for line in lines for _, style in line} == {INKS.code}
