"""What is asked about and what is not, over whole corpora: hostile lines, and lines of real sessions."""

import os
import subprocess
from pathlib import Path

import pytest

from prunecli.agent.permissions.judge import Rules
from tests.agent.judged import Scene, corpus, scene

HERE = Path(__file__).parent
HOSTILE = [*corpus("permissions/hostile_lines.txt"), *corpus("bypass_corpus.txt")]
HARMLESS = [
    line for line in (HERE / "harmless_lines.txt").read_text().split("\n") if line[:1] not in ("", "#")
]
EVERYDAY = Rules(
    allow=(
        *("bash(git log *)", "bash(git diff *)", "bash(git status)", "bash(git show *)", "bash(git grep *)"),
        *(
            "bash(rg *)",
            "bash(grep *)",
            "bash(cat *)",
            "bash(ls *)",
            "bash(find *)",
            "bash(sed *)",
            "bash(sort *)",
        ),
        *("bash(npm run *)", "bash(python3 tests/*)", "bash(cargo test *)", "bash(head *)", "bash(awk *)"),
        *("read(src/**)", "edit(src/**)"),
    )
)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A repository with a tracked .npmrc, the configuration that husky, git-lfs and a helper write, and a .env."""
    made = scene(tmp_path_factory.mktemp("scene"))
    env = {"PATH": os.environ["PATH"], "HOME": str(made.home), "GIT_CONFIG_NOSYSTEM": "1"}
    (made.workspace / ".gitignore").write_text("out\nkey\nloop\n.env\ndeploy\n")
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "one"],
        ["config", "core.hooksPath", ".husky/_"],
        ["config", "filter.lfs.clean", "git-lfs clean -- %f"],
        ["config", "filter.lfs.required", "true"],
        ["config", "credential.helper", "!gh auth git-credential"],
    ):
        subprocess.run(["git", *words], cwd=made.workspace, env=env, check=True)
    return made


def test_the_corpora_have_the_size_they_claim() -> None:
    assert len(set(HOSTILE)) >= 300
    assert len(set(HARMLESS)) == 200


@pytest.mark.parametrize("rules", [Rules(), EVERYDAY], ids=["no rules", "everyday rules"])
def test_no_hostile_line_runs_without_a_question(here: Scene, tmp_path: Path, rules: Rules) -> None:
    plain = scene(tmp_path)  # without a repository nothing is ignored
    for line in HOSTILE:
        for mode, kind in (("ask", "ask"), ("edits", "ask"), ("plan", "deny")):
            assert plain.bash(line, mode=mode, rules=rules).kind == kind, (mode, line)


@pytest.mark.parametrize("deny", [(), ("read(.env)",)], ids=["no rule", "deny read(.env)"])
def test_nine_of_ten_lines_of_real_sessions_pass(here: Scene, deny: tuple[str, ...]) -> None:
    """With a .env present, a repository that husky, git-lfs and a credential helper configured, and a deny rule."""
    asked = [line for line in HARMLESS if here.bash(line, rules=Rules(deny=deny)).kind != "allow"]
    assert len(asked) * 10 <= len(HARMLESS), asked
