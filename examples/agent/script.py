"""Who writes in, and what they say: three customers, five turns each, the same in every run.

```
turn     ada 1   bo 1   cy 1   ada 2   bo 2   …         one every 20 seconds, of each customer one
request  1 2     1 2    1      1 2 3   1                a minute; requests of a turn 4 seconds apart
```
A model of 135M parameters calls no tools by itself, so what is looked up, and in which turn, stands
here too. What the model says beside the calls, and in answers, is taken as it comes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

__all__ = ["CUSTOMERS", "TURNS", "Lookup", "Moment", "Turn", "moment", "schedule"]

_BEGIN = datetime(2026, 11, 30, 10, 0, 7, tzinfo=UTC)
_NAMES = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")


@dataclass(frozen=True, slots=True)
class Lookup:
    """A call of a tool."""

    tool: str
    arguments: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Turn:
    """What a customer says, the page that retrieval finds for it, and what is looked up.

    Each step of `lookups` is one answer of the model with its calls, which run at once.
    """

    says: str
    page: str
    lookups: tuple[tuple[Lookup, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Moment:
    """When a request is made, and the id that somebody gave it."""

    now: datetime
    request_id: str


CUSTOMERS: Mapping[str, Mapping[str, Any]] = {
    "ada": {"name": "Ada", "language": "English", "since": 2019, "hires": 11, "card": "yes"},
    "bo": {"name": "Bo", "language": "English", "since": 2025, "hires": 1, "card": "no"},
    "cy": {"name": "Cy", "language": "Welsh", "since": 2021, "hires": 6, "card": "yes"},
}


def _booking(number: str) -> Lookup:
    return Lookup("find_booking", {"booking": number})


def _free(depot: str, kind: str, day: str) -> Lookup:
    return Lookup("free_bicycles", {"depot": depot, "kind": kind, "day": day})


TURNS: Mapping[str, tuple[Turn, ...]] = {
    "ada": (
        Turn("Hello, can you tell me when B-1042 begins?", "moving", ((_booking("B-1042"),),)),
        Turn("And how much is held on my card for it?", "deposit"),
        Turn(
            "Could we have Saturday in place of Friday, if there are two left?",
            "moving",
            (
                (_free("lock", "electric", "Saturday"), _free("harbour", "electric", "Saturday")),
                (Lookup("move_booking", {"booking": "B-1042", "day": "Saturday"}),),
            ),
        ),
        Turn("My son is 15. May he ride one of them?", "families"),
        Turn(
            "When does the depot at the lock open on Saturday?",
            "closure",
            ((Lookup("opening_hours", {"depot": "lock", "day": "Saturday"}),),),
        ),
    ),
    "bo": (
        Turn(
            "I have a cargo bike booked, B-1177. Is that right?", "cargo", ((_booking("B-1177"),),)
        ),
        Turn("Two children of 18 kg each, and some shopping. Does that fit?", "cargo"),
        Turn("Is the path closed anywhere between the harbour and lock 8?", "closure"),
        Turn(
            "The front tyre is flat, we are standing at lock 6.",
            "trouble",
            (
                (
                    Lookup(
                        "report_trouble",
                        {"booking": "B-1177", "what": "Flat front tyre at lock 6."},
                    ),
                ),
            ),
        ),
        Turn("Thank you. Do we lose the deposit because of that?", "deposit"),
    ),
    "cy": (
        Turn(
            "Can I hire four city bikes at the north depot on Sunday?",
            "families",
            ((_free("north", "city", "Sunday"),),),
        ),
        Turn("We have booked by now, it is B-0981.", "moving", ((_booking("B-0981"),),)),
        Turn(
            "One of us is 120 cm tall. Should we change one bike?",
            "families",
            ((_free("north", "child", "Sunday"),),),
        ),
        Turn(
            "And if we come back on Monday, is somebody there?",
            "moving",
            ((Lookup("opening_hours", {"depot": "north", "day": "Monday"}),),),
        ),
        Turn("Fine, we will bring them back on Tuesday.", "deposit"),
    ),
}


def schedule(turns: int) -> Iterator[tuple[str, int]]:
    """Customer and number of the first so many turns of each, in order of time."""
    for turn in range(turns):
        yield from ((name, turn) for name in TURNS)


def moment(customer: str, turn: int, request: int) -> Moment:
    """Of a request of a turn, counted from 0."""
    number = turn * len(TURNS) + list(TURNS).index(customer)
    now = _BEGIN + timedelta(seconds=20 * number + 4 * request)
    return Moment(now, str(uuid5(_NAMES, f"{customer} {turn} {request}")))
