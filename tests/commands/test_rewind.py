"""/rewind, /fork and /tree: what they offer, and what they answer."""

from collections.abc import Sequence
from pathlib import Path

from prunecli.commands.command import (
    Choose,
    Effect,
    FillPrompt,
    InThread,
    Say,
    SwitchSession,
    Table,
    Work,
    run_line,
)
from prunecli.features.rewind.rewinding import Rewind, points_of, rewind
from prunecli.model.messages import ToolUse
from prunecli.runtime import Runtime
from tests.scripted import calls, says
from tests.starting import start


def done(runtime: Runtime, line: str) -> list[Effect]:
    """What a line answers, with the work of threads done."""
    effects: list[Effect] = []
    todo: list[Effect] = list(run_line(runtime, line))
    while todo:
        effect = todo.pop(0)
        if isinstance(effect, InThread):
            todo[:0] = effect.work()
        else:
            effects.append(effect)
    return effects


def said(effects: Sequence[Effect]) -> str:
    return "\n".join(effect.text for effect in effects if isinstance(effect, Say))


def chosen(effects: Sequence[Effect]) -> Choose:
    return next(effect for effect in effects if isinstance(effect, Choose))


def going(runtime: Runtime, seq: int, conversation: bool, files: bool, text: str) -> Work:
    return Work("Rewinding", Rewind(runtime, seq, conversation, files, text))


async def changed(tmp_path: Path) -> Runtime:
    script = [
        calls(ToolUse("b", "bash", {"command": "printf '1\\n2\\n' > made.txt"})),
        says("Made."),
        says("Hello."),
    ]
    runtime = start(tmp_path, script, sets=("permissions.mode=auto",))
    await runtime.submit("make a file\nplease")
    await runtime.submit("just talk")
    return runtime


async def test_prompts_are_offered_the_newest_first_with_their_age_and_what_changed_since(
    tmp_path: Path,
) -> None:
    runtime = await changed(tmp_path)
    offered = chosen(done(runtime, "/rewind"))
    assert [choice.label for choice in offered.choices] == ["just talk", "make a file"]
    assert [choice.detail.split(" · ")[1:] for choice in offered.choices] == [[], ["1 file +2 −0"]]
    assert all("ago" in choice.detail or "now" in choice.detail for choice in offered.choices)


async def test_it_is_asked_what_shall_go_back_where_files_would_change(tmp_path: Path) -> None:
    runtime = await changed(tmp_path)
    talk, make = (choice.value for choice in chosen(done(runtime, "/rewind")).choices)
    asked = chosen(done(runtime, f"/rewind {make}"))
    assert asked.title == "Rewind to before: make a file"
    assert [choice.label for choice in asked.choices][:3] == [
        "Conversation and files",
        "Conversation only",
        "Files only",
    ]
    assert asked.choices[0].detail == "made.txt (deleted)"
    assert done(runtime, f"/rewind {make} both") == [
        going(runtime, int(make), True, True, "make a file\nplease")
    ]
    assert done(runtime, f"/rewind {make} files") == [going(runtime, int(make), False, True, "")]
    table = next(effect for effect in done(runtime, f"/rewind {make} show") if isinstance(effect, Table))
    assert table.rows == (("made.txt", "deletes it", "+2 −0", ""),)
    assert "No files to restore" in said(done(runtime, f"/rewind {talk} show"))
    without = done(runtime, f"/rewind {talk}")
    assert "No files to restore" in said(without)
    assert without[-1] == going(runtime, int(talk), True, False, "just talk")


async def test_forward_stands_where_it_was_left_and_fills_in_nothing(tmp_path: Path) -> None:
    runtime = await changed(tmp_path)
    await rewind(runtime, points_of(runtime)[1].seq, conversation=True, files=True)
    (forward,) = chosen(done(runtime, "/rewind")).choices
    assert forward.label == "↷ forward to: just talk"
    assert forward.detail.endswith("2 prompts undone by a rewind · 1 file +2 −0")
    (table,) = done(runtime, f"/rewind {forward.value} show")
    assert isinstance(table, Table)
    assert (table.headings[2], table.rows) == ("by it", (("made.txt", "restores it", "+2 −0", ""),))
    assert table.back == chosen(done(runtime, f"/rewind {forward.value}"))
    assert done(runtime, f"/rewind {forward.value} both") == [
        going(runtime, int(forward.value), True, True, "")
    ]


