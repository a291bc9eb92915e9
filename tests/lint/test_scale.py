from hypothesis import given
from hypothesis import strategies as st

from stemcache.lint.scale import Scale, Scales


def test_whole_is_exact_and_parts_are_in_proportion() -> None:
    """Reported tokens are spread evenly over the bytes."""
    scale = Scale(1_000, 250, reported=True)
    assert [scale.tokens(at) for at in (0, 100, 500, 1_000, 2_000)] == [0, 25, 125, 250, 250]


def test_known_point_in_between_is_kept() -> None:
    """What the parent reported for its own bytes is what they come to in the child."""
    scale = Scale(1_000, 250, reported=True).with_knot(600, 200)
    assert [scale.tokens(at) for at in (300, 600, 800, 1_000)] == [100, 200, 225, 250]


def test_point_that_cannot_be_right_is_ignored() -> None:
    """A parent that reports more tokens than the child has for more bytes tells nothing."""
    scale = Scale(1_000, 250, reported=True)
    assert scale.with_knot(600, 300) is scale
    assert scale.with_knot(1_000, 200) is scale
    assert scale.with_knot(600, 0) is scale


def test_hidden_tokens_stand_before_the_first_byte() -> None:
    """Tools and system prompt that a transcript lacks are in front of all that it shows."""
    scale = Scales().of("m", 4_000, 11_000, whole=False)
    assert scale.tokens(0) == 10_000
    assert scale.tokens(2_000) == 10_500
    assert scale.tokens(4_000) == 11_000


def test_transcript_with_fewer_tokens_than_its_text_has_nothing_hidden() -> None:
    """Text that reads denser than four bytes a token does not make a negative rest."""
    assert Scales().of("m", 40_000, 8_000, whole=False).tokens(0) == 0


def test_ratio_of_a_model_is_learned_from_calls_that_report() -> None:
    """A call without usage is estimated as its model's calls before it."""
    scales = Scales()
    assert scales.of("m", 4_000, None, whole=True).total_tokens == 1_000
    scales.of("m", 40_000, 20_000, whole=True)
    assert scales.of("m", 4_000, None, whole=True).total_tokens == 2_000
    assert scales.of("other", 4_000, None, whole=True).total_tokens == 1_000


def test_ratio_beyond_belief_is_bounded() -> None:
    """A provider that reports one token for a book does not make later prompts vanish."""
    scales = Scales()
    scales.of("m", 400_000, 1, whole=True)
    assert scales.of("m", 16_000, None, whole=True).total_tokens == 1_000


@given(
    st.integers(1, 10**6),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.lists(st.integers(-5, 2 * 10**6), min_size=2, max_size=20),
)
def test_tokens_never_fall(
    total_bytes: int, total_tokens: int, knot_bytes: int, knot_tokens: int, places: list[int]
) -> None:
    """Whatever the knot, a longer prefix has no fewer tokens, and none has more than the whole."""
    scale = Scale(total_bytes, total_tokens, reported=True).with_knot(knot_bytes, knot_tokens)
    found = [scale.tokens(place) for place in sorted(places)]
    assert found == sorted(found)
    assert all(0 <= tokens <= total_tokens for tokens in found)
