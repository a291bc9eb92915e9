"""The table of entries: two generations, and what using an entry does to it."""

from math import inf, isnan, nan

import pytest

from stemcache.provider.cache.entries import Entries, Entry

NEW = Entry(started_s=0.0, readable_s=-inf, ttl=0, ends_prompt=False)


def at(started_s: float, *, readable_s: float = -inf, ttl: int = 0, ended: bool = False) -> Entry:
    """An entry as a request at that time makes it."""
    return Entry(started_s=started_s, readable_s=readable_s, ttl=ttl, ends_prompt=ended)


def use(entries: Entries, made: Entry, *, refreshes: bool = True, key: int = 7) -> Entry | None:
    """One request uses one entry of ten seconds or a hundred; what it is then."""
    now_s = None if isnan(made.started_s) else made.started_s
    entries.use([key], made, now_s=now_s, lasts_s=[10.0, 100.0], refreshes=refreshes)
    return entries.find(key)


def test_an_entry_is_found_as_it_was_put() -> None:
    """All four fields, and none for another key."""
    entries = Entries(most_entries=10)
    entries.put(7, at(1.0, readable_s=2.0, ttl=127, ended=True))
    assert entries.find(7) == at(1.0, readable_s=2.0, ttl=127, ended=True)
    assert entries.find(8) is None
    assert (7 in entries, 8 in entries) == (True, False)


def test_putting_again_replaces() -> None:
    """A key has one entry."""
    entries = Entries(most_entries=10)
    entries.put(7, at(1.0, ended=True))
    entries.put(7, at(2.0))
    assert (entries.find(7), len(entries)) == (at(2.0), 1)


def test_of_many_entries_the_latest_half_is_always_there() -> None:
    """And never more than all that there is room for."""
    entries = Entries(most_entries=100)
    for key in range(1_000):
        entries.put(key, NEW)
        assert len(entries) <= 100
        assert all(late in entries for late in range(max(key - 49, 0), key + 1))
    assert 800 not in entries


def test_what_is_used_is_not_forgotten() -> None:
    """A key that comes back every forty others stays for good."""
    entries = Entries(most_entries=100)
    entries.put(7, NEW)
    for key in range(100, 2_000):
        entries.put(key, NEW)
        if key % 40 == 0:
            assert use(entries, at(1.0)) == at(1.0)


def test_looking_keeps_nothing_alive() -> None:
    """A find is no use."""
    entries = Entries(most_entries=10)
    entries.put(7, NEW)
    for key in range(100, 110):
        entries.put(key, NEW)
        entries.find(7)
    assert 7 not in entries


def test_a_use_makes_an_entry_that_was_not_there() -> None:
    """As the request makes it."""
    assert use(Entries(most_entries=10), at(3.0, readable_s=4.0, ttl=1)) == at(
        3.0, readable_s=4.0, ttl=1
    )


def test_a_use_starts_the_clock_anew_and_keeps_the_lifetime() -> None:
    """An entry of a hundred seconds that is read with a mark of ten stays one of a hundred."""
    entries = Entries(most_entries=10)
    use(entries, at(0.0, ttl=1))
    assert use(entries, at(50.0, ttl=0)) == at(50.0, ttl=1)


def test_where_reads_do_not_refresh_the_clock_stays() -> None:
    """Only the time of writing counts."""
    entries = Entries(most_entries=10)
    use(entries, at(0.0))
    assert use(entries, at(9.0), refreshes=False) == at(0.0)


def test_an_entry_that_is_still_being_written_is_written_twice() -> None:
    """Its clock starts anew even so, and the earlier of both can be read first."""
    entries = Entries(most_entries=10)
    use(entries, at(0.0, readable_s=5.0), refreshes=False)
    assert use(entries, at(1.0, readable_s=3.0), refreshes=False) == at(1.0, readable_s=3.0)


def test_an_expired_entry_is_made_anew() -> None:
    """Its lifetime, its readable time and its answer go with it; at its last second it is there."""
    entries = Entries(most_entries=10)
    use(entries, at(0.0, ended=True))
    assert use(entries, at(10.0, readable_s=11.0)) == at(10.0, ended=True)
    assert use(entries, at(20.1, readable_s=21.0, ttl=1)) == at(20.1, readable_s=21.0, ttl=1)


def test_a_clock_never_runs_backwards() -> None:
    """Requests that are recorded out of order do not make an entry older."""
    entries = Entries(most_entries=10)
    use(entries, at(5.0))
    assert use(entries, at(3.0)) == at(5.0)


def test_an_unknown_time_makes_an_entry_that_does_not_expire() -> None:
    """Until a request at a known time uses it."""
    entries = Entries(most_entries=10)
    use(entries, at(0.0))
    unknown = use(entries, at(nan))
    assert unknown is not None
    assert isnan(unknown.started_s)
    assert use(entries, at(1e9)) == at(1e9)


def test_the_end_of_a_prompt_is_remembered() -> None:
    """A later use that ends elsewhere does not take it back."""
    entries = Entries(most_entries=10)
    use(entries, at(0.0))
    use(entries, at(1.0, ended=True))
    assert use(entries, at(2.0)) == at(2.0, ended=True)


def test_a_use_of_an_entry_in_the_old_generation_moves_it() -> None:
    """Even where the move itself turns the generations."""
    entries = Entries(most_entries=4)
    for key in (7, 8, 9, 10):
        entries.put(key, NEW)
    assert use(entries, at(1.0)) == at(1.0)
    assert 9 in entries
    assert 8 not in entries


def test_room_for_a_single_entry_is_refused() -> None:
    """Two generations need one entry each."""
    with pytest.raises(ValueError, match="most_entries is 1; a cache needs room for at least 2"):
        Entries(most_entries=1)
