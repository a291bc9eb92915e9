"""The same agent, cacheable by construction."""
# ruff: noqa: D102  # what methods do is said in `loop.Agent`

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from examples.agent.loop import Target
from examples.agent.script import Moment
from examples.agent.shop import Shop
from stemcache.prompt import Conversation, Layout, Text, Tool, ToolResult, session, static, turn
from stemcache.prompt.canonical import canonical_json
from stemcache.prompt.conversation.file import load, save
from stemcache.prompt.marks.placement import Held
from stemcache.wire.api import Api

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
        self.held: tuple[Held, ...] = ()

    def user(self, says: str, page: str) -> None:
        self.conversation.user(f"Help page: {page}\n\n", says)

    def answered(self, answer: Mapping[str, Any]) -> None:
        self.conversation.answer(answer, Api.CHAT)

    def results(self, results: Mapping[str, str]) -> None:
        self.conversation.results(
            *(ToolResult(call_id=name, parts=(Text(text),)) for name, text in results.items())
        )

    def request(self, at: Moment, target: Target) -> dict[str, Any]:
        plan = self.layout.plan(
            target.provider,
            target.model,
            self.conversation,
            [turn("now", now(at))],
            held=self.held,
            most=self.most_marks,
        )
        # All turns of the script come within a lifetime, so what was marked is there.
        self.held = tuple(Held(mark.boundary, 1.0) for mark in plan.placement.marks)
        return plan.body(target.options)

    def save(self, path: Path) -> None:
        save(self.conversation, path)
        marks = [mark.boundary for mark in self.held]
        path.with_suffix(".marks").write_text(json.dumps(marks), encoding="utf-8")

    def resume(self, path: Path) -> None:
        self.conversation = load(path)
        marks = json.loads(path.with_suffix(".marks").read_text(encoding="utf-8"))
        self.held = tuple(Held(boundary, 1.0) for boundary in marks)


def now(at: Moment) -> str:
    """What is of one request alone."""
    return f"\nIt is {at.now:%Y-%m-%dT%H:%M:%SZ}.\nRequest: {at.request_id}\n"


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
