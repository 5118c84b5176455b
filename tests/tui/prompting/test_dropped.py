"""Files dropped on the terminal arrive as a paste of their paths."""

from pathlib import Path

import pytest

from prunecli.tui.prompting.dropped import as_mentions


@pytest.fixture
def here(tmp_path: Path) -> Path:
    for name in ("shot.png", "my shot (1).PNG", "it's.jpg", "paper.pdf", "notes.txt", "ü b.webp"):
        (tmp_path / name).write_bytes(b"x")
    return tmp_path


@pytest.mark.parametrize(
    ("pasted", "mentioned"),
    [
        ("{0}/shot.png", "@shot.png "),
        ("'{0}/my shot (1).PNG' ", '@"my shot (1).PNG" '),
        ('"{0}/my shot (1).PNG"', '@"my shot (1).PNG" '),
        ("{0}/my\\ shot\\ \\(1\\).PNG ", '@"my shot (1).PNG" '),
        ("{0}/my shot (1).PNG", '@"my shot (1).PNG" '),
        ("{0}/it\\'s.jpg", "@it's.jpg "),
        ("{0}/it's.jpg", "@it's.jpg "),
        ("file://{0}/my%20shot%20(1).PNG", '@"my shot (1).PNG" '),
        ("file://localhost{0}/shot.png", "@shot.png "),
        ("file://{0}/%C3%BC%20b.webp\nfile://{0}/paper.pdf\n", '@"ü b.webp" @paper.pdf '),
        ("{0}/shot.png {0}/paper.pdf", "@shot.png @paper.pdf "),
        ("{0}/notes.txt", None),
        ("{0}/gone.png", None),
        ("{0}/shot.png is wrong", None),
        ("see {0}/shot.png", None),
        ("shot.png", None),
        ("'{0}/shot.png", None),
        ("", None),
        (" \n", None),
        ("{0}/a\0.png", None),
        ("x" * 10_000 + ".png", None),
    ],
)
def test_only_paths_of_images_and_pdf_files_become_mentions(
    here: Path, pasted: str, mentioned: str | None
) -> None:
    assert as_mentions(pasted.format(here), str(here)) == mentioned


def test_a_file_elsewhere_keeps_its_full_path(here: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = str(tmp_path_factory.mktemp("elsewhere"))
    assert as_mentions(f"{here}/shot.png", elsewhere) == f"@{here}/shot.png "
