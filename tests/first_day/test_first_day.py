"""What users of five other agents type on their first day: each works, or one line says what to type instead.

The tables are read at `|`. A row with `->` is answered, and the answer has these words; others work. The program's
name is left out.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from prunecli.cli.app import app
from prunecli.cli.flags import commands, read
from prunecli.commands.command import Say, find, run_line
from prunecli.front.presentation.completion import as_command
from prunecli.util.errors import UsageError
from tests.starting import closed, start

SHELL = {
    "Claude Code": """
        "fix it" | -p "fix it" | -c | -r | --resume abc | --model opus | --permission-mode plan | -w | config | doctor
        -p --output-format json "fix it" | --add-dir ../lib | --append-system-prompt "be brief" | mcp list | update
        mcp add docs -- npx docs | mcp add --scope user docs https://docs.test
        --dangerously-skip-permissions -> --permission-mode auto | --allowedTools Bash -> --allowed-tools
        --verbose -> stream-json | --debug -> prunecli doctor | --mcp-config x.json -> mcp add-json
        --settings x.json -> --config | --system-prompt x -> --append-system-prompt | --fork-session -> --fork
        --ide -> prunecli acp | -v | agents -> /agents | setup-token -> prunecli login
        install -> pip install | --fallback-model x -> /model | --max-budget-usd 1 -> --max-cost
        --tools Read -> --allowed-tools | --no-session-persistence -> --no-session | --plugin-dir x -> plugins add
        --strict-mcp-config -> mcp list | --bg -> prunecli -p | plugin install x -> prunecli plugins
        auth status -> prunecli login | --bare -> plugins.disabled | --tmux -> --worktree
    """,
    "Codex": """
        "fix it" | resume | resume abc | mcp list | login | --model gpt-5 | --add-dir x | --sandbox auto | --help
        exec "fix it" -> prunecli -p PROMPT | exec --json "fix it" -> stream-json | resume --last -> --continue
        -m gpt-5 | --full-auto -> --permission-mode auto | --ask-for-approval never -> --permission-mode
        -s read-only -> --sandbox | --image a.png -> @FILE | -C dir -> cd DIR | --profile x -> --config
        review -> /review | logout -> prunecli login | completion zsh -> --show-completion | --search -> web_search
        --oss -> /model | -c model=o3 "fix it" -> --set model=o3 | --ephemeral -> --no-session | fork -> --fork
        --output-schema x -> --json-schema | --skip-git-repo-check -> not needed | features -> config show
    """,
    "OpenCode": """
        -c | mcp list | acp | attach | --model anthropic/x | --fork -c
        run "fix it" -> prunecli -p PROMPT | auth login -> prunecli login | models -> /model | serve -> prunecli acp
        session list -> prunecli sessions | agent list -> prunecli | stats -> sessions stats
        export -> sessions export | upgrade -> prunecli update | --session abc -> --resume
        --prompt x -> without a flag | --agent plan -> /agents | --format json -> --output-format
        --title x -> --name | import -> sessions import | providers list -> prunecli login | web -> prunecli acp
        pr -> gh pr checkout
    """,
    "pi": """
        --model sonnet "fix it" | -p "fix it" | -c | -r | --no-session | update | @a.md "fix it" | config
        --provider anthropic -> --model | --mode json -> --output-format | --thinking high -> --effort
        --list-models -> /model | --session abc -> --resume | --tools read -> --allowed-tools
        --api-key x -> prunecli login | -e x.ts -> prunecli plugins | list -> sessions list
        --no-tools -> tools.enabled | --system-prompt x -> --append-system-prompt | --offline -> updates.notice
        --session-dir x -> PRUNECLI_HOME
    """,
    "Gemini CLI": """
        -p "fix it" | --model flash | --output-format json -p "fix it" | mcp add a b | -r abc
        -m flash | -i x -> without a flag | --yolo -> --permission-mode auto | -y -> --permission-mode auto
        --approval-mode auto_edit -> --permission-mode | --include-directories x -> --add-dir
        --list-sessions -> sessions list | -o json -> --output-format | extensions list -> prunecli plugins
        --experimental-acp -> prunecli acp | --skip-trust -> --trust | --delete-session 1 -> sessions rm
        skills list -> /skills | hooks -> /hooks | --screen-reader -> --plain
    """,
}
INSIDE = {
    "Claude Code": """
        /clear | /compact | /cost | /usage | /model | /init | /memory | /review | /resume | /agents | /mcp | /hooks
        /permissions | /status | /vim | /help | /exit | /quit | exit | /config | /context | /doctor | /export | /login
        /add-dir | /rewind | /statusline | /output-style | /skills | /copy | /rename | # tabs, not spaces
        /bashes -> /jobs | /terminal-setup -> prunecli doctor | /ide -> prunecli acp | /plugin -> /plugins
        /todos -> /todo | /reset -> /new | /logout -> prunecli login | /btw why? -> /fork | /checkpoint -> /rewind
        /bug -> /doctor | /release-notes -> prunecli update | /pr-comments -> !gh | /security-review -> /review
    """,
    "Codex": """
        /new | /init | /compact | /status | /model | /review | /resume | /fork | /mcp | /quit | /permissions | /plan
        /approvals -> /permissions | /diff -> !git diff | /mention -> @ | /ps -> /jobs
        /personality -> /output-style | /side -> /fork | /stop -> /jobs
    """,
    "OpenCode": """
        /new | /undo | /redo | /models | /init | /help | /exit | /sessions | /export | /compact | /clear | :q
        /share -> /export | /connect -> /login | /themes -> /theme | /editor -> Ctrl+G | /summarize -> /compact
        /timeline -> /rewind | /variants -> /effort | /thinking -> /effort
    """,
    "pi": """
        /login | /model | /resume | /new | /tree | /fork | /compact | /copy | /export | /reload | /quit
        /settings -> /config | /session -> /status | /name -> /rename | /hotkeys -> /help
        /clone -> /fork | /import x.jsonl -> sessions import | /changelog -> prunecli update
    """,
    "Gemini CLI": """
        /help | /memory | /mcp | /stats | /theme | /clear | /copy | /init | /quit | /vim | /model | /hooks | /restore
        /compress -> /compact | /chat save x -> /resume | /auth -> /login | /about -> /status
        /tools -> /config | /extensions -> /plugins | /directory add x -> /add-dir | /docs -> /help
    """,
}
WITHIN = """
    config set model.name opus -> --set | config get model -> config show | mcp login x -> /mcp login
    plugins install x -> plugins add | sessions delete x -> sessions rm | sessions lst -> sessions list
    mcp frobnicate -> add-json
