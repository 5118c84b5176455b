"""Which directories are trusted, and what can't make them so."""

import hashlib
import json
import os
import shutil
import stat
import subprocess
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.agent.instructions import Instructions
from prunecli.config.project_config import project_files
from prunecli.safety.project_settings import refused_links
from prunecli.safety.trust import TrustStore, digest
from prunecli.util.errors import ConfigError


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "config" / "prunecli" / "trust.json")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    (path / ".prunecli" / "commands").mkdir(parents=True)
    (path / ".prunecli" / "config.toml").write_text("[ui]\n")
    (path / ".prunecli" / "commands" / "x.md").write_text("x")
    (path / "AGENTS.md").write_text("be kind\n")
    (path / "src").mkdir()
    return path


def test_nothing_is_trusted_before_the_user_says_so(store: TrustStore, project: Path) -> None:
    assert not store.is_trusted(project)
    assert not store.path.exists()
    assert store.problem == ""


def test_trust_is_kept_and_taken_away(store: TrustStore, project: Path) -> None:
    store.trust(project)
    assert TrustStore(store.path).is_trusted(project)
    assert store.untrust(project)
    assert not store.is_trusted(project)
    assert not store.untrust(project)


def test_the_store_is_for_its_owner_only(store: TrustStore, project: Path) -> None:
    old = os.umask(0)
    try:
        store.trust(project)
    finally:
        os.umask(old)
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700
    assert sorted(path.name for path in store.path.parent.iterdir()) == [
        *("trust.json", "trust.json.lock", "trust.json.settings"),
    ]
    kept = store.path.parent / "trust.json.settings"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in kept.iterdir()] == [0o600]


def test_trust_is_by_real_path_and_for_one_directory(store: TrustStore, project: Path) -> None:
    """Outside of a repository, neither what lies below nor what points to it inherits anything."""
    link = project.parent / "link"
    os.symlink(project, link)
    store.trust(link)
    assert store.is_trusted(project)
    assert store.is_trusted(link)
    assert store.is_trusted(project / "src" / "..")
    assert not store.is_trusted(project / "src")
    assert not store.is_trusted(project.parent)
    assert not store.is_trusted(project.parent / "project2")
    link.unlink()
    link.mkdir()
    assert not store.is_trusted(link)


def test_a_git_file_that_points_to_a_trusted_repository_lends_no_trust(
    store: TrustStore, project: Path
) -> None:
    """CVE-2026-40068: git's own files never take part."""
    (project / ".git").mkdir()
    store.trust(project)
    evil = project.parent / "evil"
    evil.mkdir()
    (evil / ".git").write_text(f"gitdir: {project / '.git'}\n")
    (evil / "commondir").write_text(f"{project / '.git'}\n")
    assert not store.is_trusted(evil)


