"""A model server on this machine, offered on the screen to a user without a key."""

from dataclasses import replace
from pathlib import Path

from prunecli.runtime import Runtime
from prunecli.tui.screens.choose import ChooseScreen
from tests.serving import as_json, serving
from tests.starting import start
from tests.tui.showing_app import shown

LISTED = {"data": [{"id": f"model-{number}", "owned_by": "vllm"} for number in range(30)]}


async def test_a_server_is_offered_in_one_line_and_chosen_from_a_list_that_typing_filters(
    tmp_path: Path,
) -> None:
    def looking(port: int) -> Runtime:
        runtime = start(tmp_path)
        environ = {"PRUNECLI_LOCAL_PORTS": str(port)}
        runtime.setup = replace(runtime.setup, local_ports=(port,), environ=environ)
        return runtime

    with serving(lambda *_: as_json(LISTED)) as served:
        async with shown(tmp_path, runtime=looking(served.port)) as s:
            await s.until_shown("vLLM runs on this machine (30 models). /local to use it")
            await s.type("/local", "escape", "enter")
            await s.until(lambda: isinstance(s.app.screen, ChooseScreen))
            await s.type("el-17")
            await s.until_shown("model-17", "vLLM · window not told")
            await s.pilot.press("enter")
            await s.until_shown("Using model-17 at")
            assert s.runtime.model_name == "model-17"
            await s.type("/model", "escape", "enter")
            await s.until(lambda: isinstance(s.app.screen, ChooseScreen))
            await s.until_shown("● model-17")
