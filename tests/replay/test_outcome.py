import pytest

from stemcache.replay.outcome import Usage
from tests.replay.made import outcome


def test_latencies_count_from_when_a_request_was_due() -> None:
    """Not from when it was sent: being late is the user's time too."""
    late = outcome(due=10.0, sent_s=10.4, first_token_s=11.0, last_token_s=12.0, end_s=12.5)
    assert late.lag_s == pytest.approx(0.4)
    assert late.ttft_s == pytest.approx(1.0)
    assert late.e2e_s == pytest.approx(2.5)


def test_a_token_after_the_first_takes_its_share_of_the_rest() -> None:
    """Nothing can be said of fewer than two, or of an unknown number."""
    five = outcome(output=5, first_token_s=1.0, last_token_s=3.0)
    assert five.tpot_s == pytest.approx(0.5)
    for tokens in (None, 0, 1):
        assert outcome(output=tokens, first_token_s=1.0, last_token_s=3.0).tpot_s is None


def test_what_did_not_happen_has_no_time() -> None:
    """And no latency is made up for it."""
    none = outcome(ttft=None, sent_s=None, error="refused")
    assert (none.ttft_s, none.e2e_s, none.lag_s, none.tpot_s) == (None, None, None, None)


@pytest.mark.parametrize(
    ("usage", "impossible"),
    [
        (Usage(10, 11), True),
        (Usage(10, 0, 11), True),
        (Usage(10, 10, 10), False),
        (Usage(None, 11), False),
        (Usage(0, 0), False),
    ],
)
def test_no_more_can_be_cached_than_was_asked(usage: Usage, *, impossible: bool) -> None:
    """Where both are known."""
    assert usage.impossible == impossible


@pytest.mark.parametrize(
    ("usage", "share"),
    [
        (Usage(10, 4), 0.4),
        (Usage(10, 0), 0.0),
        (Usage(10, None), None),
        (Usage(None, 4), None),
        (Usage(0, 0), None),
    ],
)
def test_a_share_needs_both_numbers(usage: Usage, share: float | None) -> None:
    """Unknown is not none."""
    assert outcome(usage=usage).cached_share == share
