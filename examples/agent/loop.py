"""The loop that every agent of this example runs in, whatever its prompts look like.

```
user ─► request ─► model ─► calls? ─yes─► tools ─► results ─┐
           ▲                  └─no─► answer                 │
           └────────────────────────────────────────────────┘
```
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from examples.agent.script import TURNS, Lookup, Moment, moment
from examples.agent.shop import Shop, run

__all__ = ["Agent", "Asked", "Sent", "Target", "serve_turn"]


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a request is written for."""

    provider: str
    model: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asked:
    """What came back."""

    text: str
    prompt_tokens: int = 0
    cached_tokens: int = 0
    ttft_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Sent:
    """One request, as it was made."""

    customer: str
    turn: int
    at: Moment
    body: Mapping[str, Any]
    asked: Asked


class Agent(Protocol):
    """**Protocol**: one conversation."""

    def user(self, says: str, page: str) -> None:
        """Take what a customer says, and the help page that was found for it."""
        ...

    def request(self, at: Moment, target: Target) -> dict[str, Any]:
        """The body of the next request."""
        ...

    def answered(self, answer: Mapping[str, Any]) -> None:
        """Take a chat completion."""
        ...

    def results(self, results: Mapping[str, str]) -> None:
        """Take what tools gave, by the id of their call."""
        ...

    def save(self, path: Path) -> None:
        """Keep the conversation, for whichever process serves the next turn."""
        ...

    def resume(self, path: Path) -> None:
        """Go on from there."""
        ...


def serve_turn(
    agent: Agent,
    shop: Shop,
    customer: str,
    turn: int,
    *,
    target: Target,
    ask: Callable[[Mapping[str, Any]], Asked],
) -> list[Sent]:
    """Serve what a customer says, until the model has answered."""
    script = TURNS[customer][turn]
    agent.user(script.says, shop.pages[script.page])
    sent: list[Sent] = []
    for number, lookups in enumerate((*script.lookups, ())):
        at = moment(customer, turn, number)
        body = agent.request(at, target)
        asked = ask(body)
        sent.append(Sent(customer, turn, at, body, asked))
        calls = {f"call_{turn}{number}{place}": one for place, one in enumerate(lookups)}
        agent.answered(_completion(asked.text, calls))
        if calls:
            agent.results({name: run(one.tool, one.arguments) for name, one in calls.items()})
    return sent


def _completion(text: str, calls: Mapping[str, Lookup]) -> dict[str, Any]:
    """A chat completion as an API gives it, with the calls of the script."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {
                "id": name,
                "type": "function",
                "function": {"name": one.tool, "arguments": json.dumps(one.arguments)},
            }
            for name, one in calls.items()
        ]
    return {"choices": [{"index": 0, "message": message}]}
