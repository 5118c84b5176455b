"""The judgment of one call: modes, rules, trust, places."""

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prunecli.safety.permissions.places import Unresolvable, is_inside, resolve
from prunecli.safety.permissions.sandboxed import SandboxedCommands
from prunecli.safety.permissions.verdict import MODES, Rules
from prunecli.util.errors import ConfigError
from tests.agent.judged import Scene, scene

# Modes x effects ---------------------------------------------------------------------------------------------

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "read inside": ("read", {"path": "src/a.py"}),
    "list": ("ls", {}),
    "read a secret": ("read", {"path": ".env"}),
    "read outside": ("read", {"path": "../outside/x"}),
    "edit inside": ("edit", {"path": "src/a.py"}),
    "create inside": ("write", {"path": "src/new/c.py"}),
    "edit outside": ("edit", {"path": "../outside/x"}),
    "edit .git": ("write", {"path": ".git/hooks/pre-commit"}),
    "harmless": ("bash", {"command": "git status"}),
    "command": ("bash", {"command": "make"}),
    "other tool": ("mcp__x__y", {"a": 1}),
    "prun": ("prun", {"tokens": 5}),
}
TABLE = {
    #                  ask      edits    plan     auto     untrusted, in every mode
    "read inside": ("allow", "allow", "allow", "allow", "allow"),
    "list": ("allow", "allow", "allow", "allow", "allow"),
    "read a secret": ("ask", "ask", "ask", "allow", "ask"),
    "read outside": ("ask", "ask", "ask", "allow", "ask"),
    "edit inside": ("ask", "allow", "deny", "allow", "deny"),
    "create inside": ("ask", "allow", "deny", "allow", "deny"),
    "edit outside": ("ask", "ask", "deny", "allow", "deny"),
    "edit .git": ("ask", "ask", "deny", "allow", "deny"),
    "harmless": ("allow", "allow", "allow", "allow", "deny"),
    "command": ("ask", "ask", "deny", "allow", "deny"),
    "other tool": ("ask", "ask", "deny", "allow", "deny"),
    "prun": ("allow", "allow", "allow", "allow", "allow"),
}


@pytest.mark.parametrize("name", CALLS)
def test_each_mode_lets_pass_what_it_says(here: Scene, name: str) -> None:
    """In the last column: an untrusted directory is read-only in every mode."""
    tool, given = CALLS[name]
    *by_mode, untrusted = TABLE[name]
    for mode, kind in zip(MODES, by_mode, strict=True):
        assert here.judge(tool, given, mode=mode).kind == kind, mode
        assert here.judge(tool, given, mode=mode, trusted=False).kind == untrusted, mode


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("rm x", "deletes files"),
        ("/bin/touch x", "can change files"),
        ("env A=1 make", "runs project code"),
        ("numfmt 3", "can change files"),
        ("npm install left-pad", "installs packages, which can run scripts"),
        ("yarn", "installs packages, which can run scripts"),
        ("python3 -m pip install .", "installs packages, which can run scripts"),
        ("npm test", "runs project code"),
        ("../venv/bin/python -m pytest", "runs project code"),
        ("./evil", "runs project code"),
        ("python3 -c 'x'", "runs code"),
        ("python3 - <<E\nimport os\nE", "runs code"),
        ("curl https://example.com", "needs network"),
        ("git push", "needs network"),
        ("git commit -m x", "changes the repository"),
        ("git clean -f", "deletes files"),
        ("find . -name x -delete", "deletes files"),
        ("ls | xargs rm", "`xargs rm` deletes files"),
        ("timeout 5 rm x", "deletes files"),
        ("sed -i s/a/b/ src/a.py", "can change files"),
        ("sudo id", "runs as another user"),
        ("cat ~/.ssh/id_rsa", "reads your SSH private key"),
        ("cat key", "reads your SSH private key"),
        ("scp ~/.ssh/id_rsa host:", "may read your SSH private key; needs network"),
        ("echo ~/.ssh/id_rsa", "can't be checked: it uses a tilde"),
        ("cat .env", "reads .env, which may contain secrets"),
        ("cat deploy/id_rsa", "reads deploy/id_rsa, which may contain secrets"),
        ("cat /etc/hosts", "reads /etc/hosts, outside the workspace"),
        ("ls /etc", "looks at /etc, outside the workspace"),
        ("echo x > out.txt", "writes to out.txt"),
        ("echo 'rm x; git push' > 'out 1.txt'", "writes to a file"),
        ("python3 gen.py 2>/dev/null > out.json", "runs project code; writes to out.json"),
        ("cat > note.md <<'E'\nrm -rf and git push\nE", "writes to note.md"),
        ("git commit -m \"$(cat <<'E'\nrm\nE\n)\"", "changes the repository"),
        ("for f in *.py; do rm $f > log; done", "deletes files; writes to log"),
        ("A=1 npm test", "runs project code"),
        ("touch note.txt && git diff --stat", "`touch note.txt` can change files"),
        ("cd .. && make", "`cd ..`: it changes the working directory to '..'; `make` runs project code"),
        ("a=1; b", "can't be checked: it sets a variable"),
    ],
)
def test_a_reason_speaks_of_what_a_command_reads_changes_or_needs(
    here: Scene, command: str, why: str
) -> None:
    assert here.bash(command).reason == why


