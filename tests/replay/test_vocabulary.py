import pytest

from stemcache.replay.vocabulary import with_token_range


@pytest.mark.parametrize(
    ("end", "fits"),
    [(256, "0-255"), (2, "0-1"), (1999, "0-1998"), (2001, "1000-2000"), (151_642, "1000-30000")],
)
def test_a_range_that_fits_is_named(end: int, fits: str) -> None:
    """The last id is left out, and low ones where there are enough others."""
    message = f"it holds token 99999, and the vocabulary ends at {end}; check --token-range"
    assert with_token_range(message) == f"{message}; for instance --token-range {fits}"


@pytest.mark.parametrize("message", ["refused", "the vocabulary ends at 1", "vocabulary ends"])
def test_other_messages_stay_as_they_are(message: str) -> None:
    """Nothing is guessed."""
    assert with_token_range(message) == message
