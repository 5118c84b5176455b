"""Folders of definitions: which are looked at, what is refused in them, and what looking again costs."""

import os
import socket
from pathlib import Path
from tempfile import TemporaryDirectory

from prunecli.agent.front_matter import MAX_BYTES
from prunecli.runtime.definition_folders import MAX_FILES, Folder, Found, Shelf, Shelved, folders
from prunecli.util.errors import ConfigError
from tests.files import put


class Readings:
    """A shelf whose definitions are the names of the files, and what was parsed."""

    def __init__(self, marker: str = "") -> None:
        self.read: list[str] = []
        self.shelf = Shelf(self.parse, marker)

    def parse(self, found: Found) -> str:
        self.read.append("/".join(found.parts))
        if found.path.read_text() == "bad":
            raise ConfigError(f"{found.path}: bad")
        return "/".join(found.parts)


def test_the_nearest_folder_of_a_project_wins_and_the_users_come_last(tmp_path: Path) -> None:
    root, here, home = tmp_path / "r", tmp_path / "r/a", tmp_path / "home"
    found = folders("skills", (root, here), home / ".config/prunecli", home)
    assert [(one.path.relative_to(tmp_path).as_posix(), one.owner) for one in found] == [
        ("r/a/.prunecli/skills", "project"),
        ("r/a/.claude/skills", "project"),
        ("r/.prunecli/skills", "project"),
        ("r/.claude/skills", "project"),
        ("home/.config/prunecli/skills", "user"),
        ("home/.claude/skills", "user"),
    ]
    assert {one.root for one in found if one.owner == "project"} == {root}
    assert len(folders("agents", (), home, home)) == 2


def test_the_home_directory_as_a_project_does_not_list_the_users_folder_twice(tmp_path: Path) -> None:
    found = folders("agents", (tmp_path,), tmp_path / "c", tmp_path)
    assert [one.owner for one in found if one.path == tmp_path / ".claude/agents"] == ["user"]


def test_markdown_files_are_found_in_subfolders_and_other_files_are_not(tmp_path: Path) -> None:
    for name in (
        "b.md",
        "a.md",
        "git/commit.md",
        "x.txt",
        ".hidden/x.md",
        "node_modules/x.md",
        "a/b/c/d/e.md",
    ):
        put(tmp_path / name)
    put(tmp_path / "a/b/c/d/e/f.md")
    (tmp_path / "folder.md").mkdir()
    look = Readings().shelf.look([Folder(tmp_path, "user")])
    assert look.definitions == ("a", "b", "a/b/c/d/e", "git/commit")
    assert look.problems == ()


def test_a_marked_folder_is_one_definition(tmp_path: Path) -> None:
    for name in (
        "pdf/SKILL.md",
        "pdf/sub/SKILL.md",
        "group/docx/SKILL.md",
        "plain/README.md",
        "SKILL.md",
        "x.md",
    ):
        put(tmp_path / name)
    assert Readings("SKILL.md").shelf.look([Folder(tmp_path, "user")]).definitions == (
        "group/docx/SKILL",
        "pdf/SKILL",
    )


def test_a_missing_folder_is_nothing_and_one_that_cannot_be_listed_is_a_problem(tmp_path: Path) -> None:
    shelf = Readings().shelf
    assert (
        shelf.look([Folder(tmp_path / "none", "user"), Folder(put(tmp_path / "file"), "user")]).problems == ()
    )
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert "loop" in shelf.look([Folder(loop, "user")]).problems[0]