def test_a_question_names_every_program_and_the_riskiest_first(here: Scene) -> None:
    verdict = here.bash("touch a; cat README.md" + "\n" * 200 + "make && ./evil; ls")
    assert (
        verdict.reason.index("`./evil`") < verdict.reason.index("`make`") < verdict.reason.index("`touch a`")
    )
    assert "cat" not in verdict.reason


@pytest.mark.parametrize("name", CALLS)
def test_every_verdict_gives_its_reason_and_only_a_question_offers_a_rule(here: Scene, name: str) -> None:
    for mode in MODES:
        for trusted in (True, False):
            verdict = here.judge(*CALLS[name], mode=mode, trusted=trusted)
            assert verdict.reason
            assert verdict.kind == "ask" or not verdict.rules


def test_a_denial_in_an_untrusted_directory_names_the_way_out(here: Scene) -> None:
    assert "`prunecli trust`" in here.edit("src/a.py", trusted=False).reason
    assert "`prunecli trust`" in here.bash("ls", trusted=False).reason


def test_a_reason_leaves_out_what_a_rule_allows_and_names_a_missing_network(here: Scene) -> None:
    rules = Rules(allow=("bash(npm test)",))
    assert here.bash("npm test && touch x", rules=rules).reason == "`touch x` can change files"
    why = "`curl -s x.io` needs network: the sandbox has none"
    assert here.bash("ls; curl -s x.io", inside=SandboxedCommands(True, True)).reason == why


def test_the_reason_in_edits_mode_is_why_the_sandbox_is_not_enough(here: Scene) -> None:
    for line, why in [
        ("touch q && git commit -m x", "`git commit -m x` changes the repository"),
        (
            "touch q > x; git add .",
            "`touch q` can change files; `git add .` changes the repository; writes to x",
        ),
        ("npm i", "installs packages, which can run scripts"),
        ("touch AGENTS.md", "names AGENTS.md, which controls other programs"),
        ("cat ~/.ssh/id_rsa", "reads your SSH private key"),
    ]:
        assert here.bash(line, mode="edits", inside=SandboxedCommands(True, True)).reason == why


# Rules -------------------------------------------------------------------------------------------------------


def test_a_deny_rule_wins_over_everything(here: Scene) -> None:
    for text, call in [
        ("*", "prun"),
        ("bash", "harmless"),
        ("read", "list"),
        ("edit(src/**)", "edit inside"),
    ]:
        for mode in MODES:
            rules = Rules(allow=("*",), deny=(text,))
            assert here.judge(*CALLS[call], mode=mode, rules=rules).kind == "deny"


