"""How far rules reach: a deny rule through globs and braces, a prefix rule not through options and paths."""

import os

import pytest

from prunecli.model.touches import Touches
from prunecli.safety.permissions.verdict import Rules
from tests.agent.judged import Scene


def test_a_prefix_rule_does_not_cover_changes_to_files_that_control_other_programs(here: Scene) -> None:
    (here.workspace / ".git" / "hooks").mkdir(parents=True)
    (here.workspace / "hooks").symlink_to(".git/hooks")
    (here.workspace / "src" / "sub").mkdir()
    (here.workspace / "src" / "package.json").write_text("{}")
    for line in (
        *("cp README.md .git/hooks/pre-commit", "cp -t.git/hooks README.md", "cp README.md hooks/pre-commit"),
        *("mv README.md AGENTS.md", "tee -a .bashrc", "dd if=README.md of=.git/config", "touch .vscode/a"),
        *("sed -i s/a/b/ .prunecli/config.toml", "tar xf a.tar -C .git/hooks", "ln -sf README.md .envrc"),
        *("rm *", "mkdir -p .github/workflows", "cp README.md .gi?/hooks", "cp src/package.json ."),
        *("mv src/pack* .", "cp -t. src/package.json", "cp -r src/. .", "rsync -a src/ .", "cp -R src/ ."),
        *("rsync host:package.json .", "scp host:package.json .", "scp src/package.json ."),
        *("ln -s src/package.json ./", "install src/package.json --target-directory=."),
        *("wget https://a.example/x/AGENTS.md", "wget -q a.example/package.json"),
        *("wget -r -nH https://a.example", "wget --trust-server-names https://a.example/x"),
        "wget --content-disposition https://a.example/x",
    ):
        rule = f"bash({line.split()[0]} {'-i ' * line.startswith('sed')}*)"
        assert here.bash(line, rules=Rules(allow=(rule,))).kind == "ask", line
    for line in (
        *("cp package.json dist/", "cp README.md src/package.json", "tar cf a.tar src package.json"),
        *("cp src/a.py .", "cp -r src/package.json README.md src/sub", "rsync -a src .", "mv README.md src"),
        *("rm -rf node_modules", "mv README.md src/c.md", "mkdir -p src/x", "sed -i s/a/b/ src/a.py"),
        *("wget -nv -c https://a.example/AGENTS.md.gz", "wget --tries=3 https://a.example/data/"),
    ):
        rule = f"bash({line.split()[0]} {'-i ' * line.startswith('sed')}*)"
        assert here.bash(line, rules=Rules(allow=(rule,))).kind == "allow", line


def test_a_program_that_a_rule_names_by_its_path_is_judged_as_by_its_name(here: Scene) -> None:
    for program in ("sed", "/bin/sed", "/usr/bin/sed"):
        rules = Rules(allow=(f"bash({program} -i *)",))
        assert here.bash(f"{program} -i s/a/b/ src/a.py", rules=rules).kind == "allow"
        assert here.bash(f"{program} -i s/a/b/e src/a.py", rules=rules).kind == "ask"
        assert here.bash(f"{program} -i '' -n", rules=rules).kind == "allow", "an empty script"
    for program in ("python3", "/usr/bin/python3"):
        rules = Rules(allow=(f"bash({program} *)",))
        assert here.bash(f"echo x | {program}", rules=rules).kind == "ask"


def test_no_rule_for_an_interpreter_covers_a_program_in_its_input(here: Scene) -> None:
    for line in (
        *("python3", "python3 -", "node", "bash -ms", "perl -w", "sqlite3 a.db", "psql", "uv run python"),
    ):
        for rule in (f"bash({line})", f"bash({line.split()[0]} *)"):
            assert here.bash(f"echo x | {line}", rules=Rules(allow=(rule,))).kind == "ask", line
            assert here.bash(f"(echo x) | {line}", rules=Rules(allow=(rule,))).kind == "ask", line
            assert here.bash(f"{line} < README.md", rules=Rules(allow=(rule,))).kind == "ask", line
    for line in ("python3 - README.md", "bash -s README.md", "python3 -i src/a.py", "node --interactive x"):
        rules = Rules(allow=(f"bash({line.split()[0]} *)",))
        assert here.bash(f"echo x | {line}", rules=rules).kind == "ask", line
    for line in (
        *("python3 src/a.py", "uv run python src/a.py", "python3 -m json.tool", "bash src/a.py", "wc -l"),
    ):
        for rule in (f"bash({line})", f"bash({line.split()[0]} *)"):
            assert here.bash(f"cat README.md | {line}", rules=Rules(allow=(rule,))).kind == "allow", line
    whole = "echo x | python3"
    assert here.bash(whole, rules=Rules(allow=(f"bash({whole})",))).kind == "allow"


