"""Skills as files, and the text that tells the model of them."""

from pathlib import Path

import pytest

from prunecli.features.skills_and_memory.skill_files import (
    MARKER,
    MAX_TOKENS,
    Skill,
    listing,
    news,
    skill_of,
    told,
)
from prunecli.runtime.definition_folders import Folder, Found, Shelf
from prunecli.util.errors import ConfigError
from tests.files import put


def count(text: str) -> int:
    """About four characters a token."""
    return len(text) // 4 + 1


def skill(name: str, description: str = "Does it.", folder: str = "/s") -> Skill:
    return Skill(name, description, Path(folder, name, MARKER), "user")


def made(tmp_path: Path, front: str, name: str = "pdf") -> Skill:
    path = tmp_path / name / MARKER
    put(path, f"---\n{front}\n---\nBody.\n")
    return skill_of(Found(path, Folder(tmp_path, "project"), (0, 0, 0)))


def test_a_skill_in_the_documented_form(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        "name: pdf\ndescription: |\n  Reads PDFs.\n  Use it for forms.\nlicense: Apache-2.0\n"
        "compatibility: needs poppler\nallowed-tools: Bash(pdftotext:*) Read\nmetadata:\n  version: '1.0'",
    )
    assert (found.name, found.description) == ("pdf", "Reads PDFs. Use it for forms.")
    assert (found.owner, found.doubt, found.for_model, found.for_user) == ("project", "", True, True)
    assert found.prompt("page 2") == f"Use the skill pdf: read {found.path} and follow it.\n\npage 2"


def test_the_name_defaults_to_the_folders_and_may_differ_from_it(tmp_path: Path) -> None:
    assert made(tmp_path / "a", "description: x").name == "pdf"
    assert "differs" in made(tmp_path / "b", "name: other\ndescription: x").doubt
    long = made(tmp_path / "c", f"description: {'x' * 2000}")
    assert len(long.description) == 1024
    assert "longer than 1,024" in long.doubt
    hidden = made(tmp_path / "d", "description: x\ndisable-model-invocation: true\nuser-invocable: false")
    assert not hidden.for_model
    assert not hidden.for_user


@pytest.mark.parametrize(
    ("name", "used"),
    [
        *((name, name) for name in ("PDF", "a-", "a--b", "a_b", "v1.2")),
        *((name, "pdf") for name in ("My PDF tool", "-a", "ä", "x" * 65, "a\\eb", '"a\\e[2Jb"')),
    ],
)
def test_a_name_that_breaks_the_formats_rule_is_a_doubt(tmp_path: Path, name: str, used: str) -> None:
    found = made(tmp_path, f"name: {name}\ndescription: x")
    assert found.name == used
    assert "use at most 64 lowercase" in found.doubt
    assert found.doubt.isprintable()
    assert told([listing([found], count)]) == {used: "x"}


def test_a_skill_without_any_usable_name_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"SKILL\.md: name 'a b': use at most 64 lowercase"):
        made(tmp_path, "name: a b\ndescription: x", "ä b")


def test_the_first_paragraph_stands_in_for_a_missing_description(tmp_path: Path) -> None:
    found = made(tmp_path, "when_to_use: It rains.\n---\n# PDF\n\nReads\nfiles.\n\nMore.")
    assert found.description == "Reads files. It rains."
    assert found.doubt == "description is missing; its first paragraph is used"


def test_a_skill_needs_a_description_and_its_control_characters_are_shown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="description is missing"):
        made(tmp_path / "a", "name: pdf\n---\n# PDF\n\n## Body")
    assert made(tmp_path / "b", 'description: "a\\e]0;x\\a b\\u202ec"').description == "a␛]0;x␇ b\ufffdc"


def test_without_skills_nothing_is_said() -> None:
    assert listing([], count) == ""
    assert news([], {}, count) == ""


def test_the_listing_names_each_skill_once_below_its_folder() -> None:
    text = listing([skill("a"), skill("b"), skill("c", folder="/p")], count)
    assert text.startswith("<skills>\nSkills are folders")
    assert text.endswith("In /s:\n- a: Does it.\n- b: Does it.\nIn /p:\n- c: Does it.\n</skills>")
    assert told([text]) == {"a": "Does it.", "b": "Does it.", "c": "Does it."}


def test_the_longest_descriptions_are_cut_first() -> None:
    text = listing([skill("short"), *(skill(f"long-{n}", "word " * 200) for n in range(6))], count)
    assert count(text) <= MAX_TOKENS
    assert "- short: Does it.\n" in text
    assert text.count("…\n") == 6
    lengths = {len(line) for line in text.split("\n") if line.startswith("- long")}
    assert len(lengths) == 1
    assert lengths.pop() > 400, "the room is used"


def test_a_thousand_skills_take_no_more_room_and_those_left_out_are_named() -> None:
    many = [skill(f"skill-{n}", "word " * 100) for n in range(1_000)]
    text = listing(many, count)
    assert count(text) <= MAX_TOKENS
    assert "Skills without room for a description" in text
    assert " more" in text
    assert news(many, told([text]), count) == "", "what is told is not news"


def test_news_tell_what_is_new_changed_and_gone_and_nothing_twice() -> None:
    known = told([listing([skill("a"), skill("b"), skill("c")], count)])
    now = [skill("a"), skill("b", "Does more."), skill("d")]
    text = news(now, known, count)
    assert text == (
        "New or changed skills:\nIn /s:\n- b: Does more.\n- d: Does it.\nSkills no longer there: c"
    )
    known = told([listing([skill("a"), skill("b"), skill("c")], count), text])
    assert known == {"a": "Does it.", "b": "Does more.", "d": "Does it."}
    assert news(now, known, count) == ""
    assert "Skills are folders" in news([skill("a")], {}, count), (
        "a model that knew of none is told what they are"
    )


def test_a_cut_description_is_known() -> None:
    many = [skill(f"s{n}", "word " * 200) for n in range(20)]
    known = told([listing(many, count)])
    assert news(many, known, count) == ""
    assert "s3" in news([*many[:3], skill("s3", "Other."), *many[4:]], known, count)


def test_of_a_thousand_skill_folders_only_the_changed_one_is_read_again(tmp_path: Path) -> None:
    read: list[Path] = []

    def counted(found: Found) -> Skill:
        read.append(found.path)
        return skill_of(found)

    for number in range(1_000):
        path = tmp_path / f"skill-{number}" / MARKER
        put(path, f"---\nname: skill-{number}\ndescription: Does {number}.\n---\n" + "x" * 1000)
    shelf, places = Shelf(counted, MARKER), [Folder(tmp_path, "user")]
    assert len(shelf.look(places).definitions) == 1_000
    assert len(read) == 1_000
    shelf.look(places)
    assert len(read) == 1_000
    path.write_text("---\nname: skill-999\ndescription: Another.\n---\n")
    shelf.look(places)
    assert read[1_000:] == [path]


def test_a_skill_of_ten_megabytes_costs_one_line(tmp_path: Path) -> None:
    path = tmp_path / "big" / MARKER
    put(path, "---\ndescription: x\n---\n" + "x" * 10_000_000)
    look = Shelf(skill_of, MARKER).look([Folder(tmp_path, "user")])
    assert look.definitions == ()
    assert look.problems == (f"{path}: larger than 1,000 KB",)
