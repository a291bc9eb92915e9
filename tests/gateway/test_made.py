"""Which replica made which response, and for whom."""

from stemcache.gateway.made import Responses


def test_a_response_is_found_by_who_made_it_alone() -> None:
    """Another tenant, or who has no key, finds nothing."""
    made = Responses()
    made.add("resp_1", "b", "acme")
    made.add("resp_2", "a", None)
    assert made.replica_of("resp_1", "acme") == "b"
    assert made.replica_of("resp_1", "zeta") is None
    assert made.replica_of("resp_1", None) is None
    assert made.replica_of("resp_2", None) == "a"
    assert made.replica_of("resp_2", "acme") is None
    assert made.replica_of("resp_3", "acme") is None


def test_an_id_that_is_taken_stays_whose_it_is() -> None:
    """Clients of some engines choose ids; nobody comes by another's so."""
    made = Responses()
    made.add("resp_1", "b", "acme")
    made.add("resp_1", "a", "zeta")
    assert made.replica_of("resp_1", "acme") == "b"
    assert made.replica_of("resp_1", "zeta") is None
    made.add("resp_1", "a", "acme")
    assert made.replica_of("resp_1", "acme") == "a"


def test_the_oldest_are_forgotten() -> None:
    """One that is made again is young again."""
    made = Responses(most=3)
    for name in ("a", "b", "c", "a", "d"):
        made.add(name, "r", "t")
    assert list(made) == ["c", "a", "d"]
    assert len(made) == 3


def test_an_id_of_any_length_takes_no_memory() -> None:
    """Whoever answers chooses it."""
    made = Responses()
    made.add("x" * 129, "r", None)
    assert len(made) == 0
    made.add("x" * 128, "r", None)
    assert len(made) == 1
