"""Requests made ready."""

from stemcache.lab.fleet.job import jobs
from stemcache.lab.visit import visits
from tests.lab.fleet.fleets import made, request


def test_keys_are_equal_where_beginnings_are() -> None:
    """Ids are chained already; each stands for all before it."""
    one, two = made(request(0, 1, 2, 3), request(0, 1, 2, 4))
    assert one.all_keys()[:2] == two.all_keys()[:2]
    assert one.key(2) != two.key(2)
    assert one.all_keys() == [one.key(at) for at in range(3)]


def test_scopes_have_keys_of_their_own() -> None:
    """The same ids in two sessions are different blocks, and chains differ as well."""
    one, two = made(request(0, 1, 2, scope="a"), request(0, 1, 2, scope="b"))
    assert not set(one.all_keys()) & set(two.all_keys())
    assert one.head != two.head


def test_neighbouring_ids_have_keys_far_apart() -> None:
    """64 small numbers in a row hardly meet in the top ten bits of their keys."""
    (one,) = made(request(0, *range(64)))
    tops = {key >> 54 for key in one.all_keys()}
    assert len(tops) > 55


def test_rungs_are_beginnings_of_doubling_length() -> None:
    """1, 2, 4 … blocks; nothing for an empty prompt."""
    (one,) = made(request(0, *range(9)))
    assert one.rungs == [one.key(at) for at in (0, 1, 3, 7)]
    (empty,) = made(request(0))
    assert (empty.rungs, empty.head) == ([], 0)


def test_the_head_is_the_first_256_tokens_rounded_up_to_a_block() -> None:
    """3 blocks of 100; the last one of a shorter prompt."""
    long, short = made(request(0, 1, 2, 3, 4), request(0, 1, 2))
    assert long.head == long.key(2)
    assert short.head == short.key(1)


def test_a_partial_last_block_has_fewer_tokens() -> None:
    """250 tokens in three blocks of 100."""
    (one,) = made(request(0, 1, 2, 3, tokens=250))
    assert [one.tokens(blocks) for blocks in range(4)] == [0, 100, 200, 250]


def test_odd_names_and_ids_are_no_trouble() -> None:
    """A scope may have lone surrogates, an id any 64 bits."""
    (one,) = jobs(visits([request(0, 1, -(2**63), 2**63 - 1, scope="\ud800")]))
    assert one.all_keys() == [one.key(0), one.key(1), one.key(2)]
