"""Events: facts about what entered and what left, enough to follow an index from outside."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stemcache.core.events import Event, Listener, Removed, Stored, stored_event
from stemcache.core.hash_index import HashIndex
from stemcache.core.hashing import stem_keys
from stemcache.core.index import PrefixIndex
from stemcache.core.radix_index import RadixIndex
from stemcache.core.tokens import Chain
from stemcache.policy.evict.lru import Lru

Make = Callable[[Listener], PrefixIndex[int]]


def table(listener: Listener) -> PrefixIndex[int]:
    """A table of two-token blocks."""
    return HashIndex[int, int](block_size=2, policy=Lru(), listener=listener)


def tree(listener: Listener) -> PrefixIndex[int]:
    """A tree of two-token blocks."""
    return RadixIndex[int, int](block_size=2, policy=Lru(), listener=listener)


BOTH = pytest.mark.parametrize("make", [table, tree])


def chain(*tokens: int, **options: Any) -> Chain:
    """Two tokens a block, one namespace."""
    return Chain(tokens, block_size=2, namespace=b"n", **options)


def test_a_stored_event_tells_all_that_keys_are_made_of() -> None:
    """From an event alone its reader computes the keys again."""
    whole = chain(*range(8), extras={2: b"salt"})
    event = stored_event(whole, 1, 4)
    extras = {at + 1: extra for at, extra in enumerate(event.extras) if extra is not None}

    assert np.arange(2, 8, dtype="<u4").tobytes() == event.tokens
    assert (None, b"salt", None) == event.extras
    assert whole.keys(1)[0] == event.parent
    assert list(event.keys) == stem_keys(event.parent, event.tokens, event.block_size, extras, 1)


def test_the_first_block_of_a_chain_has_no_parent() -> None:
    """None stands for the start, so that it cannot be taken for a key."""
    assert stored_event(chain(1, 2), 0, 1).parent is None


@BOTH
def test_an_insert_tells_what_it_added(make: Make) -> None:
    """Blocks that existed already are not told again."""
    heard: list[Event] = []
    index = make(heard.append)
    short, long = chain(1, 2), chain(1, 2, 3, 4, 5, 6)
    index.insert(short, [0], now=0.0)
    index.insert(long, [10, 11, 12], now=1.0)
    index.insert(long, [20, 21, 22], now=2.0)

    assert [stored_event(short, 0, 1), stored_event(long, 1, 3)] == heard


@BOTH
def test_an_eviction_tells_followers_first(make: Make) -> None:
    """A listener never holds a block without its predecessor."""
    heard: list[Event] = []
    index = make(heard.append)
    whole = chain(1, 2, 3, 4, 5, 6)
    index.insert(whole, [0, 1, 2], now=0.0)
    heard.clear()
    index.evict(2)
    index.evict(5)
    index.evict(5)
    a, b, c = whole.keys(3)

    assert [Removed((c, b)), Removed((a,))] == heard


@BOTH
def test_a_removal_by_name_is_told_like_an_eviction(make: Make) -> None:
    """Every path on which blocks leave is heard."""
    heard: list[Event] = []
    index = make(heard.append)
    whole = chain(1, 2, 3, 4, 5, 6)
    index.insert(whole, [0, 1, 2], now=0.0)
    heard.clear()
    index.remove(chain(1, 2, 3, 4))
    index.remove(chain(9, 9))
    index.remove(chain())
    a, b, c = whole.keys(3)

    assert [Removed((c, b)), Removed((a,))] == heard


@BOTH
def test_looking_and_using_are_not_told(make: Make) -> None:
    """Events are about publication: matches, pins and releases are none."""
    heard: list[Event] = []
    index = make(heard.append)
    index.insert(chain(1, 2), [0], now=0.0)
    heard.clear()
    index.match(chain(1, 2))
    index.pin(chain(1, 2), now=1.0).release()

    assert [] == heard


@BOTH
def test_a_listener_is_called_after_the_change(make: Make) -> None:
    """What it hears is already so."""
    sizes: list[tuple[type[Event], int]] = []

    def listener(event: Event) -> None:
        sizes.append((type(event), len(index)))

    index = make(listener)
    index.insert(chain(1, 2, 3, 4), [0, 1], now=0.0)
    index.evict(1)

    assert [(Stored, 2), (Removed, 1)] == sizes
