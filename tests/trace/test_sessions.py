from pathlib import Path
from typing import Any

import pytest

from stemcache.trace.open import open_trace
from tests.trace.traces import DATA, read, refusal, request_of, same, write_lines


def entry(t: float, *rle: int, size: int = 4, **fields: Any) -> dict[str, Any]:
    """A request whose ids are run-length encoded and cover it whole."""
    return {"t": t, "in": size * sum(rle[1::2]), "out": 5, "rle": list(rle)} | fields


def session(*requests: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A line."""
    usual = {"id": "s1", "block_size": 4, "hash_id_scope": "local", "requests": list(requests)}
    return usual | fields


def test_runs_become_ids(tmp_path: Path) -> None:
    """Several runs follow one another; a scope and a clock for each session."""
    path = write_lines(tmp_path / "t", [session(entry(2.5, 1, 2, 10, 3))])
    (request,) = read(path)
    expected = request_of(
        1,
        2,
        10,
        11,
        12,
        output_tokens=5,
        arrival_s=2.5,
        scope="s1",
        session="s1",
        session_clock=True,
    )
    assert same(request, expected)


def test_real_sessions_are_read_in_time_order() -> None:
    """The sub-agent's requests come between those of the session that it worked for."""
    requests = read(DATA / "sessions.jsonl")
    first = [one for one in requests if one.session == "trace_0003"]
    assert [one.arrival_s for one in first] == [
        0.0,
        134.227,
        pytest.approx(140.227),
        pytest.approx(148.227),
        153.0,
        184.0,
        298.0,
    ]
    assert [int(one.block_ids[0]) for one in first] == [1, 36622, 36622, 36622, 1, 1, 1]
    assert {one.scope for one in first} == {"trace_0003"}
    assert [one.session for one in requests] == ["trace_0003"] * 7 + ["trace_0004"] * 3
    assert all(len(one.block_ids) == one.prompt_tokens // 64 for one in requests)


def test_sub_agents_may_have_their_own(tmp_path: Path) -> None:
    """Each entry's time counts from the entry around it; equal times keep the file's order."""
    inner = {"t": 2.0, "requests": [entry(0.5, 30, 1), entry(1.0, 31, 1)]}
    outer = {"t": 10.0, "requests": [entry(0.0, 20, 1), inner]}
    path = write_lines(tmp_path / "t", [session(entry(0.0, 1, 1), outer, entry(13.0, 2, 1))])
    found = [(one.arrival_s, int(one.block_ids[0])) for one in read(path)]
    assert found == [(0.0, 1), (10.0, 20), (12.5, 30), (13.0, 31), (13.0, 2)]


def test_plain_lists_of_ids_are_read_too(tmp_path: Path) -> None:
    """As the traces are before they are run-length encoded."""
    plain = {"t": 1.0, "in": 9, "out": 1, "hash_ids": [5, 6]}
    (request,) = read(write_lines(tmp_path / "t", [session(plain)]))
    assert request.block_ids.tolist() == [5, 6]


def test_ids_that_are_not_local_share_a_scope(tmp_path: Path) -> None:
    """So that sessions may share blocks."""
    lines = [session(entry(0.0, 1, 1), id=name, hash_id_scope="global") for name in ("a", "b")]
    requests = read(write_lines(tmp_path / "t", lines))
    assert [(one.scope, one.session) for one in requests] == [("", "a"), ("", "b")]


def test_a_session_without_requests_gives_none(tmp_path: Path) -> None:
    """It is not a bad line."""
    path = write_lines(tmp_path / "t", [session(), session(entry(0.0, 1, 1))])
    assert len(read(path)) == 1


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"in": 5, "rle": []}, "requests[1].t is missing"),
        ({"t": 1.0, "rle": []}, "requests[1].in is missing"),
        ({"t": 1.0, "in": 3}, "requests[1].rle is missing"),
        (entry(1.0, 5), "requests[1].rle has a start without a length"),
        (entry(1.0, 5, 2, 9, -1), "requests[1].rle has a negative length"),
        (entry(1.0, 2**63, 1), "requests[1].rle has ids beyond 64 bits"),
        (entry(1.0, 2**63 - 2, 2), "requests[1].rle has ids beyond 64 bits"),
        (entry(1.0, 0, 2**40), "requests[1].rle asks for 1099511627776 ids, more than 67108864"),
        (entry(1e300, 0, 1), "requests[1].t is too large for a time"),
        (
            entry(1.0, 0, 3, size=8),
            "requests[1] has 3 block ids for 24 tokens at 4 a block, which takes 6",
        ),
        ({"t": 1.0, "requests": [{}]}, "requests[1].requests[0].t is missing"),
        ({"t": 1.0, "in": -4, "rle": []}, "requests[...].in: expected `int` >= 0"),
    ],
)
def test_a_session_with_a_bad_request_is_told_whole(
    bad: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    """By the place of the request; none of the session is read."""
    good = session(entry(0.0, 1, 1))
    path = write_lines(tmp_path / "t", [good, session(entry(0.0, 1, 1), bad)])
    said = refusal(path)
    assert said.startswith("t, line 2: ")
    assert reason in said.replace("requests[1].in: expected", "requests[...].in: expected")
    assert len(read(path, on_bad="skip")) == 1


def test_sessions_have_one_block_size(tmp_path: Path) -> None:
    """Like all traces."""
    lines = [session(entry(0.0, 1, 1)), session(entry(0.0, 1, 1, size=8), block_size=8)]
    assert "its blocks have 8 tokens, but those before have 4" in refusal(
        write_lines(tmp_path / "t", lines)
    )


def test_chaining_works_on_sessions_too(tmp_path: Path) -> None:
    """An id that comes behind another prefix is another block."""
    path = write_lines(tmp_path / "t", [session(entry(0.0, 1, 3), entry(1.0, 2, 2))])
    one, two = read(path, chain_ids=True)
    assert not set(one.block_ids.tolist()) & set(two.block_ids.tolist())


def test_whole_numbers_may_be_written_as_floats(tmp_path: Path) -> None:
    """Lengths and block sizes; fractions are told with their place."""
    plain = session(entry(0.0, 1, 1))
    floats = session(entry(0.0, 1, 1) | {"in": 4.0, "out": 5.0}, block_size=4.0)
    one, other = read(write_lines(tmp_path / "t", [plain, floats]))
    assert same(one, other)
    bad = session(entry(0.0, 1, 1) | {"out": 5.5})
    assert refusal(write_lines(tmp_path / "t", [plain, bad])).startswith(
        "t, line 2: requests[0].out is a fraction, where a whole number belongs; "
    )


@pytest.mark.parametrize(
    "first",
    [
        [],
        [{"t": 1.0, "requests": [{"t": 1.0, "requests": [entry(0.0, 1, 1)]}]}],
        [{"t": 1.0, "requests": []}],
    ],
)
def test_a_session_is_told_by_its_form_not_by_its_first_request(
    first: list[dict[str, Any]], tmp_path: Path
) -> None:
    """It may have none, or sub-agents' of sub-agents' only."""
    lines: list[dict[str, Any]] = [
        {"id": "a", "block_size": 4, "requests": first},
        {"id": "b", "block_size": 4, "requests": [entry(0.0, 1, 1)]},
    ]
    with open_trace(write_lines(tmp_path / "t", lines)) as reader:
        assert reader.format == "sessions"
        assert {one.session for one in reader} >= {"b"}


def test_lines_of_one_session_are_counted(tmp_path: Path) -> None:
    """They are one session; a line without requests is no part of any."""
    lines = [
        session(entry(0.0, 1, 2)),
        session(entry(0.0, 1, 2), id="s2"),
        session(entry(5.0, 1, 3)),
        session(),
        session(entry(9.0, 1, 3)),
    ]
    with open_trace(write_lines(tmp_path / "t", lines)) as reader:
        requests = list(reader)
        assert reader.joined_lines == 2
    assert [one.session for one in requests] == ["s1", "s2", "s1", "s1"]
    assert [one.scope for one in requests] == ["s1", "s2", "s1", "s1"]
