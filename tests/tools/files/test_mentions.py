"""Which words of a prompt mention a file or a folder."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.tools.files.mentions import Mention, mentions


@pytest.fixture
def here(tmp_path: Path) -> str:
    for name in ("src/app.py", "my docs/a b.md", "README.md", "notes#L2", "@types/x.ts", "ü.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    return str(tmp_path)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("fix @src/app.py, please", [Mention("src/app.py")]),
        ("@src/ and (@README.md)", [Mention("src/"), Mention("README.md")]),
        ("@src and @src", [Mention("src")]),
        ("`@README.md` \"@README.md\" '@README.md'", [Mention("README.md")]),
        ('see @"my docs/a b.md"!', [Mention("my docs/a b.md")]),
        ('see @"my docs/', [Mention("my docs/")]),
        ('@"my docs/a b.md"#L3-5', [Mention("my docs/a b.md", 3, 5)]),
        ("@README.md#L10-40", [Mention("README.md", 10, 40)]),
        ("@README.md#L10-L40.", [Mention("README.md", 10, 40)]),
        ("@README.md#L7", [Mention("README.md", 7, 7)]),
        ("@README.md#L0-0", [Mention("README.md", 1, 1)]),
        ("@README.md#L9-2", [Mention("README.md", 9, 9)]),
        ("@notes#L2", [Mention("notes#L2")]),
        ("@notes#L2#L4", [Mention("notes#L2", 4, 4)]),
        ("@@types/x.ts", []),
        ("@./@types/x.ts", [Mention("./@types/x.ts")]),
        ("@ü.txt?", [Mention("ü.txt")]),
        ("@nothing.py and me@README.md", []),
        ("@dataclass\n@src/app.py", [Mention("src/app.py")]),
        ("@", []),
        ("@/", []),
        ("from '@/components'", []),
        ("@bad\0name", []),
        ("@" + "x" * 5000, []),
    ],
)
def test_only_what_exists_is_mentioned(here: str, text: str, found: list[Mention]) -> None:
    assert mentions(text, here) == found


def test_the_home_folder_has_its_short_name(here: str, tmp_path: Path) -> None:
    assert mentions(f"@{tmp_path}/README.md", here) == [Mention(f"{tmp_path}/README.md")]
    assert mentions("@~nobody-of-this-name/x", here) == []


@given(st.text(st.sampled_from('@"#L12-/. \nREADME.md')))
def test_any_text_is_understood(text: str) -> None:
    for mention in mentions(text, "/"):
        assert mention.path in text
        assert 0 <= mention.first <= mention.last
