"""What is kept of a stream, for any stream."""

from hypothesis import example, given
from hypothesis import strategies as st

from prunecli.tools.files.decoding import decoded, fitting_end, fitting_lines, fitting_start
from prunecli.tools.processes.output import HeadAndTail

pieces = st.lists(st.one_of(st.binary(max_size=60), st.text(max_size=40).map(str.encode)), max_size=20)


@given(pieces, st.integers(1, 400))
def test_what_is_kept_is_the_start_and_the_end(chunks: list[bytes], limit: int) -> None:
    output, whole = HeadAndTail(limit), b"".join(chunks)
    for chunk in chunks:
        output.add(chunk)
    assert output.total == len(whole)
    half = max(1, limit // 2)
    if len(whole) <= 2 * half:
        assert output.raw == whole
    else:
        assert output.raw == whole[:half] + whole[-half:]


@given(pieces, st.integers(70, 400))
def test_the_text_fits_and_counts_what_it_leaves_out(chunks: list[bytes], limit: int) -> None:
    output, whole = HeadAndTail(limit), b"".join(chunks)
    for chunk in chunks:
        output.add(chunk)
    text, cut = output.text(limit)
    assert len(text.encode()) <= limit
    if not cut:
        assert text == decoded(whole)
        return
    head, _, rest = text.partition("\n[… ")
    count, _, tail = rest.partition(" bytes left out …]\n")
    dropped = int(count.replace(",", ""))
    kept = len(whole) - dropped
    assert any(
        decoded(whole[:first]) == head and decoded(whole[first + dropped :]) == tail
        for first in range(kept + 1)
    )


@given(st.text(max_size=200), st.integers(0, 100))
@example("\U00010000", 3)
def test_a_cut_is_never_inside_a_character(text: str, limit: int) -> None:
    data = text.encode()
    assert fitting_start(data, limit) == fitting_start(data, limit).decode().encode()
    assert data.startswith(fitting_start(data, limit))
    assert fitting_end(data, limit) == fitting_end(data, limit).decode().encode()
    assert data.endswith(fitting_end(data, limit))


@given(st.lists(st.binary(max_size=20), max_size=10).map(b"\n".join), st.integers(1, 100))
def test_fitting_lines_are_whole_lines_unless_the_first_is_too_long(data: bytes, limit: int) -> None:
    kept = fitting_lines(data, limit)
    assert data.startswith(kept)
    assert len(decoded(kept).encode()) <= limit
    whole_lines = kept == data or kept.endswith(b"\n")
    assert whole_lines or len(decoded(data.split(b"\n")[0] + b"\n").encode()) > limit


def test_the_latest_lines_are_the_last_ones() -> None:
    output = HeadAndTail(1_000)
    output.add(b"".join(b"%d\n" % n for n in range(500)))
    assert output.latest().splitlines() == [str(n) for n in range(480, 500)]
