"""Damaged session files: nothing altered is accepted, everything untouched is kept, and it is said."""

import random
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prunecli.model.events import Record, SessionStarted, ToolResult, ToolStarted, UserMessage
from prunecli.model.messages import Text
from prunecli.model.record_codec import decode_record, encode_record
from prunecli.session.log import LOST_WORDS, Loaded, read_log, take_line
from prunecli.session.writer import LogWriter
from prunecli.util.errors import SessionCorrupt
from tests.laws.logs import logs

START = SessionStarted("s", "/w", "m")
PARTS = 8


def record(seq: int) -> Record:
    event = (
        START,
        UserMessage((Text(f"words {seq} \u2028 é"),)),
        ToolStarted(f"t{seq}", "bash", {"command": f"echo {seq}"}),
        ToolResult(f"t{seq}", "bash", (Text(f"out {seq}"),), details={"exit_code": 0}),
    )[seq % 4]
    return Record(seq, 1_000 + seq, event)


def whole(count: int) -> tuple[list[Record], bytes]:
    records = [record(seq) for seq in range(count)]
    return records, b"".join(map(encode_record, records))


def load(path: Path, data: bytes) -> Loaded:
    path.write_bytes(data)
    try:
        return read_log(path)
    except SessionCorrupt:
        return Loaded()


def lines_of(data: bytes) -> list[tuple[int, int]]:
    """Where each line begins and ends, its newline included."""
    ends = [at + 1 for at, byte in enumerate(data) if byte == 10]
    return list(zip([0, *ends[:-1]], ends, strict=True))


def cut_everywhere(path: Path, count: int, places: Callable[[int], bool] = lambda _: True) -> int:
    """Cuts at each of the places, reads, goes on writing and reads again; the number of cuts."""
    records, data = whole(count)
    lines = lines_of(data)
    sizes = list(filter(places, range(lines[0][1], len(data))))
    for size in sizes:
        kept = sum(end - 1 <= size for _, end in lines)
        loaded = load(path, data[:size])
        assert loaded.records == records[:kept]
        inside = any(begin < size < end - 1 for begin, end in lines)
        assert bool(loaded.bad) == inside, "half a record is said"
        log = LogWriter(path)
        log.append(record(count))
        log.close()
        assert path.read_bytes().startswith(data[:size]), "what was there is never rewritten"
        assert read_of(read_log(path)) == [*records[:kept], record(count)]
    return len(sizes)


def flip_everywhere(path: Path, count: int, bits: Callable[[int], Iterable[int]]) -> int:
    """Flips the bits that are named for a byte, one after the other, in every byte; the most that one lost."""
    records, data = whole(count)
    most = 0
    for number, (first, end) in enumerate(lines_of(data)):
        for at in range(first, end):
            may_go = {number, number + 1} if at == end - 1 else {number}
            for bit in bits(at):
                flipped = bytearray(data)
                flipped[at] ^= 1 << bit
                loaded = load(path, bytes(flipped))
                lost = lost_of(loaded, records)
                assert lost <= may_go, f"untouched records are lost: {lost - may_go}"
                assert traced(loaded, records, lost), "lost words leave no trace"
                assert not lost or loaded.bad or not loaded.records, "a loss is said"
                most = max(most, len(lost))
    return most


def lost_of(loaded: Loaded, records: list[Record]) -> set[int]:
    """The numbers of the records that were not read; what was read is what was written."""
    read = read_of(loaded)
    seqs = [one.seq for one in read]
    assert read == [records[seq] for seq in seqs], "an altered record was accepted"
    assert seqs == sorted(set(seqs))
    return set(range(len(records))) - set(seqs)


def traced(loaded: Loaded, records: list[Record], lost: set[int]) -> bool:
    """Whether something stands where words of the user's are lost in front of a good record."""
    read = [one.seq for one in read_of(loaded)]
    words = {
        seq for seq in lost if isinstance(records[seq].event, UserMessage) and seq < max(read, default=0)
    }
    places = {max((seq for seq in read if seq < one), default=-1) + 1 for one in words}
    return places <= {one.seq for one in loaded.records if one.event == LOST_WORDS}


def read_of(loaded: Loaded) -> list[Record]:
    """The records that were read, without what stands for lost words; their numbers rise together."""
    seqs = [one.seq for one in loaded.records]
    assert seqs == sorted(set(seqs))
    assert all(one.timestamp < two.timestamp for one, two in pairwise(loaded.records))
    return [one for one in loaded.records if one.event != LOST_WORDS]


def hole_everywhere(path: Path, count: int, step: int, lengths: Callable[[int], Iterable[int]]) -> int:
    """Overwrites with zeros, from every step-th byte on, for each of the lengths that are named for it; the most
    records that one lost which it did not touch."""
    records, data = whole(count)
    lines, most = lines_of(data), 0
    for begin in range(0, len(data), step):
        for length in lengths(begin):
            end = min(len(data), begin + length)
            loaded = load(path, data[:begin] + b"\0" * (end - begin) + data[end:])
            touched = {number for number, (first, last) in enumerate(lines) if first < end and last > begin}
            lost = lost_of(loaded, records)
            most = max(most, len(lost - touched))
            assert not lost or loaded.bad or not loaded.records, f"{touched} are damaged and nobody says so"
    return most


