from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.errors import UsageError
from stemcache.prompt.marks.placement import Placed
from stemcache.prompt.render.marks import Marks
from stemcache.wire.api import Api
from tests.prompt.rendering import laid, marks, user

PROMPT = laid(user("a", "b", "c", "d"))


def test_a_mark_is_taken_once_behind_its_piece() -> None:
    """And then nothing is left."""
    made = Marks(PROMPT, marks(1, (3, "1h")), range(4))
    assert made.take(1) is None
    assert made.take(0) == Placed(1)
    assert made.take(2) == Placed(3, "1h")
    assert made.take(2) is None
    made.done(Api.MESSAGES)


def test_a_mark_behind_what_is_not_sent_stands_behind_what_is_before_it() -> None:
    """Where two meet, the first stays: longer lifetimes stand first."""
    made = Marks(PROMPT, marks((1, "1h"), (3, "5m")), [0, 3])
    assert made.take(0) == Placed(1, "1h")
    made.done(Api.MESSAGES)


def test_a_mark_that_nobody_took_is_an_error() -> None:
    """It would be lost without a word."""
    with pytest.raises(UsageError, match="behind the Text in message 0, where converse lets none"):
        Marks(PROMPT, marks(2), range(4)).done(Api.CONVERSE)


@pytest.mark.parametrize(
    ("placed", "message"),
    [
        ((0,), "at boundary 0 stands behind one at 0, among 4 pieces"),
        ((5,), "boundaries rise from 1 to the number of pieces"),
        ((2, 2), "at boundary 2 stands behind one at 2"),
        ((3, 1), "at boundary 1 stands behind one at 3"),
    ],
)
def test_boundaries_rise_within_the_prompt(placed: tuple[int, ...], message: str) -> None:
    """As a placement promises."""
    with pytest.raises(UsageError, match=message):
        Marks(PROMPT, marks(*placed), range(4))


def test_a_mark_before_all_that_is_sent_is_an_error() -> None:
    """There is no block that could have it."""
    with pytest.raises(UsageError, match="at boundary 1 has nothing before it"):
        Marks(PROMPT, marks(1), [1, 2])


@given(st.sets(st.integers(0, 3), min_size=1), st.sets(st.integers(1, 4)))
def test_marks_stand_where_a_walk_over_the_pieces_puts_them(
    sent: set[int], boundaries: set[int]
) -> None:
    """The same as going back from each boundary to a piece that is sent, one by one."""
    expected: dict[int, Any] = {}
    lost = False
    for boundary in sorted(boundaries):
        place = boundary - 1
        while place >= 0 and place not in sent:
            place -= 1
        lost = lost or place < 0
        expected.setdefault(place, Placed(boundary))
    if lost:
        with pytest.raises(UsageError, match="nothing before it"):
            Marks(PROMPT, marks(*sorted(boundaries)), sent)
        return
    made = Marks(PROMPT, marks(*sorted(boundaries)), sent)
    assert {place: made.take(place) for place in sent} == {
        place: expected.get(place) for place in sent
    }
