"""Prompts by hand."""

from collections.abc import Sequence

from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.span import Prompt
from stemcache.wire.api import Api
from stemcache.wire.section import Section

__all__ = ["ORDER", "prompt", "tool"]

ORDER = (Section.TOOLS, Section.SYSTEM, Section.MESSAGES)


def tool(name: str, text: str = "", **members: object) -> dict[str, object]:
    """The definition of a tool."""
    return {"name": name, "description": text, **members}


def prompt(
    system: Sequence[str] = (),
    messages: Sequence[tuple[str, str]] = (),
    tools: Sequence[dict[str, object]] = (),
    *,
    order: tuple[Section, ...] = ORDER,
) -> Prompt:
    """Messages are (role, text), one block each."""
    body = {
        "tools": list(tools),
        "system": [{"type": "text", "text": text} for text in system],
        "messages": [
            {"role": role, "content": [{"type": "text", "text": text}]} for role, text in messages
        ],
    }
    return prompt_of(body, Api.MESSAGES, order)
