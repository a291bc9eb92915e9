"""What the agent knows: rules, tools that work without a network, and help pages to retrieve.

Everything is made up. A full shop has prompts of 1,400 to 2,400 tokens, above what providers keep
at least; a small one fits a model whose context is 4,096 bytes.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["FULL", "SMALL", "Shop", "ToolSpec", "run"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told of a tool."""

    description: str
    arguments: Mapping[str, str]
    """What each argument says, by its name. All are texts, and all are required."""


@dataclass(frozen=True, slots=True)
class Shop:
    """What prompts are made of."""

    rules: str
    tools: Mapping[str, ToolSpec]
    pages: Mapping[str, str]
    """Help pages, by name."""
    turns: int
    """How many of each customer's turns a model of this size has room for."""


_RULES = (Path(__file__).parent / "rules.txt").read_text(encoding="utf-8").splitlines()

_TOOLS = {
    "find_booking": ToolSpec(
        "Look up a booking: what is hired, from which depot, from when to when, and its state.",
        {"booking": "The number on the confirmation, such as B-1042."},
    ),
    "free_bicycles": ToolSpec(
        "How many bicycles of a kind a depot has free on a day, and their price for the day.",
        {
            "depot": "north, lock or harbour.",
            "kind": "city, child, cargo or electric.",
            "day": "A weekday in English.",
        },
    ),
    "move_booking": ToolSpec(
        "Move a booking to another day. Says what that costs; nothing is charged before a yes.",
        {"booking": "The number on the confirmation.", "day": "The new first day, a weekday."},
    ),
    "opening_hours": ToolSpec(
        "When a depot is open on a day, holidays of the lock keepers' calendar included.",
        {"depot": "north, lock or harbour.", "day": "A weekday in English."},
    ),
    "report_trouble": ToolSpec(
        "File a report of damage, theft or a flat tyre. Gives the report's number and the wait "
        "for a repairer in minutes.",
        {"booking": "The number on the confirmation.", "what": "One sentence in plain words."},
    ),
}

_PAGES = {
    "deposit": "Deposits. 50 euros are held for a city or child's bicycle, 150 for an electric one "
    "and 200 for a cargo one. The hold is placed on the morning of the first day and released by "
    "the depot. Debit cards of some banks show it as paid until it is released.",
    "moving": "Moving a booking. Free once until noon of the day before; then the first day is "
    "due. A second move costs ten euros. A move keeps the price of the day on which it was booked.",
    "families": "Families. Children's seats fit city and electric bicycles and carry up to 22 kg. "
    "Tag-alongs need a rider of 110 cm. The stretch from the harbour to lock 4 is flat, without "
    "cars, and has a playground at lock 2.",
    "cargo": "Cargo bicycles. The box measures 80 by 60 cm. Two children may sit in it, belted, up "
    "to 40 kg in all. They do not fit through the gates at locks 5 and 7: take the road bridge.",
    "trouble": "When something breaks. Lock the bicycle, note the nearest lock's number, and write "
    "or call. A repairer comes between nine and six. A bicycle that cannot be repaired is replaced "
    "if the depot has one of its kind.",
    "closure": "The wall between locks 9 and 11 is being rebuilt. The way round leaves the towpath "
    "at the chapel, is signed in yellow, and has one steep ramp where trailers must be pushed.",
}

FULL = Shop(rules="\n".join(_RULES), tools=_TOOLS, pages=_PAGES, turns=5)
SMALL = Shop(
    rules="\n".join(_RULES[:7]),
    tools={
        name: ToolSpec(tool.description[:30], dict.fromkeys(tool.arguments, ""))
        for name, tool in _TOOLS.items()
    },
    pages={name: page[:60] for name, page in _PAGES.items()},
    turns=3,
)

_BOOKINGS: Mapping[str, Mapping[str, Any]] = {
    "B-1042": {"kind": "electric", "count": 2, "depot": "lock", "day": "Friday", "days": 2},
    "B-1177": {"kind": "cargo", "count": 1, "depot": "harbour", "day": "Saturday", "days": 1},
    "B-0981": {"kind": "city", "count": 4, "depot": "north", "day": "Sunday", "days": 3},
}
_EUROS = {"city": 14, "child": 9, "cargo": 38, "electric": 32}
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _find_booking(booking: str) -> object:
    return {"booking": booking, "state": "paid", **_BOOKINGS[booking]}


def _free_bicycles(depot: str, kind: str, day: str) -> object:
    free = (len(depot) * 7 + len(kind) * 3 + _DAYS.index(day)) % 9
    return {"depot": depot, "kind": kind, "free": free, "euros_a_day": _EUROS[kind]}


def _move_booking(booking: str, day: str) -> object:
    return {"booking": booking, "from": _BOOKINGS[booking]["day"], "to": day, "fee_euros": 0}


def _opening_hours(depot: str, day: str) -> object:
    closed = depot == "north" and day == "Monday"
    return {"depot": depot, "day": day, "open": None if closed else "09:00-18:30"}


def _report_trouble(booking: str, what: str) -> object:
    return {"report": f"R-{len(what):03}", "booking": booking, "wait_minutes": len(what) % 40}


_RUN: Mapping[str, Callable[..., object]] = {
    "find_booking": _find_booking,
    "free_bicycles": _free_bicycles,
    "move_booking": _move_booking,
    "opening_hours": _opening_hours,
    "report_trouble": _report_trouble,
}


def run(tool: str, arguments: Mapping[str, str]) -> str:
    """What a tool answers, as JSON. Equal calls give equal answers."""
    return json.dumps(_RUN[tool](**arguments))