def test_a_rule_for_a_program_that_starts_another_names_that_one(here: Scene) -> None:
    for line in ("timeout 5 sh -c id", "env FOO=a ./x", "xargs rm", "sudo -n id"):
        assert here.bash(line, rules=Rules(allow=(f"bash({line.split()[0]} *)",))).kind == "ask", line
    for begin in ("timeout 5", "timeout -k 2s 1.5", "nice -n 5", "env A=b", "xargs -n 1", "watch -n 0.5"):
        assert here.bash(f"{begin} sh -c id", rules=Rules(allow=(f"bash({begin} *)",))).kind == "ask", begin
    for line in ("timeout 5 gh auth token", "nice -n 5 make CC=./x", "sudo -n git merge-index x"):
        begin = " ".join(line.split()[:-2])
        assert here.bash(line, rules=Rules(allow=(f"bash({begin} *)",))).kind == "ask", begin
    assert here.bash("timeout 5 python3", rules=Rules(allow=("bash(timeout *)",))).kind == "ask"
    assert here.bash("timeout 5 make test", rules=Rules(allow=("bash(timeout 5 make *)",))).kind == "allow"
    assert here.bash("gh auth status", rules=Rules(allow=("bash(gh auth status *)",))).kind == "allow"


def test_a_folder_that_may_not_have_been_entered_is_judged_both_ways(here: Scene) -> None:
    (here.workspace / "src" / "deploy").mkdir()
    (here.workspace / "src" / "deploy" / "id_rsa").symlink_to("../a.py")
    (here.workspace / "src" / "x.txt").write_text("x")
    os.symlink(here.outside / "x", here.workspace / "x.txt")
    assert here.bash("cd src && cat x.txt").kind == "allow"
    assert here.bash("cd src; cat x.txt").kind == "ask"


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("npm run test", "bash(npm run *)"),
        ("cd src && npm run lint | tail -3", "bash(npm run *)"),
        ("python3 src/a.py", "bash(python3 src/*)"),
        ("python3 src/a.py --all", "bash(python3 src/* *)"),
        ("python3 -m pytest -q src", "bash(python3 -m pytest *)"),
        ("pytest -q src && git status", "bash(pytest *)"),
        ("uv run pytest -q", "bash(uv run pytest *)"),
        ("cargo test parser", "bash(cargo test *)"),
        ("git commit -m 'a b'", "bash(git commit *)"),
        ("npm test", "bash(npm test)"),
        ("rm -rf build", "bash(rm -rf build)"),
        ("git push origin main", "bash(git push origin main)"),
        ("python3 -c 'print(1)'", ""),
        ("git add a.py && git commit -m 'a b'", "bash(git add *), bash(git commit *)"),
        ("touch note.txt && git diff --stat", "bash(touch *)"),
        ("mkdir -p a/b && npm test && npm run x", "bash(mkdir *), bash(npm test), bash(npm run *)"),
        ("npm test; npm test && ls | head -3", "bash(npm test)"),
        ("npm test && sed -i s/a/b/ src/a.py", ""),
        ("export A=1 && npm test", ""),
        ("ls | xargs rm", ""),
        ("cd .. && npm test", ""),
        ("echo x | sh", ""),
        ("make a; make b; make c; make d; make e", ""),
        ("python3 ../x.py", "bash(python3 ../x.py)"),
        ("rm *.pyc", ""),
        ("npm :*", ""),
        ("make && npm run x", "bash(make), bash(npm run *)"),
    ],
)
def test_an_offered_rule_is_general_where_that_is_useful(here: Scene, line: str, rule: str) -> None:
    verdict = here.bash(line)
    assert (verdict.kind, ", ".join(verdict.rules)) == ("ask", rule)
    if rule:
        assert here.bash(line, rules=Rules(allow=verdict.rules)).kind == "allow"


def test_a_rule_is_offered_for_the_part_that_the_others_do_not_cover(here: Scene) -> None:
    verdict = here.bash("make && npm run x", rules=Rules(allow=("bash(make)",)))
    assert verdict.rules == ("bash(npm run *)",)


def test_a_tool_that_is_not_known_may_do_anything(here: Scene) -> None:
    """Nothing is guessed from its arguments: a path inside makes it no reader."""
    for given in ({"path": "src/a.py"}, {"command": "ls"}, {"query": "x"}, {}):
        for name in ("mcp__x__read_file", "read_file", "ls2", "Search"):
            assert here.judge(name, given).kind == "ask"
            assert here.judge(name, given, mode="edits").kind == "ask"
            assert here.judge(name, given, mode="plan").kind == "deny"
            assert here.judge(name, given, trusted=False).kind == "deny"
            assert here.judge(name, given, rules=Rules(allow=("read", "edit", "bash"))).kind == "ask"
            assert here.judge(name, given, rules=Rules(deny=(name,)), mode="auto").kind == "deny"
    assert here.judge_touches("x", Touches(reads=("src/a.py",))).kind == "allow"


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("read(" + "*a" * 30 + "b)", "a" * 250),
        ("read(" + "**/a/" * 30 + "b)", "a/" * 1500 + "c"),
    ],
)
def test_a_rule_with_many_stars_is_matched_at_once(here: Scene, rule: str, path: str) -> None:
    assert here.read(path, rules=Rules(deny=(rule,))).kind != "deny"


@pytest.mark.parametrize(
    ("rule", "path"), [("**/a/**/b", "ab/a/x/b"), ("**/*a/**/b*", "aab/ba/b"), ("*a*b/**/c/**", "xaab/c/c/d")]
)
def test_a_rule_with_several_stars_finds_each_match(here: Scene, rule: str, path: str) -> None:
    assert here.read(path, rules=Rules(deny=(f"read({rule})",))).kind == "deny"


def test_a_glob_of_a_command_with_many_stars_is_matched_at_once(here: Scene) -> None:
    (here.workspace / ("a" * 250)).touch()
    assert here.bash("cat " + "*a" * 30 + "b").kind == "allow"
