"""What a sandbox changes about judging commands."""

from pathlib import Path

import pytest

from prunecli.model.touches import Touches
from prunecli.safety.permissions.judge import judge
from prunecli.safety.permissions.sandboxed import SandboxedCommands
from prunecli.safety.permissions.verdict import Rules, Verdict

CLOSED, OPEN = SandboxedCommands(True, True), SandboxedCommands(True, False)


def judged(folder: Path, command: str, inside: SandboxedCommands, outside: str = "", **changed) -> Verdict:
    touches = Touches(runs=(command,), outside=(outside,) if outside else ())
    given = {"mode": "edits", "rules": Rules(), "trusted": True, **changed}
    return judge("bash", touches, workspace=folder, cwd=folder, home=folder / "home", inside=inside, **given)


@pytest.mark.parametrize(
    "command", ["make", "for x in 1 2; do echo $x > $x; done", "python3 -c 'print(1)'", "rm -r x"]
)
def test_in_edits_mode_the_walls_replace_the_question(tmp_path: Path, command: str) -> None:
    verdict = judged(tmp_path, command, CLOSED)
    assert verdict.kind == "allow"
    assert not verdict.granted
    assert verdict.may_change_files
    assert judged(tmp_path, command, OPEN).kind == "ask"
    assert judged(tmp_path, command, SandboxedCommands()).kind == "ask"


@pytest.mark.parametrize(
    "command",
    [
        *("git commit -m x", "make && git push", "/usr/bin/git add .", "echo $(git gc)", "sh -c 'git add .'"),
        *("touch q; git -C sub stash", "timeout 5 git add .", "ls | xargs -n1 git add", "git branch new"),
        *("for f in *; do git add $f > log; done", "python3 -c \"import os; os.system('git commit')\""),
        "git add . > log",
    ],
)
def test_what_writes_with_git_is_asked_about(tmp_path: Path, command: str) -> None:
    assert judged(tmp_path, command, CLOSED).kind == "ask"


@pytest.mark.parametrize(
    "command",
    [
        *("echo x > AGENTS.md", "python3 -c \"open('sub/CLAUDE.md','w')\"", "sed -i s/a/b/ ./package.json"),
        *("cp a .vscode/tasks.json", "mkdir -p .github/workflows", "tee x >.envrc"),
        *("cat <<E >> .mcp.json\nx\nE", "npm install left-pad", "npm i", "pnpm --silent add x", "yarn"),
        *("yarn && true", "npx husky init", "cd web && npm ci", "uv init", "pre-commit install"),
        *("touch x/sitecustomize.py", "sh -c 'npm install'", "for d in a b; do npm ci > log; done"),
        *("uv run pre-commit install", "sudo npm i -g x", "npx husky init > log"),
    ],
)
def test_writing_what_other_programs_obey_is_asked_about(tmp_path: Path, command: str) -> None:
    assert judged(tmp_path, command, CLOSED).kind == "ask"


@pytest.mark.parametrize(
    "command",
    [
        *("npm test", "npm run build", "yarn build", "pnpm -r test", "node_modules/.bin/jest x"),
        *("uv run pytest", ".venv/bin/python -m pytest", "cp a dist/package.json", "cat package.json"),
        "pip install --help",
        *("python3 digits.py", "python3 tests/test_legit.py", "echo digital > out.txt", "make git-docs"),
        *("python3 -c 'print(\"legitimate\")'", "touch q && git diff --stat", "sed -i s/git/hg/ src/git.c"),
        *("sed -i s/1/2/ digits.py && git status --short", "git diff > a.patch", "git -C . log -3 > log.txt"),
        *("cat > a.md <<E\nHow to use git here\nE", "python3 src/git/run.py", "touch q; git branch"),
        "for f in a b; do git show HEAD:$f > old/$f; done",
        *(
            "python3 -c 'print(\"run npm install\")'",
            "sed -i 's/npm install/npm ci/' docs/a.md",
            "yarn build",
        ),
        *("echo 'then npm install' > a.md", "python3 tools/npm-install.py", "make; grep -rn 'yarn add' src"),
    ],
)
def test_everyday_work_is_not(tmp_path: Path, command: str) -> None:
    assert judged(tmp_path, command, CLOSED).kind == "allow"


