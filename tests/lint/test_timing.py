from hypothesis import given
from hypothesis import strategies as st

from stemcache.lint.timing import Evidence, labelled


def test_no_gap_has_no_label() -> None:
    """What was read in full needs no reason."""
    assert labelled(0, Evidence(expired_tokens=9), tolerance_tokens=0, reported=True) == []
    assert labelled(-5, Evidence(), tolerance_tokens=0, reported=True) == []


def test_gap_is_given_to_what_the_log_shows() -> None:
    """A gap as large as what expired is expired."""
    evidence = Evidence(expired_tokens=900)
    assert labelled(900, evidence, tolerance_tokens=10, reported=True) == [("expired", 900)]


def test_part_that_is_all_but_the_whole_is_the_whole() -> None:
    """An estimate that falls short by the tolerance leaves nothing over."""
    evidence = Evidence(raced_tokens=880)
    assert labelled(900, evidence, tolerance_tokens=64, reported=True) == [("raced", 900)]


def test_rest_beyond_the_tolerance_is_unexplained() -> None:
    """What no evidence covers is said to be unexplained, and never guessed."""
    evidence = Evidence(expired_tokens=300)
    assert labelled(900, evidence, tolerance_tokens=64, reported=True) == [
        ("expired", 300),
        ("unexplained", 600),
    ]


def test_rest_within_the_tolerance_is_rounding() -> None:
    """A few tokens are the estimate's."""
    assert labelled(50, Evidence(), tolerance_tokens=64, reported=True) == [("rounding", 50)]


def test_what_nobody_reported_is_never_unexplained() -> None:
    """A prediction cannot be at odds with itself."""
    assert labelled(900, Evidence(), tolerance_tokens=64, reported=False) == [("rounding", 900)]


def test_markers_without_effect_come_before_all_else() -> None:
    """Where usage shows that markers did nothing, time is not to blame."""
    evidence = Evidence(expired_tokens=900, dropped=True)
    assert labelled(900, evidence, tolerance_tokens=64, reported=True) == [("marker-dropped", 900)]


@given(
    gap=st.integers(1, 10**6),
    expired=st.integers(0, 10**6),
    raced=st.integers(0, 10**6),
    routed=st.integers(0, 10**6),
    tolerance=st.integers(0, 1_000),
    reported=st.booleans(),
)
def test_parts_add_up(
    gap: int, expired: int, raced: int, routed: int, tolerance: int, *, reported: bool
) -> None:
    """No token of a gap is left out or named twice."""
    evidence = Evidence(expired_tokens=expired, raced_tokens=raced, routed_tokens=routed)
    parts = labelled(gap, evidence, tolerance_tokens=tolerance, reported=reported)
    assert sum(tokens for _, tokens in parts) == gap
    assert all(tokens > 0 for _, tokens in parts)
    assert len({label for label, _ in parts}) == len(parts)
