"""What is told of a body that somebody else made, and how much of it is looked at for that."""

from collections.abc import Iterable, Iterator

import pytest

from stemcache.prompt.part import Text
from stemcache.prompt.remark import changing
from stemcache.prompt.remark.lay import laid_of
from stemcache.prompt.segment import Segment
from stemcache.prompt.stability import Stability
from stemcache.prompt.volatile.check import Found, find
from stemcache.trace.spans.prompt import prompt_of
from stemcache.wire.api import Api

CLOCK = "It is 2026-11-30T09:15:02Z."
SESSION = "session id: 9b2f0c1e-77aa-4d2e-8f00-3c9d1e2f4a5b"
QUESTION = "q"
LONG = "Rule 12 of 40: be kind, be brief.\n" * 10_000


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The system texts that are searched, by a process that has seen none."""
    seen: list[str] = []

    def counted(segments: Iterable[Segment]) -> tuple[Found, ...]:
        given = list(segments)
        texts = [part.text for one in given for part in one.parts if isinstance(part, Text)]
        seen.extend(text for text in texts if text != QUESTION)
        return find(given)

    monkeypatch.setattr(changing, "find", counted)
    changing._fits.cache_clear()
    yield seen
    changing._fits.cache_clear()


def stability(text: str) -> Stability:
    """Of a system prompt."""
    body = {
        "model": "claude-sonnet-5",
        "system": text,
        "messages": [{"role": "user", "content": QUESTION}],
    }
    return laid_of(prompt_of(body, Api.MESSAGES)).pieces[0].stability


@pytest.mark.parametrize(
    ("said", "expected"),
    [("", Stability.STATIC), (SESSION, Stability.SESSION), (CLOCK, Stability.TURN)],
)
def test_what_stands_at_either_end_of_a_long_text_tells(said: str, expected: Stability) -> None:
    """Programs write above what is there, or below it."""
    assert stability(f"{said}\n{LONG}") is expected
    assert stability(f"{LONG}\n{said}") is expected
    assert stability(f"{said}\nBe kind.") is expected


def test_what_changes_soonest_tells() -> None:
    """Wherever it stands."""
    assert stability(f"{SESSION}\n{LONG}\n{CLOCK}") is Stability.TURN
    assert stability(f"{CLOCK}\n{LONG}\n{SESSION}") is Stability.TURN


def test_of_a_long_text_its_ends_are_searched(searched: list[str]) -> None:
    """The lower one from the beginning of a line, so that no time is seen in half of a number."""
    stability(LONG)
    upper, lower = searched
    assert LONG.startswith(upper)
    assert LONG.endswith(f"\n{lower}")
    assert 8_000 < len(lower) <= len(upper) == 8_192


def test_a_long_line_is_searched_to_its_end(searched: list[str]) -> None:
    """It has no line to begin at."""
    stability("word " * 20_000)
    assert [len(one) for one in searched] == [8_192, 8_192]


def test_a_short_text_is_searched_whole_and_once(searched: list[str]) -> None:
    """Requests of one program have one text."""
    text = LONG[:16_384]
    stability(text)
    stability(text)
    assert searched == [text]


def test_behind_a_clock_nothing_is_searched(searched: list[str]) -> None:
    """A text with a clock is another one each time; nothing changes sooner."""
    for minute in range(10, 20):
        assert stability(f"It is 2026-11-30T09:{minute}:02Z.\n{LONG}") is Stability.TURN
    assert [len(one) for one in searched] == [8_192] * 10


def test_an_end_that_stays_is_searched_once(searched: list[str]) -> None:
    """Also where the other end is new with each request."""
    for minute in range(10, 20):
        stability(f"{LONG}\nIt is 2026-11-30T09:{minute}:02Z.")
    assert len(searched) == 11


def test_a_clock_in_the_midst_of_a_long_text_is_not_looked_for() -> None:
    """That is what the bound costs."""
    assert stability(f"{LONG}\n{CLOCK}\n{LONG}") is Stability.STATIC