async def test_points_forward_stand_among_the_prompts_in_the_order_of_the_session(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("Hello.")] * 3)
    for prompt in ("one", "two"):
        await runtime.submit(prompt)
    await rewind(runtime, points_of(runtime)[0].seq, conversation=True, files=False)
    assert [one.label for one in chosen(done(runtime, "/rewind")).choices] == ["↷ forward to: two", "one"]
    await runtime.submit("three")
    labels = [one.label for one in chosen(done(runtime, "/rewind")).choices]
    assert labels == ["three", "↷ forward to: two", "one"]


def test_what_is_no_point_is_said(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("Hello.")])
    assert "Nothing to rewind" in said(done(runtime, "/rewind"))


async def test_wrong_arguments_are_said_with_the_way_out(tmp_path: Path) -> None:
    runtime = await changed(tmp_path)
    first = points_of(runtime)[0].seq
    for line in ("/rewind 99", "/rewind x", f"/rewind {first} everything", "/rewind -1"):
        assert "/rewind lists them" in said(done(runtime, line)), line


async def test_where_files_are_not_saved_it_is_said_and_the_conversation_goes_back(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("Hello.")], sets=("tools.snapshots=false",))
    await runtime.submit("hi")
    effects = done(runtime, "/rewind")
    assert "tools.snapshots is false" in said(effects)
    (choice,) = chosen(effects).choices
    assert done(runtime, f"/rewind {choice.value}")[-1] == going(
        runtime, int(choice.value), True, False, "hi"
    )


async def test_fork_goes_on_in_a_copy_and_asks_a_prompt_anew(tmp_path: Path) -> None:
    runtime = await changed(tmp_path)
    original = runtime.session
    effects = done(runtime, "/fork")
    assert isinstance(effects[0], SwitchSession)
    assert said(effects) == "Forked. /tree to switch back."
    back = next(choice for choice in chosen(done(runtime, "/tree")).choices if not choice.current)
    assert back.value == original.id
    assert runtime.session.context.messages() == original.context.messages()
    last = original.records[-1].seq
    assert runtime.session.started.parent == {"id": original.id, "seq": last}
    prompt = points_of(runtime)[0].seq + 1
    effects = done(runtime, f"/fork {prompt}")
    assert effects[-1] == FillPrompt("just talk")
    assert [entry.text for entry in runtime.session.context.items if entry.kind == "user"] == [
        "make a file\nplease"
    ]
    for line in ("/fork 999", "/fork x"):
        before = runtime.session
        assert said(done(runtime, line))
        assert runtime.session is before
    assert "Nothing to copy" in said(
        done(start(tmp_path / "empty" if not (tmp_path / "empty").mkdir() else tmp_path), "/fork")
    )


async def test_the_tree_shows_each_session_under_the_one_it_was_copied_from(tmp_path: Path) -> None:
    runtime = await changed(tmp_path)
    assert chosen(done(runtime, "/tree")).choices[0].label == "Make a file"
    original = runtime.session.id
    done(runtime, "/fork")
    done(runtime, "/rename the copy")
    done(runtime, f"/resume {original}")
    done(runtime, "/fork")
    tree = chosen(done(runtime, "/tree"))
    assert tree.command == "resume"
    assert [choice.label for choice in tree.choices] == ["Make a file", "├ the copy", "└ Make a file"]
    assert [choice.current for choice in tree.choices] == [False, False, True]
    assert "fork at" in tree.choices[1].detail


async def test_a_changed_file_without_lines_is_no_plus_and_minus_nothing(tmp_path: Path) -> None:
    script = [calls(ToolUse("t1", "bash", {"command": r"printf '\000\001' > made.bin"})), says("made")]
    runtime = start(tmp_path, script, sets=("permissions.mode=auto",))
    await runtime.submit("make a file")
    (choice,) = chosen(done(runtime, "/rewind")).choices
    assert choice.detail.endswith("· 1 file")