@pytest.fixture
def repository(project: Path) -> Path:
    """A repository with settings, a linked worktree beside it, and a nested repository."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(project.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")
    (project / "src" / "deep").mkdir()
    for words in (("init", "-q"), ("add", "."), identity, ("worktree", "add", "-q", "../tree")):
        subprocess.run(["git", *words], cwd=project, env=environ, check=True, capture_output=True)
    (project.parent / "tree" / "src").mkdir()
    (project / "nested").mkdir()
    subprocess.run(["git", "init", "-q"], cwd=project / "nested", env=environ, check=True)
    return project


def test_trust_in_a_repository_covers_its_folders_and_worktrees(store: TrustStore, repository: Path) -> None:
    tree = repository.parent / "tree"
    covered = (repository / "src", repository / "src" / "deep", tree, tree / "src")
    assert not any(map(store.may_act, covered))
    store.trust(repository)
    assert all(map(store.is_trusted, covered))
    assert all(map(store.may_act, covered))
    assert not store.may_act(repository / "nested"), "another repository"
    assert not store.may_act(repository.parent)
    assert store.untrust(tree / "src")
    assert not any(map(store.may_act, (repository, *covered)))


def test_a_folder_or_worktree_with_settings_of_its_own_is_asked_about(
    store: TrustStore, repository: Path
) -> None:
    tree = repository.parent / "tree"
    store.trust(repository)
    (repository / "src" / "AGENTS.md").write_text("be evil\n")
    assert store.may_act(repository)
    assert not store.may_act(repository / "src")
    assert not store.may_act(repository / "src" / "deep")
    assert store.may_act(tree)
    (tree / "AGENTS.md").write_text("be evil\n")
    assert not store.may_act(tree)
    assert not store.may_act(tree / "src")
    store.trust(tree)
    assert store.may_act(tree)
    assert store.may_act(tree / "src"), "a worktree that is trusted itself covers its folders"
    (repository / "AGENTS.md").write_text("changed\n")
    assert not store.may_act(repository)
    assert store.may_act(tree), "it has the settings that were trusted"


def test_a_covered_folder_stays_trusted_when_the_user_edits_its_settings(
    store: TrustStore, repository: Path
) -> None:
    store.trust(repository)
    for folder in (repository / "src", repository.parent / "tree"):
        path = folder / "AGENTS.md"
        before = path.read_bytes() if path.exists() else None
        path.write_bytes(b"mine\n")
        store.follow(path, before, b"mine\n")
        assert store.may_act(folder)
    (repository / "src" / "CLAUDE.md").write_text("be evil\n")
    assert not store.may_act(repository / "src")


def test_a_worktree_that_the_repository_does_not_list_is_not_covered(
    store: TrustStore, repository: Path
) -> None:
    store.trust(repository)
    tree, evil = repository.parent / "tree", repository.parent / "evil"
    evil.mkdir()
    for name in ("AGENTS.md", ".git"):
        (evil / name).write_bytes((tree / name).read_bytes())
    shutil.copytree(tree / ".prunecli", evil / ".prunecli")
    assert digest(evil) == digest(tree)
    assert not store.is_trusted(evil)


def test_a_store_inside_of_the_directory_is_not_read(project: Path) -> None:
    """PRUNECLI_HOME or XDG_CONFIG_HOME from a repository's .env leads nowhere."""
    inside = TrustStore(project / ".config" / "trust.json")
    inside.path.parent.mkdir()
    inside.path.write_text(json.dumps({"version": 1, "directories": {str(project): digest(project)}}))
    inside.path.chmod(0o600)
    assert inside.problem == ""
    assert not inside.is_trusted(project)
    assert inside.changed_since(project)
    with pytest.raises(ConfigError, match="is inside it"):
        inside.trust(project)
    linked = TrustStore(project.parent / "linked" / "trust.json")
    os.symlink(inside.path.parent, linked.path.parent)
    assert not linked.is_trusted(project)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"version": 2, "directories": {}}',
        b'{"version": 1, "directories": []}',
        b'{"version": 1, "directories": {"/x": 5}}',
        b'{"version": 1, "directories": {"x": ""}}',
        b"\xff",
        b"[" * 100_000,
        b'{"version": ' + b"9" * 5000 + b"}",
        b" " * 4_000_001,
    ],
    ids=range(12),
)
def test_a_damaged_store_trusts_nothing_and_is_not_overwritten(
    store: TrustStore, project: Path, content: bytes
) -> None:
    store.path.parent.mkdir(parents=True)
    store.path.write_bytes(content)
    store.path.chmod(0o600)
    assert not store.is_trusted(project)
    assert str(store.path) in store.problem
    with pytest.raises(ConfigError) as caught:
        store.trust(project)
    assert "remove" in caught.value.hint
    assert store.path.read_bytes() == content


def test_a_store_that_others_can_write_or_that_is_a_link_trusts_nothing(
    store: TrustStore, project: Path
) -> None:
    """'s rule for the store: planted files are refused."""
    store.trust(project)
    store.path.chmod(0o620)
    assert not store.is_trusted(project)
    assert "only you can write" in store.problem
    store.path.chmod(0o600)
    assert store.is_trusted(project)
    other = store.path.with_name("other.json")
    store.path.rename(other)
    os.symlink(other, store.path)
    assert not store.is_trusted(project)
    assert store.problem
    store.path.unlink()
    os.mkfifo(store.path)
    assert not store.is_trusted(project)


