from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.prompt import ORDER, prompt_of
from stemcache.trace.spans.sketch import sketch
from stemcache.trace.spans.span import Prompt
from stemcache.wire.api import Api
from stemcache.wire.section import Section

KEYS = [
    "messages",
    "input",
    "prompt",
    "contents",
    "tools",
    "functions",
    "system",
    "instructions",
    "toolConfig",
    "role",
    "content",
    "type",
    "text",
    "parts",
    "name",
    "tool_calls",
    "function",
    "arguments",
    "tool_use_id",
    "tool_call_id",
    "input_schema",
    "cache_control",
    "cachePoint",
    "prompt_cache_breakpoint",
    "prompt_cache_options",
    "ttl",
    "thinking",
    "source",
    "data",
    "image_url",
    "url",
    "toolUse",
    "toolResult",
    "toolSpec",
    "systemInstruction",
    "functionDeclarations",
    "functionCall",
    "inlineData",
    "reasoning_content",
    "output",
    "call_id",
    "refusal",
    "is_error",
    "status",
    "thought",
]
WORDS = [
    "user",
    "assistant",
    "system",
    "developer",
    "tool",
    "function",
    "text",
    "image",
    "document",
    "thinking",
    "tool_use",
    "tool_result",
    "redacted_thinking",
    "input_text",
    "output_text",
    "image_url",
    "function_call",
    "message",
    "function_call_output",
    "reasoning",
    "ephemeral",
    "base64",
    "error",
    "model",
]


def resolved(body: Any, pointer: str) -> Any:
    """The node that a JSON pointer leads to."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        body = body[int(key)] if isinstance(body, list) else body[key]
    return body


def check(prompt: Prompt, body: Any) -> None:
    """What holds of every prompt."""
    pointers = [span.pointer for span in prompt.spans]
    assert len(set(pointers)) == len(pointers)
    sections = [prompt.order.index(span.section) for span in prompt.spans]
    assert sections == sorted(sections)
    for span, following in zip(prompt.spans, [*prompt.spans, None][1:], strict=True):
        assert resolved(body, span.pointer) is span.value
        if span.text_pointer != span.pointer and span.text:
            assert resolved(body, span.text_pointer) == span.text
        if span.marker is not None:
            resolved(body, span.marker.pointer)
        if following is None or (following.section, following.message) != (
            span.section,
            span.message,
        ):
            assert span.ends_message
    for pointer, value in prompt.parameters.items():
        assert resolved(body, pointer) is value
    assert len(sketch(prompt).span_bytes) == len(prompt.spans)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@settings(max_examples=100)
@given(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=6), st.sampled_from(Api))
def test_any_json_is_read_or_refused(body: dict[str, Any], api: Api) -> None:
    """Never anything but a prompt that holds what prompts promise, or BadBodyError."""
    try:
        prompt = prompt_of(body, api)
    except BadBodyError:
        return
    check(prompt, body)


def junk(chance: Random, depth: int) -> Any:
    """A value of a request's own words in places where they may not belong."""
    kind = chance.randrange(9) if depth else chance.randrange(5)
    if kind < 3:
        return chance.choice(WORDS)
    if kind < 5:
        return chance.choice([None, True, 0, -1, 2.5, float("nan"), 2**80, "", "\ud800", {}, []])
    if kind < 7:
        return [junk(chance, depth - 1) for _ in range(chance.randrange(4))]
    return {chance.choice(KEYS): junk(chance, depth - 1) for _ in range(chance.randrange(6))}


@pytest.mark.parametrize("api", Api)
def test_a_requests_own_words_in_wrong_places_are_read_or_refused(api: Api) -> None:
    """Wrong types at every place: 600 bodies a kind of API."""
    chance = Random(api.value)
    read = 0
    for _ in range(600):
        body: dict[str, Any] = {
            chance.choice(KEYS): junk(chance, 5) for _ in range(chance.randrange(6))
        }
        for name in ("messages", "input", "prompt", "contents", "tools", "system"):
            body[name] = [junk(chance, 5) for _ in range(3)]
        try:
            prompt = prompt_of(body, api)
        except BadBodyError:
            continue
        check(prompt, body)
        read += 1
    assert read > 400


