"""When an entry is there."""

from math import inf, nan

import pytest

from stemcache.provider.cache.clock import State, state, ttl_number, ttl_of
from stemcache.provider.cache.entries import Entry
from stemcache.provider.rule import Ttl
from stemcache.provider.shape import Mark
from tests.provider.cache.prompts import ANTHROPIC, FIVE_MINUTES, ONE_HOUR, a_rule

LOOSE = a_rule("units", ttls=(Ttl("", 300.0, 3_600.0),))


@pytest.mark.parametrize(
    ("now_s", "expected"),
    [
        (0.0, State.RACING),
        (4.9, State.RACING),
        (5.0, State.FRESH),
        (300.0, State.FRESH),
        (300.1, State.DOUBTFUL),
        (3_600.0, State.DOUBTFUL),
        (3_600.1, State.EXPIRED),
        (-100.0, State.RACING),
        (None, State.FRESH),
        (nan, State.FRESH),
    ],
)
def test_an_entry_goes_from_racing_to_expired(now_s: float | None, expected: State) -> None:
    """Both ends of its lifetime belong to it; an unknown time is held against nobody."""
    entry = Entry(started_s=0.0, readable_s=5.0, ttl=0, ends_prompt=False)
    assert state(LOOSE, entry, now_s) is expected


def test_an_entry_that_expired_before_it_could_be_read_is_expired() -> None:
    """An answer that takes longer to begin than the lifetime leaves nothing."""
    entry = Entry(started_s=0.0, readable_s=9_000.0, ttl=0, ends_prompt=False)
    assert state(LOOSE, entry, 4_000.0) is State.EXPIRED


def test_where_no_lifetime_is_stated_nothing_expires() -> None:
    """However long ago."""
    entry = Entry(started_s=0.0, readable_s=-inf, ttl=0, ends_prompt=False)
    assert state(a_rule("units"), entry, 1e12) is State.FRESH


def test_an_entry_of_unknown_age_is_fresh() -> None:
    """Expiry needs evidence."""
    entry = Entry(started_s=nan, readable_s=-inf, ttl=0, ends_prompt=False)
    assert state(LOOSE, entry, 1e12) is State.FRESH


def test_a_mark_chooses_among_the_rules_lifetimes() -> None:
    """None, no mark and a name that the rule does not know are the default."""
    assert ttl_number(ANTHROPIC, Mark("1h")) == 1
    assert ttl_number(ANTHROPIC, Mark("5m")) == 0
    assert ttl_number(ANTHROPIC, Mark()) == 0
    assert ttl_number(ANTHROPIC, Mark("7d")) == 0
    assert ttl_number(ANTHROPIC, None) == 0
    assert ttl_of(ANTHROPIC, 0) == FIVE_MINUTES
    assert ttl_of(ANTHROPIC, 1) == ONE_HOUR
    assert ttl_of(a_rule("units"), 0) is None


def test_a_rule_of_more_lifetimes_than_a_byte_tells_apart_uses_the_first() -> None:
    """A user's file may say anything."""
    rule = a_rule("units", ttls=tuple(Ttl(f"{n}m", 60.0 * n, 60.0 * n) for n in range(500)))
    assert ttl_number(rule, Mark("126m")) == 126
    assert ttl_number(rule, Mark("127m")) == 0