def test_only_regular_files_of_a_bounded_size_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.md")
    (tmp_path / "broken.md").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop.md").symlink_to(tmp_path / "loop.md")
    put(tmp_path / "huge.md", "x" * (MAX_BYTES + 1))
    put(tmp_path / "bad.md", "bad")
    put(tmp_path / "esc\x1b[2J.md", "bad")
    put(tmp_path / "good.md")
    with TemporaryDirectory(dir="/tmp") as short, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{short}/sock.md")  # the path of a socket has at most 107 bytes
        look = Readings().shelf.look([Folder(tmp_path, "user"), Folder(Path(short), "user")])
    assert look.definitions == ("good",)
    said = {Path(line.partition(": ")[0]).name: line.partition(": ")[2] for line in look.problems}
    refused = {"bad.md", "broken.md", "fifo.md", "huge.md", "loop.md", "sock.md"}
    assert {name for name in said if not name.startswith("esc")} == refused
    assert all(line.isprintable() for line in look.problems)
    assert said["fifo.md"] == said["sock.md"] == "not a regular file"
    assert said["huge.md"] == "larger than 1,000 KB"


def test_links_of_a_project_stay_in_it_and_the_users_go_anywhere(tmp_path: Path) -> None:
    root, out = tmp_path / "r", tmp_path / "out"
    put(out / "secret.md")
    put(root / "docs/shared.md")
    commands = root / ".claude/commands"
    commands.mkdir(parents=True)
    (commands / "in.md").symlink_to(root / "docs/shared.md")
    (commands / "out.md").symlink_to(out / "secret.md")
    (commands / "dir").symlink_to(out)
    (commands / "loop").symlink_to(root)
    (root / ".prunecli").mkdir()
    (root / ".prunecli/commands").symlink_to(out)
    look = Readings().shelf.look(folders("commands", (root,), tmp_path / "c", tmp_path / "h"))
    assert look.definitions == ("in",)
    assert [line.rpartition("/")[2] for line in look.problems] == [
        f"{name}: a link that leads outside the project" for name in ("commands", "out.md", "dir")
    ]
    assert Readings().shelf.look([Folder(commands, "user")]).definitions == ("in", "out", "dir/secret")


def test_a_file_is_parsed_once_for_each_of_its_contents(tmp_path: Path) -> None:
    one, two = put(tmp_path / "one.md"), put(tmp_path / "two.md", "bad")
    readings, places = Readings(), [Folder(tmp_path, "user")]
    first = readings.shelf.look(places)
    assert readings.shelf.look(places) is first
    assert readings.read == ["one", "two"]
    os.replace(put(tmp_path / "new", "good"), two)
    assert readings.shelf.look(places).definitions == ("one", "two")
    one.unlink()
    assert readings.shelf.look(places).definitions == ("two",)
    assert readings.read == ["one", "two", "two"]
    assert readings.shelf.look([]).definitions == ()


def test_a_folder_of_too_many_files_is_read_up_to_a_limit(tmp_path: Path) -> None:
    for number in range(3):
        for name in range(MAX_FILES // 2):
            put(tmp_path / f"{number}/{name}.md", "")
    look = Readings().shelf.look([Folder(tmp_path, "user")])
    assert MAX_FILES <= len(look.definitions) <= MAX_FILES * 1.5
    assert "more than 2,000 files" in look.problems[-1]


def test_the_parts_of_a_path_name_a_definition() -> None:
    found = Found(Path("/c/git/v1.2.md"), Folder(Path("/c"), "user"), (1, 2, 3))
    assert found.parts == ("git", "v1.2")


def test_a_look_that_another_thread_overtakes_still_returns_what_it_found(tmp_path: Path) -> None:
    """The interface and a thread look at the same folders; here one look happens in the middle of the other."""
    (tmp_path / "commands").mkdir()
    (tmp_path / "commands/one.md").write_text("1")
    overtaken: list[Shelved[str]] = []

    def parse(found: Found) -> str:
        if not overtaken:
            overtaken.append(Shelved())
            (tmp_path / "commands/two.md").write_text("2")
            overtaken.append(shelf.look(places))
        return found.path.name

    shelf, places = Shelf(parse), [Folder(tmp_path / "commands", "user")]
    assert shelf.look(places).definitions == ("one.md",)
    assert overtaken[1].definitions == ("one.md", "two.md")
    assert shelf.look(places).definitions == ("one.md", "two.md")
