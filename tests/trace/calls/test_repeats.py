"""Which records say again what an earlier one said."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from stemcache.trace.calls.call import Call, Fidelity, Place
from stemcache.trace.calls.repeats import Repeats
from stemcache.wire.api import Api


def _call(text: str = "a", **fields: Any) -> Call:
    body: Mapping[str, Any] = {"messages": [{"role": "user", "content": text}]}
    known = {
        "place": Place("log.jsonl", 1),
        "api": Api.CHAT,
        "body": body,
        "fidelity": Fidelity.RESERIALISED,
        "id": "chatcmpl-0",
        "time_s": None,
    }
    return Call(**{**known, **fields})


def test_one_id_for_all_responses_is_no_id() -> None:
    """Calls with other bodies are calls; how many had the id of another is counted."""
    repeats = Repeats()
    assert [repeats.is_repeat(_call(str(n), time_s=60.0 * n)) for n in range(36)] == [False] * 36
    assert repeats.reused == {"chatcmpl-0": 35}
    assert [repeats.is_repeat(_call(str(n), time_s=9e3)) for n in range(36)] == [True] * 36
    assert repeats.reused == {"chatcmpl-0": 35}


@pytest.mark.parametrize(
    ("fields", "repeated"),
    [
        ({}, True),
        ({"body": None}, True),
        ({"text": "b"}, False),
        ({"text": "b", "time_s": 100.0}, True),
        ({"text": "b", "time_s": 100.4}, True),
        ({"text": "b", "time_s": 100.4, "usage": {"prompt_tokens": 7}}, False),
        ({"text": "b", "time_s": 130.0}, False),
        ({"text": "b", "fidelity": Fidelity.RECONSTRUCTED}, True),
        ({"id": None}, False),
        ({"id": "chatcmpl-1"}, False),
    ],
)
def test_what_makes_a_record_the_same(fields: dict[str, Any], *, repeated: bool) -> None:
    """The body; else the moment along with the usage; a transcript's id is enough."""
    repeats = Repeats()
    assert not repeats.is_repeat(_call(time_s=100.0, usage={"prompt_tokens": 5}))
    known = {"usage": {"prompt_tokens": 5}, "time_s": None}
    assert repeats.is_repeat(_call(**{**known, **fields})) is repeated


def test_two_usages_may_be_known_by_one_record_only() -> None:
    """A log of the beginning and one of the end of a call are one call."""
    repeats = Repeats()
    assert not repeats.is_repeat(_call("a", time_s=5.0))
    assert repeats.is_repeat(_call("b", time_s=5.5, usage={"prompt_tokens": 5}))


def test_bodies_of_any_depth_and_content_are_compared() -> None:
    """What nests too deep to be written out is known by its id; half surrogate pairs are text."""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    repeats = Repeats()
    first = _call(id="deep", body={"x": deep})
    assert not repeats.is_repeat(first)
    assert repeats.is_repeat(first)
    odd = _call(id="odd", body={"x": "\ud800", "y": 10**400, "z": float("nan")})
    assert not repeats.is_repeat(odd)
    assert not repeats.is_repeat(replace(odd, body={"x": "\udc00"}))
    while deep:  # piece by piece: freeing it at once would go as deep
        deep = deep[0]


def test_counted_ids_are_bounded() -> None:
    """The thousand and first reused id is not counted, but its calls are still calls."""
    repeats = Repeats()
    for n in range(1_001):
        assert not repeats.is_repeat(_call("a", id=str(n)))
        assert not repeats.is_repeat(_call("b", id=str(n)))
    assert len(repeats.reused) == 1_000