def test_a_file_cut_anywhere_keeps_its_complete_records_and_is_appended_to(tmp_path: Path) -> None:
    """Every byte of eight records."""
    assert cut_everywhere(tmp_path / "s.jsonl", 8) > 1_000


def test_a_flipped_bit_in_any_byte_is_never_accepted(tmp_path: Path) -> None:
    """Two bits of every byte."""
    assert flip_everywhere(tmp_path / "s.jsonl", 5, lambda at: random.Random(at).sample(range(8), 2)) <= 2


def test_a_hole_of_zero_bytes_anywhere_is_noticed(tmp_path: Path) -> None:
    """The short dose."""
    assert hole_everywhere(tmp_path / "s.jsonl", 6, 5, lambda _: range(1, 300, 41)) <= 1


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_a_file_of_200_records_is_cut_at_every_byte(tmp_path: Path, part: int) -> None:
    """In parts, so that several processes can share it."""
    assert cut_everywhere(tmp_path / "s.jsonl", 200, lambda size: size % PARTS == part) > 30_000 // PARTS


@pytest.mark.long
@pytest.mark.parametrize("bit", range(8))
def test_this_bit_is_flipped_in_every_byte_of_200_records(tmp_path: Path, bit: int) -> None:
    assert flip_everywhere(tmp_path / "s.jsonl", 200, lambda _: (bit,)) <= 2


@pytest.mark.long
def test_holes_of_zero_bytes_from_every_byte_on(tmp_path: Path) -> None:
    """Of a hundred lengths in 8 records, and of one length at each byte of 200 records."""
    assert hole_everywhere(tmp_path / "s.jsonl", 8, 1, lambda _: range(1, 300, 3)) <= 1
    assert hole_everywhere(tmp_path / "s.jsonl", 200, 1, lambda at: [1 + at * 37 % 400]) <= 1


@given(logs(max_steps=10, rare=True), st.data())
@settings(max_examples=30, deadline=None)
def test_any_damage_to_any_log_gives_a_part_of_it(records: list[Record], data: st.DataObject) -> None:
    """Bytes replaced, removed, inserted, lines repeated and moved."""
    lines = [encode_record(one) for one in records]
    damage = data.draw(st.sampled_from(["replace", "remove", "insert", "repeat", "swap"]))
    at = data.draw(st.integers(0, len(lines) - 1))
    if damage in ("repeat", "swap"):
        other = data.draw(st.integers(0, len(lines) - 1))
        lines.insert(other, lines[at])
        if damage == "swap":
            del lines[at + (other <= at)]
        text = b"".join(lines)
    else:
        text = b"".join(lines)
        place, size = data.draw(st.integers(0, len(text) - 1)), data.draw(st.integers(1, 40))
        new = data.draw(st.binary(min_size=1, max_size=40)) if damage != "remove" else b""
        text = text[:place] + new + text[place + (0 if damage == "insert" else size) :]
    loaded = Loaded()
    for line in text.split(b"\n"):
        take_line(loaded, line)
    assert all(one in records or one.event == LOST_WORDS for one in loaded.records)
    seqs = [one.seq for one in loaded.records]
    assert seqs == sorted(set(seqs))


def fuzz(count: int, seed: int) -> tuple[int, list[str]]:
    """Mutated records with a checksum that is right: how many were read, and the reasons of the others."""
    read, reasons = 0, list[str]()
    dice = random.Random(seed)
    samples = [encode_record(record(seq))[:-17] for seq in range(8)]
    tokens = [
        b"null",
        b"-1",
        b"1e999",
        b"[]",
        b"{}",
        b'""',
        b'"\\ud800"',
        b"true",
        b"9" * 400,
        b"[" * 300,
        b":",
    ]
    for _ in range(count):
        body = bytearray(dice.choice(samples))
        for _ in range(dice.randint(1, 3)):
            at = dice.randrange(len(body))
            match dice.randrange(4):
                case 0:
                    body[at] = dice.randrange(256)
                case 1:
                    del body[at : at + dice.randint(1, 20)]
                case 2:
                    body[at:at] = dice.choice(tokens)
                case _:
                    end = at + dice.randint(1, 12)
                    body[at:end] = dice.choice(tokens)
            body = body or bytearray(b"{")
        data = bytes(body)
        line = data + b',"crc":"%08x"}' % crc32(data)
        try:
            found = decode_record(line)
        except ValueError as refused:
            reasons.append(str(refused))
            continue
        read += bool(encode_record(found))
    return read, reasons


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1e400"])
def test_a_number_beyond_all_numbers_is_refused(number: str) -> None:
    for payload in (
        f'"type":"RequestSent","model":"m","tokens":{number},"sha256":"x"',
        f'"type":"ToolResult","tool_use_id":"t","tool_name":"b","content":[],"details":{{"x":{number}}}',
    ):
        body = ('{"seq":1,"timestamp":2000,' + payload).encode()
        with pytest.raises(ValueError, match="too large"):
            decode_record(body + b',"crc":"%08x"}' % crc32(body))


@pytest.mark.parametrize(
    ("count", "seed"), [(5_000, 1), pytest.param(500_000, 2, marks=pytest.mark.long)]
)  # ten million were not run
def test_hostile_records_with_a_good_checksum_are_refused_with_a_reason(count: int, seed: int) -> None:
    read, reasons = fuzz(count, seed)
    assert read + len(reasons) == count
    assert reasons
    assert all(reasons)
