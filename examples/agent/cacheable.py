"""The same agent, cacheable by construction."""
# ruff: noqa: D102  # what methods do is said in `loop.Agent`

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from examples.agent.loop import Target
from examples.agent.script import Moment
from examples.agent.shop import Shop
from stemcache.prompt import (
    Api,
    Conversation,
    Layout,
    Text,
    Tool,
    ToolResult,
    session,
    static,
    turn,
)
from stemcache.prompt.canonical import canonical_json
from stemcache.prompt.conversation.file import load, save

__all__ = ["Cacheable", "now", "tools"]


class Cacheable:
    """One conversation."""

    most_marks: int | None = None
    """As many as pay."""

    def __init__(self, shop: Shop, customer: Mapping[str, Any]) -> None:
        self.layout = Layout(
            [
                static("rules", shop.rules, version="1"),
                session("customer", f"\nCustomer: {canonical_json(customer)}"),
            ],
            tools(shop),
        )
        self.conversation = Conversation()

    def user(self, says: str, page: str) -> None:
        self.conversation.user(f"Help page: {page}\n\n", says)

    def answered(self, answer: Mapping[str, Any]) -> None:
        self.conversation.answer(answer, Api.CHAT)

    def results(self, results: Mapping[str, str]) -> None:
        self.conversation.results(
            *(ToolResult(call_id=name, parts=(Text(text),)) for name, text in results.items())
        )

    def request(self, at: Moment, target: Target) -> dict[str, Any]:
        return self.layout.request(
            target.provider,
            target.model,
            self.conversation,
            [turn("now", now(at))],
            most=self.most_marks,
            options=target.options,
        )

    def save(self, path: Path) -> None:
        save(self.conversation, path)

    def resume(self, path: Path) -> None:
        self.conversation = load(path)


def now(at: Moment) -> str:
    """What is of one request alone."""
    return (
        "\n\nFor your notes:\n"
        f"It is {at.now:%Y-%m-%dT%H:%M:%SZ}.\n"
        f"Request: {at.request_id}\n"
        "Answer the customer now."
    )


def tools(shop: Shop) -> list[Tool]:
    """The shop's tools, in any order: a layout has one of its own."""
    return [
        Tool(
            name=name,
            description=tool.description,
            schema={
                "type": "object",
                "properties": {
                    one: {"type": "string", "description": says}
                    for one, says in tool.arguments.items()
                },
                "required": list(tool.arguments),
            },
        )
        for name, tool in shop.tools.items()
    ]