def test_an_ask_rule_goes_before_an_allow_rule_and_before_auto(here: Scene) -> None:
    rules = Rules(allow=("bash(git push:*)",), ask=("bash(git push:*)",))
    assert here.bash("git push", rules=rules).kind == "ask"
    assert here.bash("git push", rules=rules, mode="auto").kind == "ask"
    assert here.bash("git push", rules=rules).rules == ()
    assert here.read("src/a.py", rules=Rules(ask=("read(src/**)",))).kind == "ask"


def test_no_rule_lifts_plan_mode_or_distrust(here: Scene) -> None:
    rules = Rules(allow=("*", "edit(src/**)", "bash(make)"))
    for changed in ({"mode": "plan"}, {"trusted": False}):
        assert here.edit("src/a.py", rules=rules, **changed).kind == "deny"
        assert here.bash("make", rules=rules, **changed).kind == "deny"


def test_an_allow_rule_with_words_holds_only_in_the_workspace(here: Scene) -> None:
    """The same words somewhere else are another command."""
    rules = Rules(allow=("bash(make)",))
    assert here.bash("make", rules=rules, cwd=here.workspace / "src").kind == "allow"
    assert here.bash("make", rules=rules, cwd=here.outside).kind == "ask"
    assert here.bash("make", rules=rules, cwd=here.workspace / "out").kind == "ask"


def test_an_allow_rule_reaches_secrets_only_by_naming_them(here: Scene) -> None:
    for rule in ("read", "*", "read(**)", "read(*)", "read(deploy/*)", f"read({here.home}/**)"):
        assert here.read("deploy/id_rsa", rules=Rules(allow=(rule,))).kind == "ask", rule
        assert here.read("~/.ssh/id_rsa", rules=Rules(allow=(rule,))).kind == "ask", rule
    assert here.read("deploy/id_rsa", rules=Rules(allow=("read(deploy/id_rsa)",))).kind == "allow"
    assert here.read("deploy/id_rsa", rules=Rules(allow=("read(id_rsa*)",))).kind == "allow"
    assert here.read("README.md", rules=Rules(allow=("read",))).kind == "allow"
    assert here.read("../outside/x", rules=Rules(allow=("read",))).kind == "allow"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must start with a tool name"),
        ("bash(git status", "close its parenthesis"),
        ("bash()", "its parentheses are empty"),
        ("bash(git $x)", "but it uses a variable"),
        ("bash(npm run test*)", "but it uses a wildcard"),
        ("bash(a | b:*)", "a prefix must be a single command"),
        ("edit(../x)", "its path contains .."),
        ("edit($HOME/x)", "not expanded"),
        ("read(~bob/x)", "not expanded"),
        ("read([z-a])", "is reversed"),
        ("read(a\nb)", "control or invisible character"),
        ("mcp__x__y(5)", "no tool named mcp__x__y"),
        ("git status", "must start with a tool name"),
        ("bash(x) y", "close its parenthesis"),
    ],
)
def test_a_rule_that_cannot_be_read_is_quoted_with_what_is_wrong(text: str, says: str) -> None:
    for field in ("allow", "ask", "deny"):
        with pytest.raises(ConfigError) as caught:
            Rules(**{field: (text,)})
        assert repr(text) in caught.value.message
        assert says in caught.value.message
        assert caught.value.hint


# Deny rules for paths ----------------------------------------------------------------------------------------


