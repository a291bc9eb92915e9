import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.text.stop import StopMatcher

TEXT = st.text("ab#", max_size=30)


def run(stops: list[str], pieces: list[str]) -> tuple[str, bool]:
    """All text that is given out, and whether a stop string ended it."""
    matcher = StopMatcher(stops)
    shown = ""
    for piece in pieces:
        stopped = matcher.feed(piece)
        shown += stopped.text
        if stopped.found:
            return shown, True
    return shown + matcher.finish(), False


def expected(stops: list[str], text: str) -> tuple[str, bool]:
    """The dumb twin: look at every beginning of the text."""
    for end in range(1, len(text) + 1):
        here = [stop for stop in stops if text[:end].endswith(stop)]
        if here:
            return text[: end - max(map(len, here))], True
    return text, False


@given(st.lists(st.text("ab#", min_size=1, max_size=5), max_size=4), TEXT, st.data())
def test_any_cutting_gives_what_the_whole_text_gives(
    stops: list[str], text: str, data: st.DataObject
) -> None:
    """However the text is cut into pieces, the same text comes out and the same stop is found."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    shown, found = run(stops, pieces)
    assert (shown, found) == expected(stops, text)
    assert not any(stop in shown for stop in stops)


@given(st.text("ab#", min_size=1, max_size=5), TEXT)
def test_only_a_possible_beginning_is_held_back(stop: str, text: str) -> None:
    """What is held back is the longest end of the text that begins the stop string."""
    matcher = StopMatcher([stop])
    stopped = matcher.feed(text)
    if not stopped.found:
        held = text[len(stopped.text) :]
        ends = [n for n in range(len(stop)) if text.endswith(stop[:n])]
        assert len(held) == max(ends)


def test_without_stop_strings_all_text_passes() -> None:
    """Nothing is held back."""
    assert run([], ["a", "", "b"]) == ("ab", False)


def test_a_stop_string_may_span_many_pieces() -> None:
    """The beginning that was held back is never shown."""
    matcher = StopMatcher(["\n\nUser:"])
    texts = [matcher.feed(piece).text for piece in ("Hello", "\n", "\nUs", "er")]
    assert texts == ["Hello", "", "", ""]
    last = matcher.feed(": hi")
    assert (last.text, last.found) == ("", True)


def test_a_false_alarm_is_given_out() -> None:
    """What was held back comes once it cannot become the stop string."""
    matcher = StopMatcher(["STOP"])
    assert [matcher.feed(piece).text for piece in ("ST", "ST", "X")] == ["", "ST", "STX"]


def test_an_empty_stop_string_is_our_mistake() -> None:
    """The wire refuses it before."""
    with pytest.raises(AssertionError, match="an empty stop string"):
        StopMatcher([""])
