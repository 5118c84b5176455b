"""Everything that a program says of itself before anybody asks, as JSON: the texts by place.

`python -m tests.features.places FOLDER`, with the package to ask first on the path. It runs a headless turn and the
interface with the demo model, so it also shows that the program works.
"""

import asyncio
import json
import os
import sys
import tomllib
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from prunecli.__main__ import run
from prunecli.cli.flags import commands
from prunecli.commands.command import offered, run_line
from prunecli.config.effective import Config
from prunecli.runtime.preamble import preamble
from prunecli.tui.actions import offered as offered_actions
from tests.scripted import says
from tests.starting import start
from tests.tui.showing_app import shown


def printed(*words: str, home: Path) -> str:
    """What a command line prints. It must succeed."""
    out = StringIO()
    with redirect_stdout(out):
        code = run(list(words), {"HOME": str(home), "PATH": os.environ["PATH"], "SHELL": "/bin/sh"})
    assert code == 0, (words, code, out.getvalue())
    return out.getvalue()


def of_command_lines(folder: Path) -> dict[str, str]:
    home = folder / "home"
    home.mkdir(parents=True)
    texts = {"--help": printed("--help", home=home)}
    for name in commands():
        texts[f"{name} --help"] = printed(name, "--help", home=home)
    texts["config show"] = printed("config", "show", home=home)
    texts["-p"] = printed("-p", "hi", "--model", "demo", home=home)
    if "doctor" in commands():
        texts["doctor"] = printed("--model", "demo", "doctor", home=home)
    return texts


def of_runtime(folder: Path) -> dict[str, str]:
    runtime = start(folder, [says("Hello.")])
    tools = preamble(runtime.setup, runtime.tools.values(), 0, window=200_000, trusted=True)
    texts = {
        "system prompt": "\n".join(map(str, tools["system"])),
        "tools": json.dumps(tools["tools"], indent=1),
        "providers": "\n".join(
            f"provider {name}: {', '.join(runtime.config.providers.endpoints(name))}"
            for name in runtime.config.providers.names()
        ),
        "options": "\n".join(f"{one.key}" for one in Config().items()),
        "actions": "\n".join(f"{one.name} {one.help}" for one in offered_actions(runtime.config.installed)),
        "commands": "\n".join(f"/{name} {text}" for name, text, _ in offered(runtime)),
    }
    for name in ("help", "status", "permissions"):
        texts[f"/{name}"] = "\n".join(map(str, run_line(runtime, f"/{name}")))
    asyncio.run(runtime.close())
    return texts


async def of_screen(folder: Path) -> dict[str, str]:
    async with shown(folder, [says("Hello.")], size=(160, 48)) as s:
        texts = {"screen": s.screen_text()}
        await s.type("hello", "enter")
        await s.until_shown("Hello.")
        await s.idle()
        texts["screen after a turn"] = s.screen_text()
        await s.type("/")
        await s.until_shown("/config")
        texts["menu"] = s.screen_text()
    return texts


def main() -> None:
    folder = Path(sys.argv[1])
    texts = {
        **of_command_lines(folder / "lines"),
        **of_runtime(folder / "runtime"),
        **asyncio.run(of_screen(folder / "screen")),
    }
    sample = Path(sys.argv[2]).read_text("utf-8") if len(sys.argv) > 2 else ""
    tomllib.loads(sample)
    sys.stdout.write(json.dumps(texts))


if __name__ == "__main__":
    main()
