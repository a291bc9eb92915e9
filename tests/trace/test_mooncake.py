from pathlib import Path
from typing import Any

import pytest

from tests.trace.traces import DATA, read, refusal, request_of, same, write_lines

HINT = "; mend the line, or leave such lines out with --skip-bad-lines"


def line(**fields: Any) -> dict[str, Any]:
    """A record of 1,100 tokens, changed as said."""
    usual = {"timestamp": 27482, "input_length": 1100, "output_length": 52, "hash_ids": [46, 47, 9]}
    return {name: value for name, value in (usual | fields).items() if value is not ...}


def test_a_record_becomes_a_request(tmp_path: Path) -> None:
    """Milliseconds become seconds, blocks have 512 tokens."""
    path = write_lines(tmp_path / "t", [line()])
    (request,) = read(path)
    expected = request_of(
        46, 47, 9, block_tokens=512, prompt_tokens=1100, output_tokens=52, arrival_s=27.482
    )
    assert same(request, expected)


def test_a_real_trace_is_read() -> None:
    """A chat that goes on shares all its full blocks."""
    requests = read(DATA / "mooncake.jsonl")
    assert [len(one.block_ids) for one in requests] == [5, 4, 3, 4, 4]
    assert [one.arrival_s for one in requests] == [0.0, 3.0, 12.0, 452.999, 725.999]
    assert requests[3].block_ids.tolist()[:3] == requests[4].block_ids.tolist()[:3]


def test_stemcaches_own_fields_are_read(tmp_path: Path) -> None:
    """Names may be numbers; unknown fields are not looked at; the last of two counts."""
    record = line(
        block_size=4,
        input_length=12,
        session_id=7,
        session_timestamp=1.5,
        tenant=3,
        scope="a",
        timestamp=...,
        output_length=...,
        delay=10,
        text_input="never looked at",
    )
    twice = '{"input_length": 5, "input_length": 4, "hash_ids": [1], "block_size": 4}'
    one, two = read(write_lines(tmp_path / "t", [record, twice]))
    expected = request_of(
        46, 47, 9, arrival_s=0.0015, session="7", session_clock=True, tenant="3", scope="a"
    )
    assert same(one, expected)
    assert same(two, request_of(1))


def test_what_is_not_given_is_not_known(tmp_path: Path) -> None:
    """No time, no length of the answer: None, not zero."""
    (request,) = read(write_lines(tmp_path / "t", [{"input_length": 600, "hash_ids": [1]}]))
    assert (request.arrival_s, request.output_tokens, request.session) == (None, None, None)


def test_the_flag_says_the_block_size_that_the_trace_does_not(tmp_path: Path) -> None:
    """A trace that says another one contradicts it."""
    path = write_lines(tmp_path / "t", [line(input_length=40)])
    (request,) = read(path, block_tokens=16)
    assert request.block_tokens == 16
    path = write_lines(tmp_path / "t", [line(input_length=40, block_size=16)])
    assert refusal(path, block_tokens=64) == (
        "t, line 1: its blocks have 16 tokens, but --block-size says 64; leave the flag out, "
        "or leave such lines out with --skip-bad-lines"
    )


def test_a_trace_has_one_block_size(tmp_path: Path) -> None:
    """That of the first line that could be read; the habit's 512 counts as said."""
    bad = line(block_size=16)
    good = line(block_size=1024, hash_ids=[1, 2])
    path = write_lines(tmp_path / "t", [bad, good, line(), good])
    requests = read(path, on_bad="skip")
    assert [one.block_tokens for one in requests] == [1024, 1024]
    path = write_lines(tmp_path / "t", [line(), good])
    assert refusal(path) == (
        "t, line 2: its blocks have 1024 tokens, but those before have 512; split the trace by "
        "block size, or leave such lines out with --skip-bad-lines"
    )


def test_a_trace_counts_in_one_unit(tmp_path: Path) -> None:
    """Tokens, unless its first line says characters."""
    path = write_lines(tmp_path / "t", [line(unit="characters"), line()])
    assert refusal(path) == (
        "t, line 2: it counts tokens, but those before count characters; keep one unit a file, "
        "or leave such lines out with --skip-bad-lines"
    )


