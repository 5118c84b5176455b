"""The engine answers as a second reading of the rules does, on transcripts that no recorded vector is like."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prunecli.config.effective import Config
from prunecli.config.references import chosen
from prunecli.context.tokens import Chars4
from prunecli.features.inspector.inspect import inspect
from prunecli.session.importers.anthropic_messages import records_of
from tests.vectors import reference
from tests.vectors.transcripts import transcripts

SMALL = st.sampled_from([0, 0, 1, 5, 50, 200, 400])
TURNS = st.sampled_from([0, 0, 1, 2, 9])
KEEP = st.sampled_from([-1, 0, 0, 1, 2, 3, 99])
RATIO = st.sampled_from([0.0, 0.01, 0.1, 0.3, 0.5, 1.0])
TRIM = st.sampled_from([0, 7, 60, 300])
CLEARING = {
    "keep_last_assistants": KEEP.filter(lambda n: n >= 0),
    "hard_clear.placeholder": st.sampled_from(["[gone]", "[Old tool result content cleared]", "x" * 300]),
    "tools.allow": st.sampled_from([[], [], ["*"], ["re*", "BASH"], ["*e*d*"], ["gr?p", "[a-z]*"]]),
    "tools.deny": st.sampled_from([[], [], ["*grep*"], ["read"], ["*"]]),
}
OPTIONS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "pi": {
        "prune_minimum": SMALL,
        "prune_protect": SMALL,
        "protected_turns": TURNS,
        "protected_tools": st.sampled_from([[], ["bash"]]),
        "prunable_tools": st.sampled_from([[], ["read", "bash"], ["read", "grep", "ls", "edit"]]),
    },
    "opencode": {
        "prune_minimum": SMALL,
        "prune_protect": SMALL,
        "protected_turns": TURNS,
        "protected_tools": st.sampled_from([[], ["skill"], ["skill", "read"]]),
    },
    "aggressive": CLEARING,
    "adaptive": CLEARING
    | {
        "soft_trim_ratio": RATIO,
        "hard_clear_ratio": RATIO,
        "min_prunable_tool_chars": st.sampled_from([0, 0, 500, 50_000]),
        "hard_clear.enabled": st.booleans(),
        "soft_trim.max_chars": TRIM,
        "soft_trim.head_chars": TRIM,
        "soft_trim.tail_chars": TRIM,
    },
    "prune_old_observations": {"keep_last_n": KEEP, "max_length": TRIM},
    "keep_last_n_steps": {"n": KEEP},
}


def answer(messages: Any, strategy: str, options: dict[str, Any], window: int) -> list[dict[str, Any]]:
    """What the engine would send."""
    config = Config()
    for key, value in options.items():
        text = value if isinstance(value, str) else json.dumps(value)
        config = config.with_value(f"{strategy}.{key}", text)
    one = chosen(config, strategy)
    found = inspect(records_of(messages), [one], window=window, counter=Chars4())
    return [json.loads(message.canonical) for message in found.messages]


def results_of(messages: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The texts of each result that is there, blank ones left out, by its call."""
    blocks = [block for message in messages for block in message["content"] if isinstance(block, dict)]
    return {
        block["tool_use_id"]: [part["text"] for part in block["content"] if part["type"] == "text"]
        for block in blocks
        if block["type"] == "tool_result"
    }


def shown(result: reference.Result, text: str | None) -> list[str]:
    """What stands for a result on the wire."""
    texts = result.texts if text is None else [text]
    kept = [one for one in texts if one.strip()]
    return kept or ([] if text is None and result.images else ["(no output)"])


def over(strategy: str, examples: int) -> tuple[int, int]:
    """Compares on random transcripts; how many there were, and how many were pruned."""
    counts = [0, 0]

    @given(transcripts(), st.fixed_dictionaries(OPTIONS[strategy]), st.sampled_from([200, 2_000, 20_000]))
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.large_base_example,
            HealthCheck.data_too_large,
        ],
    )
    def run(messages: Any, options: dict[str, Any], window: int) -> None:
        found = reference.read(messages)
        sent = results_of(answer(messages, strategy, options, window))
        counts[0] += 1
        if strategy == "keep_last_n_steps":
            kept = reference.keep_last_n_steps(found, options, window)
            assert set(sent) == kept
            counts[1] += len(kept) < sum(map(len, found.calls))
            return
        wanted = reference.CHANGES[strategy](found, options, window)
        answered = {result.use for result in found.results}
        assert {use: texts for use, texts in sent.items() if use in answered} == {
            result.use: shown(result, wanted.get(result.use)) for result in found.results
        }
        counts[1] += bool(wanted)

    run()
    return counts[0], counts[1]


@pytest.mark.parametrize("strategy", OPTIONS)
def test_the_engine_agrees_with_a_second_reading_of_the_rules(strategy: str) -> None:
    total, pruned = over(strategy, 40)
    assert pruned >= total / 5


@pytest.mark.long
@pytest.mark.parametrize("strategy", OPTIONS)
def test_it_agrees_for_long(strategy: str) -> None:
    total, pruned = over(strategy, 5_000)
    assert pruned >= total / 5
