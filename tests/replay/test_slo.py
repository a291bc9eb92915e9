import pytest

from stemcache.errors import UsageError
from stemcache.replay.outcome import UNFINISHED
from stemcache.replay.slo import Slo, goodput, parse_slo
from tests.replay.made import outcome


def test_bounds_are_read_with_their_units() -> None:
    """Seconds where none is given."""
    assert parse_slo("ttft=500ms, itl=50ms,tpot=0.5,e2e=10s").bounds_s == {
        "ttft": 0.5,
        "itl": 0.05,
        "tpot": 0.5,
        "e2e": 10.0,
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' of --slo is no bound; write ttft=500ms,itl=50ms,e2e=10s"),
        ("ttft", "'ttft' of --slo is no bound"),
        ("ttft=-1", "'ttft=-1' of --slo is no bound"),
        ("ttft=1min", "'ttft=1min' of --slo is no bound"),
        ("tttf=1", "unknown bound 'tttf' from --slo; did you mean 'ttft'?"),
        ("e2e=1,e2e=2", "--slo bounds e2e twice; leave one out"),
    ],
)
def test_what_is_no_bound_is_refused(text: str, message: str) -> None:
    """With the part that is not understood."""
    with pytest.raises(UsageError) as caught:
        parse_slo(text)
    assert message in str(caught.value)


def test_every_bound_must_be_kept() -> None:
    """The gap within an answer is its mean; what cannot be measured is no offence."""
    slo = Slo({"ttft": 0.2, "itl": 0.1, "tpot": 0.3, "e2e": 1.0})
    assert slo.missed(outcome(ttft=0.2, e2e=1.0, gaps_s=(0.05, 0.14))) == ()
    assert slo.missed(outcome(ttft=0.21, e2e=1.01, gaps_s=(0.3, 0.1))) == ("ttft", "itl", "e2e")
    assert slo.missed(outcome(ttft=0.1, e2e=0.9, output=2)) == ("tpot",)
    assert slo.missed(outcome(ttft=0.1, e2e=0.9, output=None)) == ()


def test_goodput_counts_failures_against_the_target_and_not_those_given_up() -> None:
    """A request that failed fast is not well served."""
    outcomes = [
        outcome(0, ttft=0.1),
        outcome(1, ttft=0.5),
        outcome(2, ttft=None, error="refused"),
        outcome(3, ttft=None, error=UNFINISHED),
    ]
    found = goodput(outcomes, Slo({"ttft": 0.2}), window_s=2.0)
    assert (found.kept, found.of) == (1, 3)
    assert found.share == pytest.approx(1 / 3)
    assert (found.requests_per_s, found.missed) == (0.5, {"ttft": 1})
    assert goodput([], Slo({}), window_s=0.0).share == 0.0
