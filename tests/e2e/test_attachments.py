"""What a prompt attaches, through to the strict endpoint: files, folders, images, PDF, with bound thinking."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from prunecli.context.ledger import prun_applied
from prunecli.model.events import CompactionApplied, PrunReverted, UserMessage
from prunecli.model.messages import PDF, Document, Image, Text
from prunecli.model.signals import Notice, SessionEvent
from prunecli.runtime import Runtime
from prunecli.util.errors import PromptBlocked
from tests.e2e.bound import dropped, session
from tests.endpoint import Call, Endpoint, Reply, Thinking
from tests.endpoint.rules import Rules
from tests.tools.files.pdfs import pdf
from tests.tools.files.test_image import png


def done() -> Reply:
    return Reply([Thinking("I see."), "Done."])


def attached(runtime: Runtime) -> list[tuple[int, UserMessage]]:
    found = ((record.seq, record.event) for record in runtime.session.records)
    return [(seq, one) for seq, one in found if isinstance(one, UserMessage) and one.origin == "attachment"]


def prompts(runtime: Runtime) -> list[UserMessage]:
    events = (record.event for record in runtime.session.records)
    return [one for one in events if isinstance(one, UserMessage) and one.origin == "prompt"]


def sent(endpoint: Endpoint, number: int = -1) -> list[dict[str, Any]]:
    """The blocks of the last message of a request."""
    return json.loads(endpoint.requests[number].body)["messages"][-1]["content"]


def texts(endpoint: Endpoint, number: int = -1) -> list[str]:
    return [block["text"] for block in sent(endpoint, number) if block["type"] == "text"]


def notices(runtime: Runtime) -> list[str]:
    """What the user is told from now on."""
    found: list[str] = []

    def read(event: SessionEvent) -> None:
        if isinstance(event, Notice):
            found.append(event.text)

    runtime.session.subscribe(read)
    return found


async def test_files_follow_the_words_as_results_of_their_own(tmp_path: Path) -> None:
    async with Endpoint([done(), done()]) as endpoint, session(tmp_path, endpoint) as runtime:
        await runtime.submit("compare @1.txt, and @2.txt#L2-3. Not @nothing.txt")
        blocks = texts(endpoint)
        assert blocks[0] == "compare @1.txt, and @2.txt#L2-3. Not @nothing.txt"
        assert blocks[1:3] == ["[attached: 1.txt]", "line of file 1\n" * 40]
        assert blocks[3] == "[attached: 2.txt 2-3]"
        assert blocks[4].startswith("line of file 2\nline of file 2\n[lines 2-3 of 40")
        await runtime.submit("go on")
        assert not endpoint.rejected
        assert not any(dropped(endpoint))


async def test_a_folder_is_listed(tmp_path: Path) -> None:
    async with Endpoint([done()]) as endpoint, session(tmp_path, endpoint) as runtime:
        folder = tmp_path / "project/my docs"
        folder.mkdir()
        (folder / "a b.md").write_text("hello")
        await runtime.submit('what is in @"my docs/" and @"my docs/a b.md"?')
        assert texts(endpoint)[1:] == [
            "[attached: my docs/]",
            "a b.md",
            "[attached: my docs/a b.md]",
            "hello",
        ]


async def test_an_image_is_sent_as_one_and_kept_as_a_blob(tmp_path: Path) -> None:
    async with Endpoint([done(), done()]) as endpoint, session(tmp_path, endpoint) as runtime:
        picture = png(750, 100)
        (tmp_path / "project/shot.png").write_bytes(picture)
        await runtime.submit("what is wrong in @shot.png?")
        block = next(block for block in sent(endpoint) if block["type"] == "image")
        assert block["source"] == {
            "type": "base64",
            "media_type": "image/png",
            "data": base64.b64encode(picture).decode(),
        }
        assert texts(endpoint)[1] == "[attached: shot.png 750x100]"
        ((seq, event),) = attached(runtime)
        assert isinstance(event.content[1], Image)
        counts = runtime.session.context.counts
        entry = runtime.session.context.entries[seq]
        assert counts.tokens(entry) - 27 * 4 == sum(map(counts.counter.count, entry.countable))
        assert runtime.session.path is not None
        line = runtime.session.path.read_text().splitlines()[seq]
        assert '"media_type":"image/png;width=750;height=100"' in line
        await runtime.submit("go on")
        assert not endpoint.rejected


async def test_a_pdf_is_sent_as_a_document_where_the_model_takes_it(tmp_path: Path) -> None:
    data = pdf("first page", "second page")
    async with Endpoint([done(), done()]) as endpoint, session(tmp_path, endpoint) as runtime:
        (tmp_path / "project/paper.pdf").write_bytes(data)
        await runtime.submit("sum up @paper.pdf")
        ((_, event),) = attached(runtime)
        assert event.content == (
            Text("[attached: paper.pdf, 2 pages]"),
            Document(PDF, base64.b64encode(data).decode(), 2),
        )
        assert [block["type"] for block in sent(endpoint)] == ["text", "text", "document"]
        await runtime.submit("only the text: @paper.pdf#L1-2")
        assert texts(endpoint)[2].startswith("[page 1]\nfirst page\n[lines 1-2 of 5")
        assert not endpoint.rejected


async def test_another_model_gets_the_text_of_a_pdf_and_no_image(tmp_path: Path) -> None:
    rules = Rules(signatures=False, any_model=True)
    async with (
        Endpoint(["Done."], rules=rules) as endpoint,
        session(tmp_path, endpoint, model="deepseek-chat") as runtime,
    ):
        project = tmp_path / "project"
        (project / "paper.pdf").write_bytes(pdf("first page"))
        (project / "shot.png").write_bytes(png(10, 10))
        with pytest.raises(PromptBlocked) as refused:
            await runtime.submit("what is wrong in @shot.png?")
        assert "shot.png was not attached: " in refused.value.message
        assert "deepseek-chat can't see images" in refused.value.message
        assert prompts(runtime) == []
        await runtime.submit("sum up @paper.pdf")
        assert texts(endpoint)[1:] == ["[attached: paper.pdf]", "[page 1]\nfirst page\n"]


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("empty.png", b"", "the file is empty"),
        ("cut.png", png(10, 10)[:-20], "cut short"),
        ("bomb.png", png(60_000, 60_000), "60000 x 60000 pixels are too many"),
        ("cut.pdf", pdf("one")[:-30], "cut short"),
        ("hollow.pdf", b"%PDF-1.4\n%%EOF", "damaged"),
    ],
)
async def test_an_unusable_image_or_pdf_keeps_the_prompt_back(
    tmp_path: Path, name: str, data: bytes, why: str
) -> None:
    async with Endpoint(["Done."]) as endpoint, session(tmp_path, endpoint) as runtime:
        (tmp_path / "project" / name).write_bytes(data)
        with pytest.raises(PromptBlocked) as refused:
            await runtime.submit(f"look at @{name}")
        assert refused.value.message.startswith(f"{name} was not attached: ")
        assert why in refused.value.message
        assert refused.value.message.count(name) == 1
        assert "\n" not in refused.value.message
        assert endpoint.requests == []
        await runtime.submit("then without")


async def test_what_may_not_be_read_is_not_attached(tmp_path: Path) -> None:
    async with (
        Endpoint([done()]) as endpoint,
        session(tmp_path, endpoint, 'permissions.deny=["read(2.txt)"]') as runtime,
    ):
        told = notices(runtime)
        (tmp_path / "project/.env").write_text("KEY=1")
        (tmp_path / "outside.txt").write_text("far")
        (tmp_path / "project/program").write_bytes(b"\x7fELF\0\0\0")
        os.mkfifo(tmp_path / "project/pipe")  # opening it would wait for a writer
        await runtime.submit("see @.env @2.txt @../outside.txt @program @pipe @1.txt")
        assert [text for text in texts(endpoint) if text.startswith("[att")] == ["[attached: 1.txt]"]
        assert [line.partition(":")[0] for line in told] == [
            *(".env was not attached", "2.txt was not attached", "../outside.txt was not attached"),
            *("program was not attached", "pipe was not attached"),
        ]
        assert "denied by the rule" in told[1]


async def test_steering_attaches_too(tmp_path: Path) -> None:
    script = [Reply([Thinking("hm"), Call("read", {"path": "3.txt"})]), done(), done()]
    async with Endpoint(script) as endpoint, session(tmp_path, endpoint) as runtime:
        runtime.steer("and @1.txt")
        runtime.follow_up("then @2.txt")
        await runtime.submit("look")
        assert [event.content[0] for _, event in attached(runtime)] == [
            Text("[attached: 1.txt]"),
            Text("[attached: 2.txt]"),
        ]
        assert not endpoint.rejected
        assert not any(dropped(endpoint))


async def test_a_pruned_attachment_keeps_its_name_and_comes_back(tmp_path: Path) -> None:
    replies = [
        done(),
        Reply([Thinking("again"), Call("recall", {"entry": 0})]),
        done(),
        done(),
    ]
    async with Endpoint(replies) as endpoint, session(tmp_path, endpoint) as runtime:
        await runtime.submit("look at @1.txt")
        ((seq, _),) = attached(runtime)
        view = runtime.policy.view(runtime.session.context)
        entry = view.context.entries[seq]
        edit = view.replaced("clear", entry, view.placeholder(entry, "output pruned"))
        assert edit is not None
        assert edit.text == f'[output pruned | read path="1.txt" | recall {seq}]'
        prune = runtime.emit(prun_applied(view, "user", [edit]))
        replies[1].content[1].input["entry"] = seq
        await runtime.submit("and now?")
        first = json.loads(endpoint.requests[1].body)["messages"][0]["content"]
        assert [block["text"] for block in first] == ["look at @1.txt", "[attached: 1.txt]", edit.text]
        assert "line of file 1\n" in json.dumps(sent(endpoint, 2)).encode().decode("unicode_escape")
        runtime.emit(PrunReverted((prune.seq,)))
        await runtime.submit("whole again")
        first = json.loads(endpoint.requests[3].body)["messages"][0]["content"]
        assert first[2]["text"] == "line of file 1\n" * 40
        assert not endpoint.rejected


async def test_a_later_read_supersedes_an_attachment(tmp_path: Path) -> None:
    script = [done(), Reply([Call("read", {"path": "1.txt"})]), done(), done()]
    sets = ("pruning.enabled=true", "pruning.strategy=superseded", "pruning.gate=always")
    async with Endpoint(script) as endpoint, session(tmp_path, endpoint, *sets) as runtime:
        await runtime.submit("look at @1.txt")
        await runtime.submit("read it again")
        await runtime.submit("go on")
        first = json.loads(endpoint.requests[-1].body)["messages"][0]["content"]
        assert first[1]["text"] == "[attached: 1.txt]"
        assert "line of file" not in first[2]["text"]
        assert not endpoint.rejected


async def test_a_long_attachment_is_cut_like_a_result(tmp_path: Path) -> None:
    sets = ("pruning.enabled=true", "pruning.spill.read=200")
    seq = 3
    script = [done(), Reply([Call("recall", {"entry": seq, "lines": "999-1000"})]), done()]
    async with Endpoint(script) as endpoint, session(tmp_path, endpoint, *sets) as runtime:
        (tmp_path / "project/long.txt").write_text("".join(f"number {n}\n" for n in range(2000)))
        await runtime.submit("look at @long.txt")
        ((at, event),) = attached(runtime)
        assert at == seq
        assert event.attached is not None
        assert event.attached.spilled is not None
        assert texts(endpoint)[2] == event.attached.spilled.shown
        assert "lines held back" in texts(endpoint)[2]
        assert len(texts(endpoint)[2]) < 2000
        assert runtime.session.context.entries[seq].held_tokens > 1000
        await runtime.submit("what is in the middle?")
        assert "number 998\nnumber 999\n" in str(sent(endpoint)[0]["content"][0]["text"])
        assert not endpoint.rejected


async def test_a_compaction_keeps_the_words_and_not_what_was_attached(tmp_path: Path) -> None:
    script = [done(), done(), "A summary.", done()]
    async with (
        Endpoint(script) as endpoint,
        session(tmp_path, endpoint, model="claude-opus-4-6") as runtime,
    ):
        await runtime.submit("look at @1.txt")
        await runtime.submit("and on")
        assert await runtime.compact()
        event = next(one.event for one in runtime.session.records if isinstance(one.event, CompactionApplied))
        assert "look at @1.txt" in event.summary + event.words
        assert "line of file 1" not in event.summary + event.words
        await runtime.submit("go on")
        assert not endpoint.rejected


async def test_a_command_attaches_what_its_file_mentions(tmp_path: Path) -> None:
    async with Endpoint([done()]) as endpoint, session(tmp_path, endpoint) as runtime:
        folder = tmp_path / "project/.prunecli/commands"
        folder.mkdir(parents=True)
        (folder / "check.md").write_text("Check @1.txt and @$1. Output: !`echo @3.txt`")
        await runtime.submit("/check 2.txt")
        heads = [text for text in texts(endpoint) if text.startswith("[att")]
        assert heads == ["[attached: 1.txt]", "[attached: 2.txt]"]


async def test_documents_are_left_out_when_a_request_has_too_many_pages(tmp_path: Path) -> None:
    script, rules = [done(), done()], Rules(max_pages=5)
    async with Endpoint(script, rules=rules) as endpoint, session(tmp_path, endpoint) as runtime:
        for name in "ab":
            (tmp_path / f"project/{name}.pdf").write_bytes(pdf("x", "y", "z"))
        await runtime.submit("one @a.pdf")
        await runtime.submit("two @b.pdf")
        assert len(endpoint.rejected) == 1
        messages = json.loads(endpoint.requests[-1].body)["messages"]
        kinds = [[block["type"] for block in one["content"]] for one in messages if one["role"] == "user"]
        assert kinds == [["text", "text"], ["text", "text", "document"]]


async def test_a_copy_of_the_log_gives_the_same_request(tmp_path: Path) -> None:
    async with Endpoint([done(), done()]) as endpoint, session(tmp_path, endpoint) as runtime:
        (tmp_path / "project/shot.png").write_bytes(png(20, 10))
        await runtime.submit("see @shot.png @1.txt @.")
        assert runtime.session.path is not None
        before = runtime.session.context.sha256()
        runtime.open_session(runtime.session.path, fork=True)
        assert runtime.session.context.sha256() == before
        await runtime.submit("go on")
        assert not endpoint.rejected
        assert not any(dropped(endpoint))


async def test_the_model_reads_images_and_pdf_files_itself(tmp_path: Path) -> None:
    script = [
        Reply(
            [
                Thinking("hm"),
                Call("read", {"path": "shot.png"}),
                Call("read", {"path": "paper.pdf"}),
                Call("read", {"path": "paper.pdf", "offset": 2, "limit": 1}),
            ]
        ),
        done(),
    ]
    async with Endpoint(script) as endpoint, session(tmp_path, endpoint) as runtime:
        (tmp_path / "project/shot.png").write_bytes(png(20, 10))
        (tmp_path / "project/paper.pdf").write_bytes(pdf("first page"))
        await runtime.submit("look")
        shown = [result["content"][0] for result in sent(endpoint)]
        assert [block["type"] for block in shown] == ["image", "document", "text"]
        assert shown[2]["text"].startswith("first page\n[lines 2-2 of")
        assert not endpoint.rejected


async def test_blocks_that_come_with_a_prompt_are_attached(tmp_path: Path) -> None:
    async with Endpoint([done()]) as endpoint, session(tmp_path, endpoint) as runtime:
        given = Image("image/png", base64.b64encode(png(30, 20)).decode())
        await runtime.submit("what is it?", given=(given,))
        assert texts(endpoint)[1] == "[attached: image 1 30x20]"
        assert sent(endpoint)[2]["type"] == "image"
        with pytest.raises(PromptBlocked, match="image 1 was not attached: not an image"):
            await runtime.submit("and this?", given=(Image("image/png", "aGVsbG8="),))
        assert not endpoint.rejected
