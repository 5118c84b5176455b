"""What a session cost, from the sums that a list keeps of it."""

from pathlib import Path

import pytest

import prunecli
from prunecli.model.events import AssistantMessage, Record
from prunecli.model.messages import Text, Usage
from prunecli.model.record_codec import encode_record
from prunecli.providers.models import ModelTable, cost
from prunecli.runtime.sessions import Costs
from prunecli.session.digest import Digest

TABLE = ModelTable.load(Path(prunecli.__file__).parent / "data")


@pytest.mark.parametrize("model", ["claude-haiku-5-5", "claude-opus-5-5"])
def test_short_and_long_prompts_are_priced_apart(model: str) -> None:
    usages = [Usage(100, 50, 60_000, 2_000), Usage(5, 70, 99_000, 995), Usage(9, 30, 100_000, 4_000)]
    digest = Digest()
    for seq, usage in enumerate(usages):
        assert digest.take(
            encode_record(Record(seq, seq + 1, AssistantMessage((Text("x"),), model, usage=usage)))
        )
    expected = sum(cost(usage, TABLE.info(model), "5m") or 0.0 for usage in usages)
    assert Costs(TABLE).of_session(digest) == pytest.approx(expected)
