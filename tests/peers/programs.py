"""The programs of other agents: how each is configured for a model on loopback, and run for three turns.

PRUNECLI_PEERS names a folder into which they were installed from their registry packages, together or each in a
folder of its program's name:

    npm install --prefix "$PRUNECLI_PEERS" @anthropic-ai/claude-code @mariozechner/pi-coding-agent @openai/codex \\
        opencode-ai @google/gemini-cli

Newer versions of pi are in @earendil-works/pi-coding-agent. They and current versions of Claude Code need Node 22;
with Node 20, npm installs older ones without a word. `npm install node@22` brings a Node 22, for PATH. If a registry
lacks a dependency of pi, `npm pack` and its dist/bundle/cli.js as node_modules/.bin/pi are enough.
"""

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.endpoint import serve
from tests.peers.other_protocols import other_models
from tests.peers.scene import PROMPTS, claude_answers, mount_details

KEY = "sk-ant-api03-" + "x" * 20
BOUND = "claude-opus-5-5"
SECONDS = 180


def root() -> Path:
    """The folder of the installed programs."""
    return Path(os.environ.get("PRUNECLI_PEERS") or "/nonexistent").resolve()


@dataclass(frozen=True, slots=True)
class Peer:
    """One agent. `prepare` writes its configuration and returns its environment; `words` are a turn's arguments."""

    agent: str
    program: str
    prepare: Callable[[Path, Path, str], Mapping[str, str]]
    words: Callable[[int, str, Path], list[str]]
    anthropic: bool = True

    def binary(self) -> Path | None:
        """The installed program, if any."""
        place = f"node_modules/.bin/{self.program}"
        return next(iter((*root().glob(place), *root().glob(f"*/{place}"))), None)

    def run(self, home: Path, cwd: Path) -> list[str]:
        """Run the three turns. Returns what was printed; raises CalledProcessError."""
        binary = self.binary()
        assert binary is not None
        home.mkdir(parents=True, exist_ok=True)
        mount_details(cwd)
        printed = []
        with _served(self.anthropic, cwd) as url:
            environ = {"HOME": str(home), "PATH": os.environ["PATH"], **self.prepare(home, cwd, url)}
            for number, prompt in enumerate(PROMPTS):
                done = subprocess.run(
                    [binary, *self.words(number, prompt, cwd)],
                    cwd=cwd,
                    env=environ,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    timeout=SECONDS,
                    check=True,
                )
                printed.append(done.stdout)
        return printed


@contextmanager
def _served(anthropic: bool, cwd: Path) -> Iterator[str]:
    if anthropic:
        with serve(claude_answers(cwd), judge="off") as endpoint:
            yield endpoint.base_url
    else:
        with other_models(cwd) as url:
            yield url


def _written(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def _claude(home: Path, cwd: Path, url: str) -> Mapping[str, str]:
    known = {"approved": [KEY[-20:]]}
    project = {str(cwd): {"hasTrustDialogAccepted": True}}
    _written(
        home / ".claude.json",
        {"hasCompletedOnboarding": True, "customApiKeyResponses": known, "projects": project},
    )
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_MODEL": BOUND,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }


def _pi(home: Path, cwd: Path, url: str) -> Mapping[str, str]:
    _written(home / ".pi/agent/models.json", {"providers": {"anthropic": {"baseUrl": url}}})
    return {"ANTHROPIC_API_KEY": KEY, "PI_OFFLINE": "1", "PI_TELEMETRY": "0"}


def _codex(home: Path, cwd: Path, url: str) -> Mapping[str, str]:
    _written(
        home / ".codex/config.toml",
        'model = "gpt-5"\nmodel_provider = "fake"\napproval_policy = "never"\n'
        'sandbox_mode = "danger-full-access"\n[model_providers.fake]\nname = "fake"\n'
        f'base_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "FAKE_KEY"\n'
        f'[projects."{cwd}"]\ntrust_level = "trusted"\n',
    )
    return {"FAKE_KEY": "x"}


def _opencode(home: Path, cwd: Path, url: str) -> Mapping[str, str]:
    config = {
        "provider": {"anthropic": {"options": {"baseURL": f"{url}/v1", "apiKey": KEY}}},
        "model": "anthropic/claude-sonnet-4-5",
        "small_model": "anthropic/claude-sonnet-4-5",
        "permission": "allow",
        "share": "disabled",
    }
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }


def _gemini(home: Path, cwd: Path, url: str) -> Mapping[str, str]:
    _written(home / ".gemini/settings.json", {"security": {"auth": {"selectedType": "gemini-api-key"}}})
    return {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}


def _again(number: int, *flags: str) -> list[str]:
    return list(flags) if number else []


PEERS = (
    Peer(
        "@claude",
        "claude",
        _claude,
        lambda n, prompt, _: ["-p", prompt, "--dangerously-skip-permissions", *_again(n, "--continue")],
    ),
    Peer(
        "@pi",
        "pi",
        _pi,
        lambda n, prompt, _: [
            *(
                "-p",
                prompt,
                "--provider",
                "anthropic",
                "--model",
                "claude-sonnet-4-5",
                "--thinking",
                "medium",
            ),
            *_again(n, "--continue"),
        ],
    ),
    Peer(
        "@codex",
        "codex",
        _codex,
        lambda n, prompt, _: [
            *("exec", *_again(n, "resume", "--last"), "--skip-git-repo-check"),
            *(("-i", "picture.png", "--", prompt) if "picture" in prompt else (prompt,)),
        ],
        anthropic=False,
    ),
    Peer(
        "@opencode",
        "opencode",
        _opencode,
        lambda n, prompt, _: [
            *("run", "-m", "anthropic/claude-sonnet-4-5", *_again(n, "--continue"), prompt),
            *(("-f", "picture.png") if "picture" in prompt else ()),
        ],
    ),
    Peer(
        "@gemini",
        "gemini",
        _gemini,
        lambda n, prompt, _: [
            *("-m", "gemini-2.5-pro", "-y", *_again(n, "--resume", "latest")),
            *("-p", f"{prompt} @picture.png" if "picture" in prompt else prompt),
        ],
        anthropic=False,
    ),
)
