"""What the Markdown of models means where it is about Python."""

import pytest

from prunecli.util.commonmark import parser


@pytest.mark.parametrize(
    "text",
    [
        "tabulate/__init__.py:988",
        "see pkg/__main__.py and __init__.py",
        "(__init__)",
        "self.__dict__ and obj.__custom_thing__",
        "__pycache__/ and __mypackage__/x.py",
        "call __post_init__() first",
        "__version__ = 1",
    ],
)
def test_the_underscores_of_a_python_name_are_kept(text: str) -> None:
    assert parser().renderInline(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("this is __important__ now", "this is <strong>important</strong> now"),
        ("__two words__", "<strong>two words</strong>"),
        ("**__init__**", "<strong>__init__</strong>"),
        ("_a_ and ___both___", "<em>a</em> and <em><strong>both</strong></em>"),
        ("[__init__.py](a/b)", '<a href="a/b">__init__.py</a>'),
        ("snake__case__name", "snake__case__name"),
    ],
)
def test_other_words_between_underscores_are_strong(text: str, expected: str) -> None:
    assert parser().renderInline(text) == expected
