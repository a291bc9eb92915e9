"""Airline conversations of tau-bench as requests at times, and the tools that they call.

```
session 1   user ─► answer (call) ─► result ─► answer ─► user …     one request before each answer
at_s        0       ·  2 s tool       ·        45 s reading, on average
```
The log has no times and no definitions of tools. Sessions start at random, a user answers after a
time drawn from an exponential distribution, a tool after two seconds. Definitions are made of the
names and arguments of the calls in the log.
"""

import gzip
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["AIRLINE", "Pace", "Turn", "schedule", "tools", "trajectories"]

AIRLINE = Path(__file__).parents[2].parent / "shared" / "traces" / "tau_bench_airline.json.gz"
_TOOL_S = 2.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast things go."""

    name: str
    session_every_s: float
    user_s: float
    """Mean time until a user answers."""


@dataclass(frozen=True, slots=True, order=True)
class Turn:
    """One request: all of the session's messages before an answer."""

    at_s: float
    session: int
    messages: int
    """The first so many of the session's messages are sent."""


def trajectories() -> list[list[dict[str, Any]]]:
    """Chat messages of each conversation, the system prompt first."""
    with gzip.open(AIRLINE) as stream:
        return [each["traj"] for each in json.load(stream)]


def tools(sessions: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Definitions in OpenAI's form, by name."""
    seen: dict[str, dict[str, str]] = {}
    kinds = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array"}
    for message in (message for session in sessions for message in session):
        for call in message.get("tool_calls") or ():
            found = seen.setdefault(call["function"]["name"], {})
            for name, value in json.loads(call["function"]["arguments"] or "{}").items():
                found.setdefault(name, kinds.get(type(value), "object"))
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": f"Airline tool: {name.replace('_', ' ')}.",
                "parameters": {
                    "type": "object",
                    "properties": {key: {"type": kind} for key, kind in sorted(found.items())},
                },
            },
        }
        for name, found in sorted(seen.items())
    ]


def schedule(sessions: list[list[dict[str, Any]]], pace: Pace, *, seed: int) -> list[Turn]:
    """All requests of all sessions, in order of time."""
    chance = random.Random(seed)
    turns: list[Turn] = []
    start_s = 0.0
    for number, session in enumerate(sessions):
        start_s += chance.expovariate(1 / pace.session_every_s)
        at_s = start_s
        for index, message in enumerate(session):
            if message["role"] == "user" and index > 1:
                at_s += chance.expovariate(1 / pace.user_s)
            elif message["role"] == "tool":
                at_s += _TOOL_S
            elif message["role"] == "assistant":
                turns.append(Turn(at_s, number, index))
    return sorted(turns)
