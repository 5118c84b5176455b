"""Sessions of Codex and Gemini CLI go on with the model that they had, over both protocols."""

from pathlib import Path

import pytest

from tests.endpoint.server import Endpoint
from tests.features.openai.asking import WIRES
from tests.openai_endpoint.rules import OpenAiRules
from tests.openai_endpoint.server import OpenAiEndpoint
from tests.peers.handing import NEXT, handed_over
from tests.peers.scene import PROMPTS, picture_data
from tests.session.importers import stores


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("agent", "model"), [("codex", "gpt-5"), ("gemini", "gemini-2.5-pro")])
async def test_an_imported_session_goes_on_with_its_model(
    tmp_path: Path, agent: str, model: str, wire: str
) -> None:
    environ, cwd = stores.environment(tmp_path, f"{agent}.jsonl", recorded=stores.HANDOFF)
    async with Endpoint() as claude, OpenAiEndpoint(["Now this."], rules=OpenAiRules(lenient=True)) as gpt:
        there = {"provider": "openai", "base_url": gpt.api, "wire": wire}
        sets = [f'models."{model}".{key}={value}' for key, value in there.items()]
        runtime, _ = await handed_over(claude, f"@{agent}", Path(environ["HOME"]), cwd, *sets)
    assert (claude.requests, gpt.rejected, runtime.model_name) == ([], [], model)
    body = gpt.requests[-1].body.decode()
    assert gpt.requests[-1].json["model"] == model
    assert all(words in body for words in (*PROMPTS, NEXT, picture_data()))
    assert not [note for note in runtime.session.notices if "it continues with" in note]
