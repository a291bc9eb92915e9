import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.trace.lengths import LengthCounts


@given(st.lists(st.integers(0, 50) | st.integers(0, 2**48), min_size=1))
def test_figures_are_those_of_the_whole_list(lengths: list[int]) -> None:
    """Sums exactly, percentiles as numpy's."""
    counts = LengthCounts()
    for length in lengths:
        counts.add(length)
    found = counts.figures()
    assert found is not None
    assert (found.known, found.total, found.max) == (len(lengths), sum(lengths), max(lengths))
    assert found.mean == sum(lengths) / len(lengths)
    assert found.p50 == pytest.approx(np.percentile(lengths, 50), rel=1e-12)
    assert found.p90 == pytest.approx(np.percentile(lengths, 90), rel=1e-12)


def test_no_lengths_have_no_figures() -> None:
    """None, not zeros."""
    assert LengthCounts().figures() is None