def test_a_denied_file_is_denied_by_every_name_it_has(here: Scene) -> None:
    """Links, chains, hard links, /proc/self/cwd, upper and lower case, ways around."""
    secret = here.workspace / "Vault" / "plan.txt"
    secret.parent.mkdir()
    secret.write_text("x")
    os.symlink(secret, here.workspace / "one")
    os.symlink("one", here.workspace / "two")
    os.symlink("Vault", here.workspace / "folder")
    os.link(secret, here.workspace / "src" / "twin")
    names = [
        *("Vault/plan.txt", "./Vault//plan.txt", "src/../Vault/plan.txt", str(secret), "//" + str(secret)),
        *(
            "one",
            "two",
            "folder/plan.txt",
            "src/twin",
            "vault/PLAN.txt",
            "VAULT/plan.txt.",
            "Vault/pl\u200ban.txt",
        ),
        *(
            "/proc/self/cwd/Vault/plan.txt",
            f"/proc/self/root{secret}",
            "out/../ws/Vault/plan.txt",
            "missing/../Vault/plan.txt",
        ),
    ]
    for rule in (
        "read(Vault/**)",
        "read(Vault)",
        "read(plan.txt)",
        f"read({secret})",
        "read(**/plan.*)",
        "read(folder/*)",
    ):
        for name in names:
            verdict = here.read(name, rules=Rules(allow=("*",), deny=(rule,)), mode="auto")
            assert verdict.kind == "deny", (rule, name)
    assert here.read("README.md", rules=Rules(deny=("read(Vault/**)",))).kind == "allow"


def test_a_denied_link_is_denied_by_its_own_name_and_by_where_it_leads(here: Scene) -> None:
    assert here.read("out/x", rules=Rules(deny=("read(out/**)",)), mode="auto").kind == "deny"
    assert here.read("../outside/x", rules=Rules(deny=("read(out/**)",)), mode="auto").kind == "deny"


def test_a_denied_path_under_home_is_denied_in_every_spelling_of_home(here: Scene) -> None:
    rules = Rules(deny=("read(~/.ssh/**)",))
    for path in ("~/.ssh/id_rsa", str(here.home / ".ssh" / "id_rsa"), "key", "../home/.SSH/id_rsa", "~/.ssh"):
        assert here.read(path, rules=rules, mode="auto").kind == "deny"
    for line in (
        "cat ~/.ssh/id_rsa",
        "cat $HOME/.ssh/id_rsa",
        "cat key",
        "tar cf x ../home/.ssh",
        f"x --f={here.home}/.ssh/id_rsa",
    ):
        assert here.bash(line, rules=rules, mode="auto").kind == "deny", line
    assert here.bash("make all", rules=rules, mode="auto").kind == "allow"


def test_a_rule_for_reading_speaks_for_every_tool_that_reads(here: Scene) -> None:
    for tool in ("read", "grep", "ls", "find"):
        assert here.judge(tool, {"path": "src"}, rules=Rules(deny=("read(src)",))).kind == "deny"
    assert here.judge("ls", {"path": "src"}, rules=Rules(deny=("grep(src)",))).kind == "allow"
    assert here.judge("write", {"path": "src/a.py"}, rules=Rules(deny=("edit(src)",))).kind == "deny"
    assert here.edit("src/a.py", rules=Rules(deny=("write(src)",)), mode="edits").kind == "allow"


def test_a_search_around_a_denied_file_is_asked_about(here: Scene) -> None:
    (here.workspace / "deploy" / "notes.txt").write_text("x")
    rules = Rules(deny=("read(deploy/**)", "read(*.pem)"))
    grep = ("grep", {"pattern": "x"})
    assert here.judge(*grep, rules=rules).kind == "ask"
    assert here.judge("grep", {"pattern": "x", "path": "src"}, rules=rules).kind == "allow"
    for line in ("rg x", "rg x ."):
        assert here.bash(line, rules=rules).kind == "ask", line
    assert here.bash("rg x src", rules=rules).kind == "allow"
    assert here.bash("ls", rules=rules).kind == "allow"


def test_a_glob_that_leads_back_up_searches_what_it_leads_to(here: Scene) -> None:
    upwards = ("grep", {"pattern": "x", "path": "README.md", "glob": "../**"})
    assert here.judge(*upwards, rules=Rules(deny=("read(src/a.py)",)), mode="auto").kind == "ask"


def test_a_hard_link_among_too_many_files_is_asked_about(here: Scene) -> None:
    """What can't be told is not let pass."""
    many = here.workspace / "many"
    many.mkdir()
    for number in range(5001):
        (many / str(number)).touch()
    (here.workspace / "first").write_text("x")
    os.link(here.workspace / "first", here.workspace / "second")
    assert here.read("second", rules=Rules(deny=("read(zzz)",)), mode="auto").kind == "ask"
    assert here.read("README.md", rules=Rules(deny=("read(zzz)",)), mode="auto").kind == "allow"


