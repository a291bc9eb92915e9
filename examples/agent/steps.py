"""From the naive agent to the cacheable one: each step is the one before, with one kind mended.

`naive.Naive` ─► Ordered ─► Timeless ─► Layered ─► Appended ─► `cacheable.Cacheable`
"""
# ruff: noqa: D102  # what methods do is said in `loop.Agent`

from collections.abc import Callable, Mapping
from typing import Any

from examples.agent.cacheable import Cacheable, now, tools
from examples.agent.loop import Agent, Target
from examples.agent.naive import Naive
from examples.agent.script import Moment
from examples.agent.shop import Shop
from stemcache.prompt import Api, Conversation, Layout, Segment, session, static, turn
from stemcache.prompt.canonical import canonical_json
from stemcache.prompt.render.chat import tool_definition

__all__ = ["CHATS_ALONE", "STEPS", "Appended", "Layered", "Ordered", "Timeless"]


class Ordered(Naive):
    """1. One order: tools by name, keys of JSON sorted."""

    def tools(self) -> list[dict[str, Any]]:
        return [tool_definition(tool) for tool in Layout([], tools(self.shop)).tools]

    def profile(self) -> str:
        return canonical_json(self.customer)


class Timeless(Ordered):
    """2. What is of this request alone stands behind everything else."""

    def request(self, at: Moment, target: Target) -> dict[str, Any]:
        history = Conversation()
        history.extend_from(Api.CHAT, self.history())
        return self.layout().request(
            target.provider,
            target.model,
            history,
            [turn("now", now(at)), *self.found()],
            most=0,
            options=target.options,
        )

    def layout(self) -> Layout:
        prompt = f"Customer: {self.profile()}\nHelp page: {self.page}\n{self.shop.rules}"
        return Layout([session("prompt", prompt)], tools(self.shop))

    def found(self) -> list[Segment]:
        return []


class Layered(Timeless):
    """3. What stays longest stands first: rules, then the customer; the help page with the turn."""

    def layout(self) -> Layout:
        customer = session("customer", f"\nCustomer: {self.profile()}")
        return Layout([static("rules", self.shop.rules), customer], tools(self.shop))

    def found(self) -> list[Segment]:
        return [turn("page", f"\nHelp page: {self.page}")]


class Appended(Cacheable):
    """4. A history that only grows. `Cacheable` without its marks."""

    most_marks = 0


STEPS: Mapping[str, Callable[[Shop, Mapping[str, Any]], Agent]] = {
    "naive": Naive,
    "ordered": Ordered,
    "timeless": Timeless,
    "layered": Layered,
    "appended": Appended,
    "cacheable": Cacheable,
}
"""By name, in the order of the tutorial."""
CHATS_ALONE = frozenset({"naive", "ordered"})
"""Those whose requests are chats, whichever provider they are for."""