"""
"""What they type after a command that we have too."""


def rows(table: str) -> Iterator[tuple[str, str]]:
    """Yield what is typed and the words of the answer, "" if it works."""
    for row in re.split(r"\s*(?:\||\n)\s*", table.strip()):
        typed, _, way = row.partition(" -> ")
        yield typed, way


def is_an_answer(text: str, way: str) -> bool:
    """Return whether a text is one line with these words, and each command that it names is one."""
    ours = all(
        name in commands() or name == "resume" for name in re.findall(r"(?<!in )prunecli ([a-z]+)", text)
    )
    return (
        way in text and "\n" not in text and ours and all(map(find, re.findall(r"(?<!\S)/([a-z-]+)", text)))
    )


@pytest.mark.parametrize("peer", SHELL)
def test_what_they_type_in_a_shell_works_or_is_answered_in_a_line(peer: str) -> None:
    for typed, way in rows(SHELL[peer]):
        if not way:
            asked = read(shlex.split(typed)).launch.prompt
            assert asked in ("", "fix it", "@a.md fix it"), f"{typed} would send {asked!r}"
            continue
        with pytest.raises(UsageError) as refused:
            read(shlex.split(typed))
        assert is_an_answer(f"{refused.value.message} {refused.value.hint}", way), (typed, refused.value)


@pytest.mark.parametrize("peer", INSIDE)
async def test_what_they_type_inside_works_or_is_answered_in_a_line(peer: str, tmp_path: Path) -> None:
    runtime = start(tmp_path)
    for typed, way in rows(INSIDE[peer]):
        if not way:
            assert find(as_command(typed).removeprefix("/").partition(" ")[0]), typed
            continue
        (said,) = run_line(runtime, typed)
        assert isinstance(said, Say), typed
        assert is_an_answer(said.text.partition(". ")[2], way), said.text
    await closed(runtime)


@pytest.mark.parametrize("row", list(rows(WITHIN)), ids=" ".join)
def test_their_commands_in_a_group_of_ours_are_answered_in_a_line(row: tuple[str, str]) -> None:
    done = CliRunner().invoke(app, shlex.split(row[0]))
    assert (done.exit_code, done.stdout) == (2, "")
    message, hint = done.stderr.splitlines()
    assert is_an_answer(f"{message.removeprefix('prunecli: prunecli')} {hint}", row[1]), done.stderr


@pytest.mark.parametrize("words", [["run", "the", "tests"], ["review", "it"], ["list", "files"]])
def test_words_of_theirs_in_a_prompt_are_a_prompt(words: list[str]) -> None:
    assert read(words).launch.prompt == " ".join(words)