def test_a_trace_has_one_kind_of_clock(tmp_path: Path) -> None:
    """The trace's or its sessions': times of both kinds cannot be compared."""
    own = line(timestamp=..., session_id="a", session_timestamp=1)
    hint = "keep one clock a file, or leave such lines out with --skip-bad-lines"
    path = write_lines(tmp_path / "t", [line(), line(timestamp=...), own])
    assert refusal(path) == (
        f"t, line 3: it has a session_timestamp, but those before have a timestamp; {hint}"
    )
    path = write_lines(tmp_path / "t", [own, line()])
    assert refusal(path) == (
        f"t, line 2: it has a timestamp, but those before have a session_timestamp; {hint}"
    )


def test_ids_may_be_of_blocks_and_are_chained_if_asked_for(tmp_path: Path) -> None:
    """Two prompts that share their second block only then share nothing."""
    path = write_lines(tmp_path / "t", [line(hash_ids=[1, 2, 3]), line(hash_ids=[4, 2, 3])])
    one, two = read(path, chain_ids=True)
    assert not set(one.block_ids.tolist()) & set(two.block_ids.tolist())


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"input_length": -1}, "input_length: expected `int` >= 0"),
        ({"input_length": 1100.5}, "input_length is a fraction, where a whole number belongs"),
        ({"input_length": -4.0}, "input_length is out of range, where a whole number belongs"),
        ({"output_length": 1e18}, "output_length is out of range, where a whole number belongs"),
        ({"block_size": 0.0}, "block_size is out of range, where a whole number belongs"),
        ({"session_id": 1.5}, "session_id is a fraction, where a whole number belongs"),
        ({"tenant": 1e300}, "tenant is out of range, where a whole number belongs"),
        ({"input_length": 2**60}, "input_length: expected `int` <= 281474976710656"),
        ({"input_length": None}, "input_length: expected `int | float`, got `null`"),
        ({"output_length": -5}, "output_length: expected `int` >= 0"),
        ({"hash_ids": None}, "hash_ids: expected `array`, got `null`"),
        ({"hash_ids": [1, 2.5, 3]}, "hash_ids[1]: expected `int | str`, got `float`"),
        ({"hash_ids": [1, True, 3]}, "hash_ids[1]: expected `int | str`, got `bool`"),
        ({"block_size": 0}, "block_size: expected `int` >= 1"),
        ({"session_id": [1]}, "session_id: expected `int | float | str | null`, got `array`"),
        ({"timestamp": "noon"}, "timestamp is not a number of milliseconds"),
        ({"timestamp": 10**18}, "timestamp is too large for a time"),
        ({"session_timestamp": 5}, "session_timestamp stands without session_id"),
        ({"unit": "secret"}, "unit is neither tokens nor characters"),
    ],
)
def test_a_field_that_cannot_be_is_told(
    fields: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    """The field and the type, the line, and what to do."""
    path = write_lines(tmp_path / "t", [line(), line(**fields)])
    said = refusal(path)
    assert said.startswith(f"t, line 2: {reason}; ")
    assert said.endswith("or leave such lines out with --skip-bad-lines")


def test_a_field_that_is_missing_is_told(tmp_path: Path) -> None:
    """By its name."""
    path = write_lines(tmp_path / "t", [line(), line(input_length=...)])
    assert refusal(path) == (f"t, line 2: object missing required field `input_length`{HINT}")


def test_ids_of_any_kind_are_read(tmp_path: Path) -> None:
    """Beyond 64 bits and texts are hashed; the rest is kept."""
    path = write_lines(tmp_path / "t", [line(hash_ids=[2**64 - 1, 2**90, "5f"])])
    (request,) = read(path)
    assert request.block_ids[0] == -1
    assert len(set(request.block_ids.tolist())) == 3


def test_whole_numbers_may_be_written_as_floats(tmp_path: Path) -> None:
    """As tables write a column that has gaps; a name of that kind is the number's."""
    whole = line(block_size=512, session_id=7, tenant=3, scope=5)
    names = ("input_length", "output_length", "block_size", "session_id", "tenant", "scope")
    floats = {name: float(whole[name]) for name in names}
    one, other = read(write_lines(tmp_path / "t", [whole, whole | floats]))
    assert same(one, other)
    assert (other.session, other.tenant, other.scope) == ("7", "3", "5")
    assert all(type(n) is int for n in (other.prompt_tokens, other.output_tokens))
