"""The places at which one span differs from another."""

import pytest

from stemcache.trace.divergence.change import ChangeKind
from stemcache.trace.divergence.inside import inside, utf8_bytes
from stemcache.trace.spans.span import Span
from tests.trace.divergence.prompts import prompt


def text(content: str) -> Span:
    """A block of the system prompt."""
    return prompt([content]).spans[0]


@pytest.mark.parametrize(
    ("content", "size"),
    [("", 0), ("abc", 3), ("äß", 4), ("日本", 6), ("\U0001f600", 4), ("\ud800", 3)],
)
def test_length_in_utf_8(content: str, size: int) -> None:
    """Half a surrogate pair, which has none, counts as three bytes."""
    assert utf8_bytes(content) == size


def test_places_cut_up_what_is_shared() -> None:
    """Between them, and behind the last."""
    gap = "-" + "0123456789" * 20 + "-"
    found = inside(text(f"a{gap}b{gap}c."), text(f"x{gap}y{gap}z."))
    assert [place.shared_bytes for place in found.places] == [0, len(gap), len(gap)]
    assert [place.char for place in found.places] == [0, len(gap) + 1, 2 * len(gap) + 2]
    assert found.tail_bytes == 1


def test_more_places_than_the_most_are_told_by_the_last() -> None:
    """What is shared behind it still counts."""
    lines = [f"{i} {'abcdefghij' * 20}" for i in range(200)]
    old, new = "\n".join(lines), "\n".join("!" * (i % 2) + line for i, line in enumerate(lines))
    found = inside(text(old), text(new))
    assert len(found.places) == 64
    assert sum(place.shared_bytes for place in found.places) + found.tail_bytes == len(old)


def test_all_from_first_to_last_can_be_one_place() -> None:
    """For texts that are no versions of each other."""
    gap = "0123456789" * 20
    found = inside(text(f"a{gap}b"), text(f"x{gap}y"), first_only=True)
    assert [place.char for place in found.places] == [0]
    assert found.tail_bytes == 0


def test_a_text_that_goes_on_is_extended() -> None:
    """From its end."""
    found = inside(text("One."), text("One. Two."))
    (place,) = found.places
    assert (place.kind, place.char, place.shared_bytes) == (ChangeKind.EXTENDED, 4, 4)
    assert (found.tail_bytes, found.mended) == (0, False)
