"""The closed set of eviction policies, and what every one of them promises the index."""

from itertools import permutations

import pytest

from stemcache.core.index import Stamp
from stemcache.errors import UsageError
from stemcache.policy import evict

CHOICES = "(cost, fifo, lfu, lru, odds, priority, slru)"


def test_policies_have_the_names_users_give_them() -> None:
    """A policy's name is the word it is chosen by."""
    assert ("cost", "fifo", "lfu", "lru", "odds", "priority", "slru") == evict.NAMES
    assert list(evict.NAMES) == [evict.make(name).name for name in evict.NAMES]


def test_each_index_has_a_policy_of_its_own() -> None:
    """Two indexes never share what a policy has learnt."""
    assert all(evict.make(name) is not evict.make(name) for name in evict.NAMES)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "lruu",
            f"unknown policy 'lruu' from --eviction; did you mean 'lru'? {CHOICES}",
        ),
        ("arc-2", f"unknown policy 'arc-2' from --eviction; {CHOICES}"),
        ("", f"unknown policy '' from --eviction; {CHOICES}"),
    ],
)
def test_an_unknown_policy_is_refused_with_the_choices(name: str, message: str) -> None:
    """The nearest choice is named if one is near."""
    with pytest.raises(UsageError) as error:
        evict.make(name)

    assert message == str(error.value)


def test_the_error_says_where_the_name_came_from() -> None:
    """A file or a variable may have given it."""
    with pytest.raises(UsageError) as error:
        evict.make("LRU", source="stemcache.toml")

    assert f"unknown policy 'LRU' from stemcache.toml; {CHOICES}" == str(error.value)


@pytest.mark.parametrize("name", evict.NAMES)
def test_the_order_in_which_descendants_leave_does_not_matter(name: str) -> None:
    """A block inherits from several, in any order, to one state."""
    policy = evict.make(name)
    own = policy.inserted(Stamp(1, 0.0, 0))
    children = []
    for at in range(2, 6):
        child = policy.inserted(Stamp(at, 0.0, at % 3))
        children.append(policy.used(child, Stamp(10 - at, 0.0, 0)) if at % 2 else child)
        policy.evicted(child)
    outcomes = set()
    for order in permutations(children):
        state = own
        for child in order:
            state = policy.inherited(state, child)
        outcomes.add(state)

    assert 1 == len(outcomes)


@pytest.mark.parametrize("name", evict.NAMES)
def test_inheriting_one_after_the_other_is_inheriting_their_union(name: str) -> None:
    """What a child inherited before it left is passed on as if each had passed it itself."""
    policy = evict.make(name)
    own, child, grandchild = (policy.inserted(Stamp(seq, 0.0, seq)) for seq in (1, 2, 3))
    used = policy.used(grandchild, Stamp(4, 0.0, 0))
    through = policy.inherited(own, policy.inherited(child, used))
    apart = policy.inherited(policy.inherited(own, child), used)

    assert through == apart


@pytest.mark.parametrize("name", evict.NAMES)
def test_a_rank_depends_on_the_state_alone(name: str) -> None:
    """Ranks change in no other way than by the hooks that give a new state."""
    policy = evict.make(name)
    state = policy.used(policy.inserted(Stamp(1, 0.0, 2)), Stamp(2, 9.0, 1))
    before = policy.rank(state)
    for seq in range(3, 9):
        other = policy.used(policy.inserted(Stamp(seq, 0.0, 0)), Stamp(seq, 0.0, 0))
        policy.evicted(other)

    assert before == policy.rank(state)