@pytest.mark.parametrize("api", Api)
@pytest.mark.parametrize("body", [{}, [], None, "messages", 7])
def test_what_is_no_request_is_refused(api: Api, body: Any) -> None:
    """With a reason that says no value."""
    with pytest.raises(BadBodyError):
        prompt_of(body, api)


def test_sections_stand_in_the_order_asked_for() -> None:
    """What the order leaves out stands behind it, in the usual order."""
    body = {
        "messages": [{"role": "user", "content": "m"}],
        "system": "s",
        "tools": [{"name": "t"}],
    }
    for order, expected in (
        (ORDER, "t s m"),
        ((Section.SYSTEM, Section.TOOLS, Section.MESSAGES), "s t m"),
        ((Section.MESSAGES,), "m t s"),
        ((), "t s m"),
    ):
        prompt = prompt_of(body, Api.MESSAGES, order)
        assert " ".join(span.section.value[0] for span in prompt.spans) == expected
        assert [section.value[0] for section in prompt.order] == expected.split()
        check(prompt, body)


@pytest.mark.parametrize("api", [Api.CHAT, Api.MESSAGES, Api.CONVERSE])
def test_endless_messages_are_refused_before_they_become_spans(api: Api) -> None:
    """Two bytes of JSON would become hundreds; blocks within messages count too."""
    message = {"role": "user", "content": [0] * 100_001}
    for messages in ([0] * 200_001, [message, message]):
        with pytest.raises(BadBodyError) as caught:
            prompt_of({"messages": messages}, api)
        assert caught.value.reason == "the request has more than 200,000 blocks"


def test_endless_blocks_are_refused_in_every_place() -> None:
    """Tools and parts that stand a level deeper, and lists that only begin with token ids."""
    many = ["x"] * 200_001
    for body, api in (
        ({"messages": [], "toolConfig": {"tools": many}}, Api.CONVERSE),
        ({"contents": [], "systemInstruction": {"parts": many}}, Api.GENERATE),
        ({"contents": [], "tools": [{"functionDeclarations": many}]}, Api.GENERATE),
        ({"prompt": [1, *many]}, Api.COMPLETIONS),
        ({"input": many}, Api.RESPONSES),
    ):
        with pytest.raises(BadBodyError):
            prompt_of(body, api)
    assert len(prompt_of({"prompt": [7] * 300_000}, Api.COMPLETIONS).spans) == 1


def test_a_large_text_is_not_copied() -> None:
    """Its span holds the body's own string, for every API."""
    text = "x" * 400_000
    for body, api in (
        ({"messages": [{"role": "user", "content": text}]}, Api.CHAT),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": text}]}]}, Api.CHAT),
        ({"messages": [{"role": "user", "content": text}]}, Api.MESSAGES),
        ({"messages": [], "system": text}, Api.MESSAGES),
        ({"messages": [{"role": "user", "content": [{"text": text}]}]}, Api.CONVERSE),
        ({"contents": [{"parts": [{"text": text}]}]}, Api.GENERATE),
        ({"input": text}, Api.RESPONSES),
        ({"prompt": text}, Api.COMPLETIONS),
    ):
        assert prompt_of(body, api).spans[0].text is text


def test_a_body_is_not_changed() -> None:
    """Markers are left out of texts, not out of values."""
    tool = {"name": "f", "cache_control": {"type": "ephemeral"}}
    body = {"messages": [], "tools": [tool]}
    prompt = prompt_of(body, Api.MESSAGES)
    assert prompt.spans[0].text == '{"name":"f"}'
    assert body == {
        "messages": [],
        "tools": [{"name": "f", "cache_control": tool["cache_control"]}],
    }
