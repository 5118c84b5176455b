"""What is imported before the first frame: nothing that it can do without."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = (
    "anthropic",
    "difflib",
    "httpx2",
    "markdown_it",
    "pygments",
    "prunecli.agent",
    "prunecli.commands",
    "prunecli.config",
    "prunecli.context",
    "prunecli.model",
    "prunecli.providers",
    "prunecli.runtime",
    "prunecli.session",
    "prunecli.tools",
    "prunecli.tui.conversation",
    "prunecli.tui.themes",
    "prunecli.tui.transcript.transcript_view",
    "rich.markdown",
    "rich.syntax",
    "textual.widgets._input",
    "textual.widgets._markdown",
    "textual.widgets._static",
    "tiktoken",
    "tree_sitter",
)


def modules(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.slow
def test_the_first_frame_waits_for_textual_and_for_little_else() -> None:
    bare = modules("import textual.app, textual.drivers.linux_driver, textual.widgets._text_area")
    ours = modules("import prunecli.tui.app") - bare
    assert sorted(name for name in ours if name.startswith(HEAVY)) == []
    assert len(ours) <= 48


def test_the_first_start_ever_reads_a_theme_without_the_configuration_or_the_agent() -> None:
    """No colors are saved yet, so the theme's file is read before the first frame."""
    read = modules(
        "from prunecli.tui import themes\nfrom prunecli.util.paths import Places\n"
        "themes.load_theme(Places.of({'HOME': '/nowhere'}), themes.DEFAULT)"
    )
    parts = ("config.options", "config.effective", "context", "model", "providers")
    heavy = tuple(f"prunecli.{part}" for part in parts)
    assert sorted(name for name in read if name.startswith(heavy)) == []


def test_the_plain_start_brings_no_more_before_it_draws() -> None:
    drawn = modules("import prunecli.__main__, prunecli.cli.launch, prunecli.tui")
    assert sorted(name for name in drawn if name.startswith((*HEAVY, "textual", "rich", "typer"))) == []
