"""The agent as people write it. It works, and its prompts are computed anew every time.

What is wrong, in the order in which a provider reads it:

- tools come out of a set: another order in every process
- the time to the second, and an id of the request, at the top of the system prompt
- JSON of a dictionary whose keys come out of a set
- the help page that was found for this question stands before the rules
- old messages are dropped from the front
- the first message that is left is rewritten with every turn
- nothing is marked as worth keeping
"""
# ruff: noqa: D102  # what methods do is said in `loop.Agent`

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from examples.agent.loop import Target
from examples.agent.script import Moment
from examples.agent.shop import Shop

__all__ = ["KEPT_MESSAGES", "Naive"]

KEPT_MESSAGES = 8
_SHOWN = {"name", "language", "since", "hires", "card"}


class Naive:
    """One conversation."""

    def __init__(self, shop: Shop, customer: Mapping[str, Any]) -> None:
        self.shop = shop
        self.customer = customer
        self.messages: list[dict[str, Any]] = []
        self.page = ""

    def user(self, says: str, page: str) -> None:
        self.messages.append({"role": "user", "content": says})
        self.page = page

    def answered(self, answer: Mapping[str, Any]) -> None:
        self.messages.append(answer["choices"][0]["message"])

    def results(self, results: Mapping[str, str]) -> None:
        for name, text in results.items():
            self.messages.append({"role": "tool", "tool_call_id": name, "content": text})

    def request(self, at: Moment, target: Target) -> dict[str, Any]:
        system = {"role": "system", "content": self.system(at)}
        return {
            "model": target.model,
            **target.options,
            "tools": self.tools(),
            "messages": [system, *self.history()],
        }

    def system(self, at: Moment) -> str:
        return (
            f"It is {at.now:%Y-%m-%dT%H:%M:%SZ}.\n"
            f"Request: {at.request_id}\n"
            f"Customer: {self.profile()}\n"
            f"Help page: {self.page}\n"
            f"{self.shop.rules}"
        )

    def profile(self) -> str:
        return json.dumps({name: self.customer[name] for name in _SHOWN})

    def tools(self) -> list[dict[str, Any]]:
        return [_definition(self.shop, name) for name in set(self.shop.tools)]

    def history(self) -> list[dict[str, Any]]:
        kept = self.messages[-KEPT_MESSAGES:]
        while kept[0]["role"] != "user":  # no result without its call
            kept = kept[1:]
        asked = sum(message["role"] == "user" for message in self.messages)
        first = f"(Question {asked} of this conversation is the last one below.) "
        return [{**kept[0], "content": first + kept[0]["content"]}, *kept[1:]]

    def save(self, path: Path) -> None:
        path.write_text(json.dumps([self.page, self.messages]), encoding="utf-8")

    def resume(self, path: Path) -> None:
        self.page, self.messages = json.loads(path.read_text(encoding="utf-8"))


def _definition(shop: Shop, name: str) -> dict[str, Any]:
    tool = shop.tools[name]
    arguments = {
        one: {"type": "string", "description": says} for one, says in tool.arguments.items()
    }
    schema = {"type": "object", "properties": arguments, "required": list(arguments)}
    described = {"name": name, "description": tool.description, "parameters": schema}
    return {"type": "function", "function": described}
