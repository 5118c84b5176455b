"""What is remembered of endpoints that refuse optional fields."""

from pathlib import Path

from prunecli.runtime.refusals import LASTS_MS, Refusals


def at(path: Path, now: int = 1_000, address: str = "https://me:secret@gate.example/v1") -> Refusals:
    return Refusals(path, lambda: now, lambda _: address)


def test_a_refusal_is_remembered_by_address_and_model_and_read_by_the_next_program(tmp_path: Path) -> None:
    path = tmp_path / "data" / "endpoints.json"
    assert at(path).of("m") == frozenset()
    assert at(path).add("m", "thinking.display")
    later = at(path)
    later.add("m", "output_config")
    assert at(path).of("m") == {"thinking.display", "output_config"}
    assert at(path).of("other") == frozenset()
    assert at(path, address="https://api.example").of("m") == frozenset()
    assert "secret" not in path.read_text()


def test_it_is_forgotten_after_a_month(tmp_path: Path) -> None:
    path = tmp_path / "endpoints.json"
    at(path).add("m", "output_config")
    assert at(path, 1_000 + LASTS_MS - 1).of("m") == {"output_config"}
    assert at(path, 1_000 + LASTS_MS).of("m") == frozenset()


def test_a_file_that_is_no_such_file_counts_for_nothing_and_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "endpoints.json"
    for junk in ("", "[]", '{"refused": 3}', '{"refused": {"x m": [1]}}', "[" * 100_000):
        path.write_text(junk)
        assert at(path).of("m") == frozenset()
    at(path).add("m", "output_config")
    assert at(path).of("m") == {"output_config"}


def test_what_can_t_be_written_holds_for_the_session(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refusals = at(tmp_path / "file" / "endpoints.json")
    assert refusals.add("m", "output_config")
    assert refusals.of("m") == {"output_config"}