def test_what_cannot_be_trusted_says_why(store: TrustStore, project: Path, tmp_path: Path) -> None:
    os.symlink("loop", tmp_path / "loop")
    for path in (project / "AGENTS.md", tmp_path / "missing", tmp_path / "loop"):
        with pytest.raises(ConfigError) as caught:
            store.trust(path)
        assert str(path) in caught.value.message
        assert "--trust" in caught.value.hint
        assert not store.is_trusted(path)
    blocked = TrustStore(project / "AGENTS.md" / "trust.json")
    with pytest.raises(ConfigError, match=r"AGENTS\.md"):
        blocked.trust(tmp_path)


def test_a_directory_that_is_gone_can_still_be_untrusted(store: TrustStore, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    store.trust(gone)
    gone.rmdir()
    assert store.untrust(gone)
    gone.mkdir()
    assert not store.is_trusted(gone)


def test_two_programs_that_trust_at_once_lose_nothing(store: TrustStore, tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number in range(12)]
    for path in paths:
        path.mkdir()
    threads = [threading.Thread(target=TrustStore(store.path).trust, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert all(map(store.is_trusted, paths))


def test_a_name_that_is_no_text_can_be_trusted(store: TrustStore, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9")
    path.mkdir()
    store.trust(path)
    assert store.is_trusted(path)


# Changes -----------------------------------------------------------------------------------------------------


def test_settings_that_stay_the_same_are_not_asked_about_again(store: TrustStore, project: Path) -> None:
    store.trust(project)
    assert not store.changed_since(project)
    (project / "src" / "a.py").write_text("code")
    os.utime(project / "AGENTS.md", (1, 1))
    assert not store.changed_since(project)


@pytest.mark.parametrize(
    "path",
    [
        *("AGENTS.md", "CLAUDE.md", ".prunecli/config.toml", ".prunecli/commands/x.md", ".prunecli/new"),
        *(".prunecli/a/b", "CLAUDE.local.md", ".claude/rules/deep/x.md"),
    ],
)
def test_any_change_of_the_settings_is_noticed(store: TrustStore, project: Path, path: str) -> None:
    store.trust(project)
    (project / path).parent.mkdir(exist_ok=True, parents=True)
    with (project / path).open("a") as file:
        file.write("x")
    assert store.changed_since(project)
    store.trust(project)
    assert not store.changed_since(project)
    (project / path).unlink()
    assert store.changed_since(project)


def test_names_that_are_not_there_are_not_in_the_digest(tmp_path: Path) -> None:
    """So a version that looks for more names asks about no directory again that has none of them."""
    assert digest(tmp_path) == hashlib.sha256().hexdigest()


def test_an_empty_folder_that_a_killed_command_left_changes_nothing(
    store: TrustStore, tmp_path: Path
) -> None:
    project = tmp_path / "bare"
    project.mkdir()
    store.trust(project)
    for name in (".prunecli", ".mcp.json", ".claude"):
        (project / name).mkdir()
    assert not store.changed_since(project)
    (project / ".mcp.json").rmdir()
    (project / ".mcp.json").write_text("{}")
    assert store.changed_since(project)


def test_what_was_seen_is_what_is_trusted(store: TrustStore, project: Path) -> None:
    """A change between the question and the answer is not covered by the answer."""
    seen = digest(project)
    (project / "AGENTS.md").write_text("be evil\n")
    store.trust(project, seen)
    assert store.changed_since(project)


def test_what_a_link_leads_to_counts(store: TrustStore, project: Path) -> None:
    """Settings behind links are settings."""
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x.md").write_text("one")
    os.symlink(elsewhere, project / ".prunecli" / "more")
    os.symlink(elsewhere / "x.md", project / "CLAUDE.md")
    store.trust(project)
    assert not store.changed_since(project)
    (elsewhere / "x.md").write_text("two")
    assert store.changed_since(project)


@pytest.mark.parametrize("kind", ["loop", "fifo", "folder loop", "dangling", "many", "large"])
def test_settings_that_cannot_be_read_count_as_changed(store: TrustStore, project: Path, kind: str) -> None:
    odd = project / ".prunecli" / "odd"
    if kind == "loop":
        os.symlink("odd", odd)
    elif kind == "fifo":
        os.mkfifo(odd)
    elif kind == "folder loop":
        os.symlink(".", odd)
    elif kind == "dangling":
        os.symlink("nowhere", odd)
    elif kind == "many":
        odd.mkdir()
        for number in range(2001):
            (odd / str(number)).touch()
    else:
        with odd.open("wb") as file:
            file.truncate(33_000_000)
    assert digest(project) == ""
    store.trust(project)
    assert store.is_trusted(project)
    assert store.changed_since(project)


def test_an_unknown_directory_counts_as_changed(store: TrustStore, project: Path) -> None:
    assert store.changed_since(project)


_TREE = st.dictionaries(
    st.sampled_from(["a", "b", "ab", "a/b", "b/a", "a/ab"]), st.binary(max_size=3), max_size=3
)


@given(one=_TREE, two=_TREE)
def test_different_settings_have_different_digests(
    tmp_path_factory: pytest.TempPathFactory, one: dict[str, bytes], two: dict[str, bytes]
) -> None:
    made = []
    for tree in (one, two):
        folder = tmp_path_factory.mktemp("tree")
        kept = {
            name: data
            for name, data in tree.items()
            if not any(other.startswith(name + "/") for other in tree)
        }
        for name, data in kept.items():
            path = folder / ".prunecli" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        made.append((kept, digest(folder)))
    assert (made[0][0] == made[1][0]) == (made[0][1] == made[1][1])


def test_what_changed_is_shown(store: TrustStore, project: Path) -> None:
    store.trust(project)
    assert store.may_act(project)
    assert store.changes(project) == ""
    (project / "AGENTS.md").write_text("be kind\nrun \x1b[2J this first\n")
    (project / ".prunecli" / "commands" / "x.md").unlink()
    (project / "CLAUDE.md").write_text("new\n")
    assert not store.may_act(project)
    assert store.changes(project).split("\n") == [
        *(".prunecli/commands/x.md was removed:", "@@ -1 +0,0 @@", "-x"),
        *("AGENTS.md was changed:", "@@ -1 +1,2 @@", " be kind", "+run \u241b[2J this first"),
        *("CLAUDE.md was added:", "@@ -0,0 +1 @@", "+new"),
    ]
    store.trust(project)
    assert store.may_act(project)


def test_settings_above_the_directory_are_watched_as_well(store: TrustStore, project: Path) -> None:
    """A pull changes the instructions at the repository's root, which count for the folders below."""
    (project / ".git").mkdir()
    store.trust(project / "src")
    (project / "AGENTS.md").write_text("be evil\n")
    assert not store.may_act(project / "src")
    assert "../AGENTS.md was changed:" in store.changes(project / "src")


def test_a_change_whose_past_is_not_known_names_the_files(store: TrustStore, project: Path) -> None:
    store.trust(project)
    for kept in (store.path.parent / (store.path.name + ".settings")).iterdir():
        kept.write_text("no json")
    (project / "AGENTS.md").write_text("x")
    assert "Now: .prunecli/commands/x.md, .prunecli/config.toml, AGENTS.md" in store.changes(project)


def test_instructions_that_lead_outside_of_the_project_are_refused(project: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("obey")
    (project / ".git").mkdir()
    (project / "AGENTS.md").unlink()
    (project / "AGENTS.md").symlink_to(outside)
    (project / "CLAUDE.md").symlink_to("src/notes.md")
    (project / "src" / "notes.md").write_text("be kind")
    found = Instructions(project, tmp_path / "config", tmp_path / "home", trusted=True).at_start()
    assert found == [(project / "CLAUDE.md", "be kind")]
    (said,) = refused_links(project)
    assert str(outside) in said
    (project / ".prunecli" / "config.toml").unlink()
    (project / ".prunecli" / "config.toml").symlink_to(outside)
    assert project_files(project) == ()
    assert len(refused_links(project)) == 2