# Places ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        *("../x", "..", "/", "/etc/passwd", "src/../../x", "//etc/passwd", "/./etc/passwd", "~", "~/x"),
        *("~/../x", "$HOME/x", "${HOME}/x", "$PWD/x", "out", "out/x", "out/../x", "out/new", "WS_EVIL"),
        *("../ws_evil/x", "../ws./x", "/proc/self/root/etc/passwd", "/proc/self/environ", "/dev/sda", "/tmp"),
        "missing/../../x",
    ],
)
def test_a_path_that_leads_out_is_outside(here: Scene, path: str) -> None:
    """Prefixes, dots, slashes, home, variables and links."""
    (here.workspace.parent / "ws_evil").mkdir()
    path = str(here.workspace) + "_evil/x" if path == "WS_EVIL" else path
    assert here.read(path).kind == "ask"
    assert here.edit(path, mode="edits").kind == "ask"


@pytest.mark.parametrize(
    "path",
    [
        *("src/a.py", "./src//a.py", ".", "src/..", "src/../README.md", "new/deep/x", "..x", "a..b", "x~"),
        *("a$b", "out/../ws/x"),
    ],
)
def test_a_path_that_stays_inside_is_inside(here: Scene, path: str) -> None:
    assert here.read(path).kind == "allow"
    assert here.read(str(here.workspace / path)).kind == "allow"


def test_a_path_is_inside_only_if_it_is_by_its_links_and_by_its_text(here: Scene) -> None:
    """The kernel follows links before it goes up, a program that tidies paths does not."""
    (here.workspace / "src" / "one" / "two").mkdir(parents=True)
    os.symlink("src/one/two", here.workspace / "deep")
    assert here.edit("deep/../x", mode="edits").kind == "allow"
    assert here.edit("deep/../../x", mode="edits").kind == "ask"
    assert here.edit("out/../x", mode="edits").kind == "ask"


def test_a_path_that_starts_like_another_users_home_is_never_followed(here: Scene) -> None:
    assert here.read("~root/x", mode="auto").kind == "deny"


_PARTS = st.sampled_from(
    [
        *("src", "..", ".", "", "out", "up", "deep", "self", "chain", "missing", "ws", "ws_evil", "a.py"),
        *("~", "$x", "...", " ", "outside", "x"),
    ]
)


def _misjudged(here: Scene, parts: list[str], cwd: Path) -> bool:
    path = "/".join(parts)
    start = os.path.join(cwd, path)
    root = os.path.realpath(here.workspace)
    ends = [os.path.realpath(start), os.path.realpath(os.path.normpath(start))]
    inside = all(end == root or end.startswith(root + "/") for end in ends) and path[:1] not in ("~", "$")
    return is_inside(resolve(path, cwd, here.home), here.workspace) != inside if path else False


def _with_links(here: Scene) -> Scene:
    (here.workspace.parent / "ws_evil").mkdir()
    os.symlink("..", here.workspace / "up")
    os.symlink(".", here.workspace / "self")
    os.symlink("up/outside", here.workspace / "chain")
    (here.workspace / "src" / "one" / "two").mkdir(parents=True)
    os.symlink("src/one/two", here.workspace / "deep")
    os.symlink(here.workspace, here.outside / "ws")
    return here


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(_PARTS, min_size=1, max_size=7), absolute=st.booleans(), deep=st.booleans())
def test_inside_and_outside_are_told_apart_for_any_path(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], absolute: bool, deep: bool
) -> None:
    """Against realpath, which knows no case where following fails here."""
    here = _links_scene(tmp_path_factory)
    parts = [*str(here.workspace).split("/"), *parts] if absolute else parts
    assert not _misjudged(here, parts, here.workspace / "src" if deep else here.workspace)


_SCENES: list[Scene] = []


