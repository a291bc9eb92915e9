"""The call that a request goes on from, by the end of its prompt and one answer behind it."""

from collections.abc import Sequence
from typing import Any

import pytest

from stemcache.lint.ends import Ends
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.sketch import sketch
from stemcache.wire.api import Api

ROLES = {"s": "system", "u": "user", "a": "assistant", "t": "tool"}


def _body(turns: str) -> dict[str, Any]:
    """`s u1 a1 u2`: who speaks, and a name for what is said."""
    messages = [{"role": ROLES[turn[0]], "content": turn} for turn in turns.split()]
    return {"messages": messages}


def _add(ends: Ends, turns: str, number: int, scope: str = "") -> None:
    ends.add(sketch(prompt_of(_body(turns), Api.CHAT)), scope=scope, number=number)


def _find(ends: Ends, turns: str, scope: str = "") -> int | None:
    prompt = prompt_of(_body(turns), Api.CHAT)
    return ends.find(prompt, sketch(prompt), scope=scope)


def _ends(*earlier: str, most: int = 100_000) -> Ends:
    ends = Ends(most=most)
    for number, turns in enumerate(earlier):
        _add(ends, turns, number)
    return ends


def test_nothing_is_found_among_nothing() -> None:
    """A first call goes on from none."""
    assert _find(_ends(), "s u1") is None


@pytest.mark.parametrize(
    ("request_turns", "parent"),
    [
        ("s u1 a1 u2", 0),
        ("s u1 a1", 0),
        ("s u1", 0),
        ("s u1 a1 a1b u2 u3", 0),
        ("s u1 u2", 0),
        ("s u1 a1 t1 u2", 0),
        ("s u1 a1 u2 a2 u3", None),
        ("s u1x a1 u2", None),
        ("sx u1 a1 u2", None),
        ("s", None),
    ],
)
def test_one_answer_lies_behind_the_end(request_turns: str, parent: int | None) -> None:
    """One answer of however many messages, and whatever follows it; a second one is too many."""
    assert _find(_ends("s u1"), request_turns) == parent


def test_nearest_end_is_found() -> None:
    """Of a conversation's calls the latest is gone on from."""
    ends = _ends("s u1", "s u1 a1 u2", "s u1 a1 u2 a2 u3")
    assert _find(ends, "s u1 a1 u2 a2 u3 a3 u4") == 2
    assert _find(ends, "s u1 a1 u2 a2x u3") == 1
    assert _find(ends, "s u1 a1x u2") == 0


def test_skipped_turn_is_left_to_the_index() -> None:
    """Two answers behind the end: a call in between is missing from the log, or was edited."""
    assert _find(_ends("s u1"), "s u1 a1 u2 a2 u3") is None


def test_latest_of_equal_prompts_is_found() -> None:
    """What was sent twice was refreshed by the second."""
    assert _find(_ends("s u1", "s u9", "s u1"), "s u1 a1 u2") == 2


def test_scopes_are_apart() -> None:
    """Another tenant's call is nobody's parent."""
    ends = Ends()
    _add(ends, "s u1", 0, scope="one")
    assert _find(ends, "s u1 a1 u2", scope="other") is None
    assert _find(ends, "s u1 a1 u2", scope="one") == 0


def test_answer_of_many_blocks_is_one() -> None:
    """Text, calls and more calls of one turn, and their results behind."""
    use = [{"type": "tool_use", "id": f"t{i}", "name": "find", "input": {}} for i in range(3)]
    results = [{"type": "tool_result", "tool_use_id": f"t{i}", "content": "x"} for i in range(3)]
    first = {"messages": [{"role": "user", "content": "hi"}]}
    second: dict[str, Sequence[Any]] = {
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "text", "text": "so"}, *use]},
            {"role": "user", "content": results},
        ]
    }
    ends = Ends()
    ends.add(sketch(prompt_of(first, Api.MESSAGES)), scope="", number=4)
    prompt = prompt_of(second, Api.MESSAGES)
    assert ends.find(prompt, sketch(prompt), scope="") == 4


@pytest.mark.parametrize(("added", "parent"), [(255, 0), (256, None)])
def test_end_is_looked_for_so_far(added: int, parent: int | None) -> None:
    """A request that adds more than 255 blocks is left to the index."""
    behind = " ".join(f"u{i}" for i in range(2, 2 + added))
    assert _find(_ends("s u1"), f"s u1 {behind}") == parent


def test_ends_are_bounded() -> None:
    """The oldest are forgotten, and one that was seen again is not old."""
    ends = _ends("s u0", "s u1", "s u2", "s u0", "s u3", most=3)
    assert _find(ends, "s u0 a") == 3
    assert _find(ends, "s u1 a") is None
    assert _find(ends, "s u2 a") == 2
    assert _find(ends, "s u3 a") == 4
