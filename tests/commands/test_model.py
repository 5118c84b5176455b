"""/model: what the endpoint offers, what is known of it, and what happens where there is no list."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from prunecli.commands.command import Choice, Choose, Effect, InThread, Say, run_line
from prunecli.runtime import Runtime
from prunecli.runtime.offered_models import FRESH_MS
from tests.serving import HTML, Answer, as_json, nothing, serving
from tests.starting import start

MODELS = {"data": [{"id": "claude-opus-5"}, {"id": "qwen3:8b", "context_length": 32768}, {"id": "plain"}]}


def at(folder: Path, address: str, *sets: str) -> Runtime:
    return start(folder, sets=[f"model.base_url={address}", "model.name=plain", *sets])


def effects_of(runtime: Runtime, line: str = "/model") -> Sequence[Effect]:
    """The effects of a line, with its slow work done."""
    found = list(run_line(runtime, line))
    return [one for effect in found for one in (effect.work() if isinstance(effect, InThread) else [effect])]


def choices_of(effects: Sequence[Effect]) -> list[Choice]:
    (choose,) = [one for one in effects if isinstance(one, Choose)]
    assert choose.command == "model"
    return list(choose.choices)


def said(effects: Sequence[Effect]) -> str:
    return "\n".join(one.text for one in effects if isinstance(one, Say))


def test_it_lists_what_the_endpoint_offers_with_what_is_known_of_each(tmp_path: Path) -> None:
    with serving(lambda *_: as_json(MODELS)) as served:
        runtime = at(
            tmp_path, served.address, "models.mine.context_window=9000", "models.mine.prices.input=1"
        )
        found = {one.value: one for one in choices_of(effects_of(runtime))}
    assert list(found) == ["claude-opus-5", "qwen3:8b", "plain", "mine", "demo"]
    assert found["claude-opus-5"].detail == "1.0M tokens · $5/$25 per M"
    assert found["qwen3:8b"].detail == "32.8K tokens · price not known here"
    assert found["plain"].detail == "not known here"
    assert found["mine"].detail == "9.0K tokens · price not known here"
    assert [one for one, choice in found.items() if choice.current] == ["plain"]


def test_the_endpoint_is_asked_once_in_a_while_and_anew_on_demand(tmp_path: Path) -> None:
    with serving(lambda *_: as_json(MODELS)) as served:
        runtime = at(tmp_path, served.address)
        first = choices_of(effects_of(runtime))
        (shown,) = run_line(runtime, "/model")
        assert isinstance(shown, Choose)  # at once
        assert list(shown.choices) == first
        assert len(served.requests) == 1
        effects_of(runtime, "/model --refresh")
        assert len(served.requests) == 2
        later = start(
            tmp_path,
            sets=[f"model.base_url={served.address}"],
            clock=lambda: 1_900_000_000_000 + FRESH_MS,
        )
        effects_of(later)
        assert len(served.requests) == 3


def test_the_window_that_an_endpoint_told_holds_for_its_model(tmp_path: Path) -> None:
    with serving(lambda *_: as_json(MODELS)) as served:
        runtime = at(tmp_path, served.address)
        assert runtime.choices.window == 200_000  # assumed
        effects_of(runtime)
        assert "Model: qwen3:8b (32.8K tokens)" in said(effects_of(runtime, "/model qwen3:8b"))
        assert runtime.choices.window == 32_768
        again = start(tmp_path, sets=[f"model.base_url={served.address}", "model.name=qwen3:8b"])
        assert again.choices.window == 32_768
        elsewhere = start(tmp_path, sets=["model.base_url=http://127.0.0.1:9", "model.name=qwen3:8b"])
        assert elsewhere.choices.window == 200_000


def test_page_after_page_is_asked_for(tmp_path: Path) -> None:
    def paged(method: str, path: str, body: bytes) -> Answer:
        start_at = int(path.partition("after_id=m")[2] or -1) + 1
        rows = [{"id": f"m{number}"} for number in range(start_at, start_at + 3)]
        return as_json({"data": rows, "has_more": start_at < 6, "last_id": rows[-1]["id"]})

    with serving(paged) as served:
        found = [one.value for one in choices_of(effects_of(at(tmp_path, served.address, "model.name=m0")))]
    assert found == [*(f"m{number}" for number in range(9)), "demo"]


def test_a_list_that_never_ends_is_left(tmp_path: Path) -> None:
    same = {"data": [{"id": "m"}], "has_more": True, "last_id": "m"}
    with serving(lambda *_: as_json(same)) as served:
        effects_of(at(tmp_path, served.address))
    assert len(served.requests) == 2


@pytest.mark.parametrize(
    "answer", [nothing, lambda *_: as_json({"data": []}), lambda *_: (200, HTML, b"<html>")]
)
def test_where_there_is_no_list_the_known_models_are_shown_with_one_line(tmp_path: Path, answer) -> None:
    with serving(answer) as served:
        effects = effects_of(at(tmp_path, served.address))
    assert said(effects) == (
        "The endpoint lists no models; these are the known ones. /model NAME takes any other."
    )
    found = [one.value for one in choices_of(effects)]
    assert {"opus", "claude-sonnet-5", "plain"} <= set(found)


def test_an_endpoint_that_does_not_answer_is_said_and_the_known_models_are_shown(tmp_path: Path) -> None:
    effects = effects_of(at(tmp_path, "http://127.0.0.1:9"))
    assert "connection refused" in said(effects)
    assert len(said(effects).splitlines()) == 1
    assert "claude-sonnet-5" in [one.value for one in choices_of(effects)]


def test_without_a_key_nobody_is_asked(tmp_path: Path) -> None:
    (shown,) = run_line(start(tmp_path), "/model")
    assert isinstance(shown, Choose)
    named = start(tmp_path, sets=["model.endpoint=openrouter"])
    assert isinstance(run_line(named, "/model")[0], Choose)


def test_names_that_a_terminal_can_t_show_are_left_out(tmp_path: Path) -> None:
    hostile = ["\x1b]0;x\x07", "a\nb", "\u202egnp.exe", " ", "x" * 201, 7, None, "", " lead", "good/one:1"]
    with serving(lambda *_: as_json({"data": [{"id": one} for one in hostile]})) as served:
        found = [one.value for one in choices_of(effects_of(at(tmp_path, served.address)))]
    assert found == ["plain", "good/one:1", "demo"]


def test_a_file_that_remembers_nonsense_is_asked_again(tmp_path: Path) -> None:
    with serving(lambda *_: as_json(MODELS)) as served:
        runtime = at(tmp_path, served.address)
        path = runtime.setup.places.endpoints_file
        path.parent.mkdir(parents=True, exist_ok=True)
        key = served.address
        for junk in (
            "[",
            '{"models": 3}',
            f'{{"models": {{"{key}": {{"when": "x"}}}}}}',
            f'{{"models": {{"{key}": {{"when": 99999999999999, "rows": 3}}}}}}',
        ):
            path.write_text(junk)
            assert isinstance(run_line(runtime, "/model")[0], InThread)
