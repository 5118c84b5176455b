"""Notebooks: what the model sees of them, and edits of their cells."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from prunecli.model.messages import Image, Media, plain_text
from tests.tools.calling import Caller
from tests.tools.files.test_image import png

PICTURE = base64.b64encode(png(3, 2)).decode()


def code(source: Any, *outputs: Any, **more: Any) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": 1,
        "metadata": {},
        "outputs": [*outputs],
        "source": source,
    } | more


def words(source: Any, kind: str = "markdown", **more: Any) -> dict[str, Any]:
    return {"cell_type": kind, "metadata": {}, "source": source} | more


def whole(*cells: Any, minor: int = 5) -> dict[str, Any]:
    return {"cells": [*cells], "metadata": {"k": 1.50}, "nbformat": 4, "nbformat_minor": minor}


BOTH = (words(["# Title\n", "text"]), code(["x = 1\n", "y = 2"]))
OLD = {
    "metadata": {},
    "nbformat": 3,
    "nbformat_minor": 0,
    "worksheets": [
        {
            "cells": [
                {"cell_type": "heading", "level": 1, "metadata": {}, "source": ["Title"]},
                {
                    "cell_type": "code",
                    "collapsed": False,
                    "input": ["x = 1\n", "y = 2"],
                    "language": "python",
                    "metadata": {},
                    "outputs": [
                        {"output_type": "pyout", "png": PICTURE, "prompt_number": 1, "text": ["<F>"]}
                    ],
                    "prompt_number": 1,
                },
            ],
            "metadata": {},
        }
    ],
}
KINDS = {
    "as nbformat writes it": json.dumps(whole(*BOTH), indent=1, sort_keys=True) + "\n",
    "with ids": json.dumps(whole(words("# Title", id="a"), code(["x = 1\n", "y = 2"], id="b")), indent=1)
    + "\n",
    "of format 4.4, without ids": json.dumps(whole(*BOTH, minor=4), indent=1) + "\n",
    "of format 3": json.dumps(OLD, indent=1) + "\n",
    "in one line": json.dumps(whole(*BOTH)),
    "without spaces": json.dumps(whole(*BOTH), separators=(",", ":")) + "\n\n",
    "indented by four, without a last line end": json.dumps(whole(*BOTH), indent=4),
    "with CR LF": json.dumps(whole(*BOTH), indent=2).replace("\n", "\r\n"),
    "with strings as sources": json.dumps(whole(words("# Title"), code("x = 1\ny = 2")), indent=1) + "\n",
    "with mixed sources, raw and empty cells": json.dumps(
        whole(words([], "raw"), words("# Title", "raw"), code(["x = ", "1\n", "y = 2"]), code("")),
        indent="\t",
    ),
    "with other scripts": json.dumps(
        whole(words(["# Títle 日本\n", "Title"]), code("x = 1\ny = 2")), ensure_ascii=False, indent=1
    ),
}


def source_of(cell: dict[str, Any]) -> str:
    return "".join(cell["source" if "source" in cell else "input"])


def cells_in(text: str) -> list[dict[str, Any]]:
    made = json.loads(text)
    cells: list[dict[str, Any]] = made["cells"] if "cells" in made else made["worksheets"][0]["cells"]
    return cells


@pytest.mark.parametrize("kind", KINDS)
async def test_an_edit_of_a_cell_keeps_every_byte_outside_of_its_source(
    tools: Caller, workspace: Path, kind: str
) -> None:
    before, file = KINDS[kind], workspace / "n.ipynb"
    file.write_bytes(before.encode())
    text = await tools.text("read", path="n.ipynb")
    assert "x = 1\ny = 2" in text
    output = await tools.output("edit", path="n.ipynb", old_string="y = 2", new_string='y = "3"\nz = 4')
    assert (
        output.details["diff"].endswith(' x = 1\n-y = 2\n+y = "3"\n+z = 4')
        or "[cell" in output.details["diff"]
    )
    after = file.read_bytes().decode()
    old, new = cells_in(before), cells_in(after)
    changed = [at for at, cell in enumerate(old) if cell != new[at]]
    assert [source_of(new[at]) for at in changed] == ['x = 1\ny = "3"\nz = 4']
    assert type(new[changed[0]].get("source")) is type(old[changed[0]].get("source"))
    start = next(at for at, char in enumerate(before) if char != after[at])
    tail = next(at for at in range(1, len(before)) if before[-at] != after[-at])
    assert len(before) - start - tail < 40  # only the source is other than it was
    await tools.text("edit", path="n.ipynb", old_string='y = "3"\nz = 4', new_string="y = 2")
    if "mixed" not in kind:
        assert file.read_bytes().decode() == before


async def test_a_reading_has_cells_shortened_outputs_and_pictures(tools: Caller, workspace: Path) -> None:
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["a" * 5000]},
        {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[31mTrace\x1b[0m", "E: v"]},
        {
            "output_type": "display_data",
            "data": {"image/png": PICTURE, "text/plain": ["<Figure>"]},
            "metadata": {},
        },
        {"output_type": "execute_result", "data": {"text/html": "<b>", "text/plain": "42"}, "metadata": {}},
        {"output_type": "display_data", "data": {"application/vnd.x": {}}, "metadata": {}},
    ]
    (workspace / "n.ipynb").write_text(json.dumps(whole(words("# T"), code("plot()", *outputs))))
    seeing = tools.with_(media=Media())
    output = await seeing.output("read", path="n.ipynb")
    text = plain_text(output.content)
    assert text.startswith("[cell 1: markdown]\n# T\n[cell 2: code, run 1]\nplot()\n[output of cell 2]\naaa")
    for part in ("[… 3,000 characters left out …]", "\nTrace\nE: v\n", "\n[image 1: image/png, ", "\n42\n"):
        assert part in text
    assert "\x1b" not in text
    assert [(block.width, block.height) for block in output.content if isinstance(block, Image)] == [(3, 2)]
    page = await seeing.output("read", path="n.ipynb", offset=1, limit=2)
    assert "[lines 1-2 of " in plain_text(page.content)
    assert not any(isinstance(block, Image) for block in page.content)


async def test_cells_are_named_added_and_removed(tools: Caller, workspace: Path) -> None:
    file = workspace / "n.ipynb"
    file.write_text(
        json.dumps(whole(*(code(["same"], id=one) for one in "abc"), words([], id="d")), indent=1) + "\n"
    )

    async def edit(old: str, new: str) -> list[tuple[str, str]]:
        await tools.text("edit", path="n.ipynb", old_string=old, new_string=new)
        return [(cell["cell_type"], source_of(cell)) for cell in cells_in(file.read_text())]

    assert "matches 3 places (cells 1, 2, 3)" in await tools.error(
        "edit", path="n.ipynb", old_string="same", new_string="x"
    )
    assert (await edit("[cell 2: code, run 1]\nsame", "[cell 2: code, run 1]\nother"))[1] == ("code", "other")
    assert (await edit("[cell 4: markdown]\n", "[cell 4: markdown]\nwords"))[3] == ("markdown", "words")
    assert await edit("other", "other\n[cell: markdown]\n## New\n\ntext\n[cell: code]\nlast") == [
        *(("code", "same"), ("code", "other"), ("markdown", "## New\n\ntext"), ("code", "last")),
        *(("code", "same"), ("markdown", "words")),
    ]
    ids = [cell["id"] for cell in cells_in(file.read_text())]
    assert len(set(ids)) == 6
    assert file.read_text() == json.dumps(json.loads(file.read_text()), indent=1) + "\n"
    for number, source in ((6, "words"), (1, "same"), (2, "## New\n\ntext")):
        await edit(f"[cell {number}: code]\n{source}\n", "")
    assert [source_of(cell) for cell in cells_in(file.read_text())] == ["other", "last", "same"]
    assert file.read_text() == json.dumps(json.loads(file.read_text()), indent=1) + "\n"


async def test_what_is_no_notebook_is_text(tools: Caller, workspace: Path) -> None:
    for number, text in enumerate(("{", "[]", '{"cells": 1}', '{"cells": [1]}', '{"cells": []}', "[" * 5000)):
        (workspace / f"{number}.ipynb").write_text(text)
        assert (await tools.text("read", path=f"{number}.ipynb")).startswith(text[:10])