def test_ask_mode_asks_as_before_but_for_reading(tmp_path: Path) -> None:
    assert judged(tmp_path, "make", CLOSED, mode="ask").kind == "ask"
    assert judged(tmp_path, "cat /etc/hosts", CLOSED, mode="ask").kind == "allow"
    assert judged(tmp_path, "cat /etc/hosts", OPEN, mode="ask").kind == "ask"
    assert judged(tmp_path, "cat /etc/shadow", CLOSED, mode="ask").kind == "ask"
    assert judged(tmp_path, "cat .env", CLOSED, mode="ask").kind == "ask"


def test_deny_and_ask_rules_still_win(tmp_path: Path) -> None:
    assert judged(tmp_path, "make all", CLOSED, rules=Rules(deny=("bash(make *)",))).kind == "deny"
    assert judged(tmp_path, "make all", CLOSED, rules=Rules(ask=("bash(make *)",))).kind == "ask"
    assert judged(tmp_path, "xargs make", CLOSED, rules=Rules(deny=("bash(make *)",))).kind != "allow"


@pytest.mark.parametrize(
    "line", ["npm ls", "cargo tree -i serde", "go list -m all", "npm --version", "cat /etc/passwd"]
)
def test_a_query_that_may_run_the_project_passes_only_in_a_closed_sandbox(tmp_path: Path, line: str) -> None:
    assert judged(tmp_path, line, CLOSED).kind == "allow"
    assert not judged(tmp_path, line, CLOSED).granted
    assert judged(tmp_path, line, SandboxedCommands(there=True)).kind == "ask"
    assert judged(tmp_path, line, CLOSED, trusted=False).kind == "deny"
    assert judged(tmp_path, f"{line} --prefix=x; rm x", CLOSED, mode="ask").kind == "ask"


def test_a_query_that_may_run_the_project_gets_no_more_rights_from_the_rule_of_another_command(
    tmp_path: Path,
) -> None:
    rules = Rules(allow=("bash(git status)", "bash(make)"))
    assert not judged(tmp_path, "git status && cargo tree", CLOSED, mode="ask", rules=rules).granted
    assert judged(tmp_path, "make && cargo tree", CLOSED, mode="ask", rules=rules).kind == "ask"
    assert judged(tmp_path, "make && ls", CLOSED, mode="ask", rules=rules).granted


def test_plan_mode_and_an_untrusted_directory_stay_closed(tmp_path: Path) -> None:
    assert judged(tmp_path, "make", CLOSED, mode="plan").kind == "deny"
    assert judged(tmp_path, "make", CLOSED, trusted=False).kind == "deny"


@pytest.mark.parametrize("mode", ["ask", "edits", "auto"])
@pytest.mark.parametrize("allow", [(), ("*",), ("bash",), ("bash(ls)",)])
def test_leaving_the_sandbox_is_always_a_question_of_its_own(
    tmp_path: Path, mode: str, allow: tuple[str, ...]
) -> None:
    verdict = judged(tmp_path, "ls", CLOSED, "needs the network", mode=mode, rules=Rules(allow=allow))
    assert verdict.kind == "ask"
    assert verdict.reason == "runs outside the sandbox: needs the network"
    assert verdict.rules == ()


def test_a_deny_rule_goes_before_that_question(tmp_path: Path) -> None:
    assert judged(tmp_path, "ls", CLOSED, "why", rules=Rules(deny=("bash(ls)",))).kind == "deny"


def test_without_a_sandbox_there_is_nothing_to_leave(tmp_path: Path) -> None:
    assert judged(tmp_path, "ls", SandboxedCommands(), "why").kind == "allow"


def test_what_a_rule_or_auto_mode_allows_is_granted(tmp_path: Path) -> None:
    assert judged(tmp_path, "make", CLOSED, rules=Rules(allow=("bash(make)",))).granted
    assert judged(tmp_path, "make", CLOSED, mode="auto").granted
    assert not judged(tmp_path, "ls", CLOSED).granted
