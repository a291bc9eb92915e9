"""What is kept of earlier calls: bytes of digests, bytes of texts, and the rest read again."""

from typing import Any

import numpy as np

from stemcache.lint.assumed import UNRESOLVED
from stemcache.lint.keys import KeyValue
from stemcache.lint.known import Known, KnownCalls
from stemcache.lint.room import Room
from stemcache.provider.cache.cuts import Cuts
from stemcache.provider.rule import Key
from stemcache.trace.calls.call import Call, Fidelity, Place
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.span import Prompt
from stemcache.wire.api import Api
from stemcache.wire.section import Section


def _prompt(text: str) -> Prompt:
    return prompt_of({"messages": [{"role": "user", "content": text}]}, Api.CHAT)


def _known(line: int, *, size_bytes: int = 100, **others: Any) -> Known:
    given = {
        "call": Call(
            place=Place("log.jsonl", line),
            api=Api.CHAT,
            body=None,
            fidelity=Fidelity.WIRE,
            size_bytes=size_bytes,
        ),
        "rule": UNRESOLVED,
        "span_chain": np.array([line], np.uint64),
        "span_bytes": np.array([10], np.int64),
        "keys": (),
        "held": Cuts(everywhere=True, positions=()),
        "marks": (),
        "prompt_tokens": 3,
        "reported_prompt_tokens": None,
        "readable_s": None,
        "last_write": None,
        "output_tokens": 0,
        "did_nothing": False,
    }
    return Known(**{**given, **others})


class Reader:
    """Reads a prompt again, and counts how often it was asked."""

    def __init__(self, *, gone: bool = False) -> None:
        self.asked: list[int] = []
        self._gone = gone

    def __call__(self, known: Known) -> Prompt | None:
        self.asked.append(known.call.place.line)
        return None if self._gone else _prompt(f"again {known.call.place.line}")


def test_call_is_found_by_its_number() -> None:
    """And a number that was never given is of no call."""
    calls = KnownCalls(Reader())
    one = _known(1)
    calls.add(7, one, _prompt("one"), 100)
    assert calls.get(7) is one
    assert calls.get(1) is None


def test_prompt_that_is_held_is_not_read_again() -> None:
    """The latest texts are in memory."""
    reader = Reader()
    calls = KnownCalls(reader)
    prompt = _prompt("one")
    calls.add(1, _known(1), prompt, 100)
    assert calls.prompt(1) is prompt
    assert reader.asked == []


def test_prompt_of_no_known_call_is_none() -> None:
    """Nothing is read for a number that nobody has."""
    reader = Reader()
    assert KnownCalls(reader).prompt(3) is None
    assert reader.asked == []


def test_oldest_prompt_goes_first_and_is_read_again() -> None:
    """Where the budget of texts is used up the log is asked, once."""
    reader = Reader()
    calls = KnownCalls(reader, room=Room(prompt_bytes=250))
    for line in (1, 2, 3):
        calls.add(line, _known(line), _prompt(f"first {line}"), 100)
    again = calls.prompt(1)
    assert again is not None
    assert again.spans[0].text == "again 1"
    assert calls.prompt(1) is again
    assert reader.asked == [1]
    calls.prompt(3)
    assert reader.asked == [1]
    calls.prompt(2)
    assert reader.asked == [1, 2]


def test_prompt_that_is_asked_for_stays() -> None:
    """What was used last is the last to go."""
    reader = Reader()
    calls = KnownCalls(reader, room=Room(prompt_bytes=250))
    calls.add(1, _known(1), _prompt("one"), 100)
    calls.add(2, _known(2), _prompt("two"), 100)
    calls.prompt(1)
    calls.add(3, _known(3), _prompt("three"), 100)
    calls.prompt(1)
    assert reader.asked == []
    calls.prompt(2)
    assert reader.asked == [2]


def test_prompt_larger_than_the_budget_is_held_alone() -> None:
    """The latest is always there, or a call could not be compared with the one before it."""
    reader = Reader()
    calls = KnownCalls(reader, room=Room(prompt_bytes=250))
    calls.add(1, _known(1), _prompt("one"), 100)
    calls.add(2, _known(2), _prompt("two"), 10_000)
    assert calls.prompt(2) is not None
    assert reader.asked == []
    calls.prompt(1)
    assert reader.asked == [1]


def test_log_that_cannot_be_read_again_gives_none() -> None:
    """Standard input is asked again each time, since nothing is held for it."""
    reader = Reader(gone=True)
    calls = KnownCalls(reader, room=Room(prompt_bytes=150))
    calls.add(1, _known(1), _prompt("one"), 100)
    calls.add(2, _known(2), _prompt("two"), 100)
    assert calls.prompt(1) is None
    assert calls.prompt(1) is None
    assert reader.asked == [1, 1]
    assert calls.prompt(2) is not None


def test_oldest_calls_are_forgotten() -> None:
    """The budget is of bytes: what is large goes as what is many."""
    calls = KnownCalls(Reader(), room=Room(known_bytes=5 * _known(0).size_bytes))
    for line in range(8):
        calls.add(line, _known(line), _prompt("text"), 10)
    assert [line for line in range(8) if calls.get(line) is not None] == [3, 4, 5, 6, 7]
    large = _known(8, span_chain=np.zeros(10_000, np.uint64))
    calls.add(8, large, _prompt("text"), 10)
    assert [line for line in range(9) if calls.get(line) is not None] == [8]


def test_size_counts_what_can_be_large() -> None:
    """Digests of many spans, and the values of parameters: a schema may be as long as a prompt."""
    plain = _known(1)
    assert plain.size_bytes == 1_000 + 16
    spans = _known(1, span_chain=np.zeros(500, np.uint64), span_bytes=np.zeros(500, np.int64))
    assert spans.size_bytes == 1_000 + 8_000
    key = Key(("/response_format",), "response_format", Section.TOOLS)
    schema = _known(1, keys=(KeyValue(key, "/response_format", b"x" * 70_000),))
    assert schema.size_bytes == 1_000 + 16 + 70_000


def test_calls_with_large_parameters_are_forgotten_sooner() -> None:
    """A schema in every call does not make the memory grow beyond its budget."""
    key = Key(("/response_format",), "response_format", Section.TOOLS)
    calls = KnownCalls(Reader(), room=Room(known_bytes=100_000))
    for line in range(10):
        value = KeyValue(key, "/response_format", b"x" * 30_000)
        calls.add(line, _known(line, keys=(value,)), _prompt("text"), 10)
    assert [line for line in range(10) if calls.get(line) is not None] == [7, 8, 9]