def _links_scene(factory: pytest.TempPathFactory) -> Scene:
    if not _SCENES:
        _SCENES.append(_with_links(scene(factory.mktemp("links"))))
    return _SCENES[0]


@pytest.mark.long
def test_ten_thousand_paths_are_told_apart(tmp_path_factory: pytest.TempPathFactory) -> None:
    """0 of 10,000 misjudged."""
    here = _links_scene(tmp_path_factory)

    @settings(max_examples=10_000, deadline=None, database=None)
    @given(parts=st.lists(_PARTS, min_size=1, max_size=9))
    def run(parts: list[str]) -> None:
        assert not _misjudged(here, parts, here.workspace)

    run()


@pytest.mark.parametrize("path", ["loop", "loop/x", "src/" + "a" * 300, "a\0b", "", "src/\0"])
def test_a_path_that_cannot_be_followed_is_denied_in_every_mode(here: Scene, path: str) -> None:
    """Links in a loop, names too long, no path at all."""
    for mode in MODES:
        for judged in (here.read, here.edit):
            assert judged(path, mode=mode, rules=Rules(allow=("*",))).kind == "deny"


def test_a_path_through_a_folder_without_access_is_denied() -> None:
    """EACCES, looked at as a user who has none."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # TMPDIR may be closed to that user
        here = scene(Path(name))
        for folder in (Path(name), here.workspace):
            folder.chmod(0o755)
        closed = here.workspace / "closed"
        closed.mkdir()
        os.symlink("/etc/passwd", closed / "x")
        closed.chmod(0)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)
        try:
            assert here.read("README.md").kind == "allow"
            verdict = here.read("closed/x", mode="auto")
        finally:
            if root:
                os.seteuid(0)
            closed.chmod(0o755)
        assert verdict.kind == "deny"
        assert "Permission denied" in verdict.reason


@pytest.mark.parametrize(
    "path",
    [
        *(".git/config", ".GIT/config", ".Git/hooks/x", "src/.git/config", ".git", ".git./config"),
        *(".git /config", "GIT~1/config", ".g\u200cit/config", ".prunecli/config.toml"),
        *(".PruneCLI/config.toml", "a/.prunecli/x", ".vscode/tasks.json", ".envrc", ".mcp.json"),
        *(".tool-versions", "inner/config", "alias/hooks/x", "AGENTS.md", "src/AGENTS.md", "agents.MD"),
        *("CLAUDE.md", "GEMINI.md", ".github/workflows/ci.yml", "CLAUDE.local.md", ".kiro/steering/a.md"),
        *(".github/hooks/a.json", ".forgejo/workflows/ci.yml", "my.code-workspace", ".zlogin"),
        *(".bash_aliases", ".hg/hgrc", "lefthook.yaml", ".buildkite/hooks/a", "package.json"),
        *("src/package.json", "Package.JSON", ".github/actions/x/action.yml", ".cargo/config.toml"),
        *(".gemini/settings.json", ".zed/tasks.json", ".idea/workspace.xml", ".gdbinit", ".lldbinit"),
        *(".yarnrc.yml", ".pre-commit-config.yaml", "src/x.pth", ".gitlab-ci.yml", ".husky/pre-commit"),
        *(".npmrc", "node_modules/which/bin/which", ".venv/bin/python", "sitecustomize.py", ".gitattributes"),
        *(".cursorrules", ".vimrc", ".bazelrc", ".Github/Workflows/x.yml"),
    ],
)
def test_edits_mode_never_writes_where_programs_are_started_from(here: Scene, path: str) -> None:
    """In any spelling, through links as well."""
    (here.workspace / ".git").mkdir()
    os.symlink(".git", here.workspace / "inner")
    os.symlink("inner", here.workspace / "alias")
    assert here.edit(path, mode="edits").kind == "ask"


def test_edits_mode_asks_for_a_file_that_has_another_name(here: Scene) -> None:
    """A hard link could be a file outside."""
    os.link(here.outside / "x", here.workspace / "src" / "x")
    assert here.edit("src/x", mode="edits").kind == "ask"
    assert here.edit("src/x", mode="edits").rules == ()


@pytest.mark.parametrize(
    "path",
    [
        *(".env", ".env.local", ".ENV", "prod.env", "deploy/server.pem", "deploy/id_rsa", "id_rsa.pub"),
        *("id_ed25519", "x/.ssh/config", "x/.aws/credentials", ".gnupg/x", "credentials.json", ".netrc"),
        *(".npmrc", "secrets.toml", "/proc/self/environ", "/proc/1/environ", "~/.ssh/id_rsa", "key"),
        *("server.key", ".git-credentials"),
    ],
)
def test_reading_a_secret_is_asked_about(here: Scene, path: str) -> None:
    for mode in ("ask", "edits", "plan"):
        assert here.read(path, mode=mode).kind == "ask"


@pytest.mark.parametrize(
    "path", [".env.example", "env.py", "credentials.py", "src/environment", "keys.py", ".github/x"]
)
def test_what_only_sounds_like_a_secret_is_read(here: Scene, path: str) -> None:
    assert here.read(path).kind == "allow"


def test_secrets_of_the_program_itself_are_asked_about(here: Scene) -> None:
    (here.workspace / "own").mkdir()
    assert here.read("own/key").kind == "allow"
    assert here.read("own/key", secrets=(here.workspace / "own",)).kind == "ask"
    assert here.bash("cat own/key", secrets=(here.workspace / "own" / "key",)).kind == "ask"


def test_headers_and_libraries_of_the_system_are_read_without_a_question(here: Scene) -> None:
    assert here.read("/usr/include/stdio.h").kind == "allow"
    assert here.read("/usr/lib/python3/dist-packages/x.py").kind == "allow"
    assert here.read("/usr/lib/../../etc/passwd").kind == "ask"
    assert here.read("/usr/libx/y").kind == "ask"
    assert here.read("/usr/lib/server.key").kind == "ask"
    assert here.edit("/usr/lib/x", mode="edits").kind == "ask"


@pytest.mark.parametrize(
    ("tool", "given", "kind"),
    [
        ("grep", {"pattern": "/etc/passwd"}, "allow"),
        ("grep", {"pattern": "x", "glob": "*.py"}, "allow"),
        ("grep", {"pattern": "x", "glob": ".env*"}, "ask"),
        ("grep", {"pattern": "x", "glob": "../**"}, "ask"),
        ("grep", {"pattern": "x", "glob": "/etc/*"}, "ask"),
        ("grep", {"pattern": "x", "glob": "../../**", "path": "src"}, "ask"),
        ("find", {"pattern": ".env"}, "allow"),
        ("find", {"pattern": "**/*.py", "path": "src"}, "allow"),
        ("find", {"pattern": "../*"}, "ask"),
        ("find", {"pattern": "/etc/*"}, "ask"),
        ("find", {"pattern": "~/*"}, "ask"),
        ("ls", {"path": ".."}, "ask"),
    ],
)
def test_patterns_of_search_tools_are_judged_as_paths(here: Scene, tool: str, given: Any, kind: str) -> None:
    assert here.judge(tool, given).kind == kind


def test_a_workspace_behind_a_link_is_the_same_workspace(here: Scene) -> None:
    link = here.workspace.parent / "link"
    os.symlink(here.workspace, link)
    around = {"workspace": link, "cwd": link}
    assert here.read("src/a.py", **around).kind == "allow"
    assert here.read(str(here.workspace / "src/a.py"), **around).kind == "allow"
    assert here.read("../outside/x", **around).kind == "ask"
    assert here.read("src/a.py", rules=Rules(deny=("read(src/**)",)), **around).kind == "deny"
    assert here.edit("src/a.py", rules=Rules(allow=("edit(src/**)",)), **around).kind == "allow"


def test_a_workspace_that_is_gone_denies(here: Scene) -> None:
    os.symlink("gone", here.workspace.parent / "gone")
    gone = here.workspace.parent / "gone"
    assert here.read("x", workspace=gone, cwd=gone).kind == "deny"
    with pytest.raises(Unresolvable):
        resolve("x", gone, here.home)


# Offers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "given", "rule"),
    [
        ("bash", {"command": "npm test"}, "bash(npm test)"),
        ("bash", {"command": "npm  test 'a b' 2>&1"}, "bash(npm test 'a b')"),
        ("bash", {"command": "make && make install"}, "bash(make), bash(make install)"),
        ("bash", {"command": "make; make x"}, "bash(make), bash(make x)"),
        ("bash", {"command": "echo ')' '*' x:'*'; y"}, "bash(y)"),
        ("bash", {"command": "make $x"}, ""),
        ("bash", {"command": "make > x"}, ""),
        ("bash", {"command": "make " + "x" * 300}, ""),
        ("edit", {"path": "src/a.py"}, "edit(src/**)"),
        ("edit", {"path": "src/x/new.py"}, "edit(src/x/**)"),
        ("edit", {"path": "README.md"}, "edit(./*)"),
        ("edit", {"path": ".git/config"}, "edit(./.git/config)"),
        ("edit", {"path": ".env"}, "edit(./.env)"),
        ("edit", {"path": "app/[id]/page.tsx"}, ""),
        ("edit", {"path": "a\x1bb/x"}, ""),
        ("read", {"path": "/etc/nginx/nginx.conf"}, "read(/etc/nginx/**)"),
        ("read", {"path": "../outside/x"}, "read(OUTSIDE/**)"),
        ("read", {"path": "/etc/hosts"}, "read(/etc/hosts)"),
        ("read", {"path": "/etc"}, ""),
        ("read", {"path": "/"}, ""),
        ("read", {"path": "../home"}, ""),
        ("read", {"path": ".."}, ""),
    ],
)
def test_the_rule_that_is_offered_is_narrow(here: Scene, tool: str, given: Any, rule: str) -> None:
    verdict = here.judge(tool, given)
    assert verdict.kind == "ask"
    assert ", ".join(verdict.rules) == rule.replace("OUTSIDE", str(here.outside))


def test_an_offered_rule_allows_the_same_call_and_asks_again_for_another(here: Scene) -> None:
    """Allowed for this session means this, not something like it."""
    saved = Rules()
    for judged, same, others in [
        (here.bash, "npm test", ["npm test x", "npm", "npm testx", "npm test && rm x", "npm test $x"]),
        (here.edit, "src/a.py", ["README.md", "src/.git/x", "src/../x", "srcx/a"]),
        (here.edit, "../outside/x", ["../outside/y", "../x"]),
        (here.read, "../outside/x", ["../x", "../outside/.env", "../home/x"]),
        (here.read, ".env", [".env.local", "src/.env", "deploy/id_rsa"]),
    ]:
        first = judged(same, rules=saved)
        assert first.kind == "ask"
        assert first.rules
        saved = replace(saved, allow=(*saved.allow, *first.rules))
        assert judged(same, rules=saved).kind == "allow"
        for other in others:
            assert judged(other, rules=saved).kind == "ask", (first.rules, other)


def test_a_call_that_a_deny_or_ask_rule_holds_up_offers_nothing(here: Scene) -> None:
    assert here.bash("make", rules=Rules(ask=("bash",))).rules == ()
    assert here.bash("sh x", rules=Rules(deny=("bash(rm:*)",))).rules == ()


_ANY_LINE = st.lists(
    st.sampled_from(["npm", "x", "'a b'", "&&", "|", ";", "rm", "-f", "a=b", ":*", "'*'", "(", "$x", "2>&1"])
).map(" ".join)


@settings(max_examples=75, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=_ANY_LINE)
def test_whatever_is_offered_covers_the_line_it_was_offered_for(
    tmp_path_factory: pytest.TempPathFactory, line: str
) -> None:
    here = _links_scene(tmp_path_factory)
    rules = here.bash(line).rules
    if rules:
        assert here.bash(line, rules=Rules(allow=rules)).kind == "allow"
        assert here.bash(line + " more", rules=Rules(allow=rules)).kind == "ask"
