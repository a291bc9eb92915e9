"""JSON pointers into the child."""

from typing import Any

from stemcache.trace.divergence.place import behind, block_or_message, message_of
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.span import Span
from stemcache.wire.api import Api


def spans(*contents: Any) -> tuple[Span, ...]:
    """Of a conversation in Messages."""
    turns = [{"role": "user", "content": content} for content in contents]
    return prompt_of({"messages": turns}, Api.MESSAGES).spans


def blocks(count: int) -> list[dict[str, str]]:
    """Texts of one message."""
    return [{"type": "text", "text": f"text {i}"} for i in range(count)]


def test_a_message_is_two_steps_down() -> None:
    """Whether its content is a string or blocks."""
    assert [message_of(span) for span in spans("a", blocks(1))] == ["/messages/0", "/messages/1"]


def test_the_first_block_of_a_message_stands_for_it() -> None:
    """The others for themselves."""
    found = spans(blocks(2), blocks(1))
    pointers = [block_or_message(found, i) for i in range(3)]
    assert pointers == ["/messages/0", "/messages/0/content/1", "/messages/1"]


def test_blocks_of_the_system_prompt_stand_for_themselves() -> None:
    """They belong to no message."""
    body = {"system": blocks(2), "messages": [{"role": "user", "content": "x"}]}
    found = prompt_of(body, Api.MESSAGES).spans
    assert block_or_message(found, 0) == "/system/0"


def test_behind_the_last_is_one_further() -> None:
    """A message for a message that is gone, a block for a block."""
    old, new = spans(blocks(2), blocks(2)), spans(blocks(2), blocks(1))
    assert behind(new, 0, 3, old, 3) == "/messages/1/content/1"
    assert behind(new, 0, 3, old, 2) == "/messages/2"


def test_where_nothing_is_left_it_is_where_it_was() -> None:
    """In the parent."""
    old = spans("a", "b")
    assert behind((), 0, 0, old, 0) == "/messages/0"


def test_what_cannot_be_counted_on_is_pointed_at_itself() -> None:
    """An input that is one string has no place behind it."""
    new = prompt_of({"input": "x"}, Api.RESPONSES).spans
    old = prompt_of({"input": [{"role": "user", "content": "a"}] * 2}, Api.RESPONSES).spans
    assert behind(new, 0, 1, old, 1) == "/input"
