"""`doctor --probe` asks an endpoint of either protocol, which rejects none of its questions."""

from pathlib import Path
from typing import Any

import pytest

from prunecli.features.doctor.probing import probe
from prunecli.providers.models import ModelTable
from prunecli.providers.registry import Finding
from prunecli.runtime.refusals import Refusals
from prunecli.util.paths import PACKAGE
from tests.endpoint.script import Call, Reply, Thinking
from tests.features.openai.asking import WIRES, provider
from tests.openai_endpoint.server import OpenAiEndpoint

SCRIPT = ["OK", Reply([Call("ping", {})]), "Red", "OK", Reply([Thinking("hm"), "OK"]), "OK", "OK"]


@pytest.mark.parametrize("wire", WIRES)
async def test_each_feature_is_told_over_both_protocols(tmp_path: Path, wire: Any) -> None:
    found = list[Finding]()
    async with OpenAiEndpoint(SCRIPT) as endpoint:
        refusals = Refusals(tmp_path / "endpoints.json", lambda: 1_000, lambda _: endpoint.api)
        info = ModelTable.load(PACKAGE / "data").info("gpt-5.5")
        await probe(provider(endpoint, wire), info, refusals, found.append)
        assert endpoint.rejected == []
    states = {one.name: one.state for one in found}
    assert states.pop("context edits") == "warning"
    assert states == dict.fromkeys(
        ("streaming", "tools", "images", "cache", "thinking", "effort", "count_tokens"), "ok"
    )
