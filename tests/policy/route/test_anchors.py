"""Which beginning of a prompt gateways hash by."""

from stemcache.policy.route.anchors import Anchors


def prompts(anchors: Anchors, requests: int, *, now_s: float = 0.0) -> None:
    """All share 1 and 2; a fifth each shares 10 to 14; then each is its own."""
    for number in range(requests):
        anchors.seen([1, 2, 10 + number % 5, 1000 + number], 500, now_s=now_s)


def test_what_all_share_is_not_an_anchor_and_what_a_seat_can_take_is() -> None:
    """Four seats can take a fifth each; eight cannot."""
    anchors = Anchors()
    prompts(anchors, 500)

    assert anchors.anchor([1, 2, 11, 77], seats=4) == 11
    assert anchors.anchor([1, 2, 11, 77], seats=8) == 77


def test_the_deepest_is_taken_where_all_are_shared_too_much() -> None:
    """There is nothing else to hash by."""
    anchors = Anchors()
    prompts(anchors, 500)

    assert anchors.anchor([1, 2], seats=4) == 2


def test_one_seat_can_take_everything() -> None:
    """The shallowest beginning will do."""
    anchors = Anchors()
    prompts(anchors, 500)

    assert anchors.anchor([1, 2, 11, 77], seats=1) == 1


def test_a_prompt_without_whole_units_has_no_anchor() -> None:
    """Nothing to hash by is a key too, the same in every gateway."""
    assert Anchors().anchor([], seats=4) == 0


def test_the_first_prompt_is_not_all_of_the_traffic() -> None:
    """Beginnings seen once are not taken for what everybody shares."""
    anchors = Anchors()
    anchors.seen([5, 6, 7], 100, now_s=0.0)

    assert anchors.anchor([5, 6, 7], seats=8) == 5


def test_what_was_shared_long_ago_is_forgotten() -> None:
    """Another system prompt took its place an hour since."""
    anchors = Anchors()
    prompts(anchors, 500)
    for number in range(500):
        anchors.seen([9, 90 + number], 100, now_s=3600.0)

    assert anchors.anchor([1, 2, 11], seats=4) == 1
    assert anchors.anchor([9, 333], seats=4) == 333


def test_years_do_not_overflow() -> None:
    """Weights that grow are scaled back."""
    anchors = Anchors()
    for year in range(60):
        prompts(anchors, 50, now_s=year * 31_536_000.0)
        assert anchors.anchor([1, 2, 11, 77], seats=4) in {11, 77}
    assert anchors.anchor([1, 2, 11, 77], seats=1) == 1


def test_memory_is_bounded_and_what_is_hot_stays() -> None:
    """A million prompts that come once push out one another."""
    anchors = Anchors(most_keys=100)
    prompts(anchors, 5000)

    assert 50 <= len(anchors) <= 100
    assert anchors.anchor([1, 2, 11, 77], seats=4) == 11


def test_of_the_beginnings_seen_last_none_is_forgotten() -> None:
    """Half of what may be kept; of those before, all go at once."""
    anchors = Anchors(most_keys=100)
    for _ in range(90):
        anchors.seen([5], 100, now_s=0.0)
    for number in range(49):
        anchors.seen([1000 + number], 100, now_s=0.0)
        assert anchors.anchor([5, 77], seats=4) == 77
    for number in range(60):
        anchors.seen([2000 + number], 100, now_s=0.0)
        assert len(anchors) <= 100
    assert anchors.anchor([5, 77], seats=4) == 5


def test_two_gateways_that_see_halves_of_the_traffic_agree() -> None:
    """But for beginnings that are just about a seat's part."""
    one, other = Anchors(), Anchors()
    for number in range(1000):
        rungs = [1, 2, 10 + number * 7 % 11, 1000 + number]
        (one, other)[number % 2].seen(rungs, 500, now_s=number / 10)

    chains = [[1, 2, 10 + group, 99] for group in range(11)]
    assert [one.anchor(chain, seats=4) for chain in chains] == [
        other.anchor(chain, seats=4) for chain in chains
    ]
