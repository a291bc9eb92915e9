from typing import Any

import pytest

from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.span import Marker, Prompt
from stemcache.wire.api import Api
from tests.trace.spans.rows import labels, marks, rows


def read(*items: object, **body: Any) -> Prompt:
    """A request of these items."""
    return prompt_of({"input": list(items), **body}, Api.RESPONSES)


def test_a_text_is_one_message_behind_the_instructions() -> None:
    """Each is a span that points to the body's member."""
    prompt = prompt_of({"model": "gpt-6", "input": "Hi", "instructions": "Be kind."}, Api.RESPONSES)
    assert rows(prompt) == [
        ("s.", "/instructions", "", "system text", "Be kind."),
        ("m0.", "/input", "", "user text", "Hi"),
    ]
    assert prompt.parameters == {"/model": "gpt-6"}


def test_messages_calls_outputs_and_reasoning_are_spans_of_their_kinds() -> None:
    """An output that is a text is that text, with its call's id as label."""
    prompt = read(
        {"role": "developer", "content": "a"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "b"}]},
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "c", "output": "12°"},
        {
            "type": "function_call_output",
            "call_id": "d",
            "output": [{"type": "input_text", "text": "13°"}],
        },
        {"role": "assistant", "content": [{"type": "output_text", "text": "e"}]},
        {"type": "item_reference", "id": "i"},
        instructions="z",
        tools=[{"type": "function", "name": "f"}],
    )
    reasoning = '{"type":"reasoning","id":"r","summary":[],"encrypted_content":"x"}'
    call = '{"type":"function_call","call_id":"c","name":"f","arguments":"{\\"a\\": 1}"}'
    assert rows(prompt) == [
        ("t.", "/tools/0", "", "tool", '{"type":"function","name":"f"}'),
        ("s.", "/instructions", "", "system text", "z"),
        ("s0.", "/input/0", "/content", "developer text", "a"),
        ("m1.", "/input/1/content/0", "/text", "user text", "b"),
        ("m2.", "/input/2", "", "assistant thinking", reasoning),
        ("m3.", "/input/3", "", "assistant tool_use", call),
        ("m4.", "/input/4", "/output", "tool tool_result", "12°"),
        ("m5.", "/input/5", "/output/0/text", "tool tool_result", "13°"),
        ("m6.", "/input/6/content/0", "/text", "assistant text", "e"),
        ("m7.", "/input/7", "", "other", '{"type":"item_reference","id":"i"}'),
    ]
    assert labels(prompt) == {"/input/4": "c", "/input/5": "d"}


def test_calls_of_built_in_tools_are_calls() -> None:
    """Told by the end of their type."""
    prompt = read(
        {"type": "web_search_call", "id": "w"},
        {"type": "computer_call_output", "call_id": "c", "output": {"type": "screenshot"}},
        {"type": "mcp_approval_request", "id": "m"},
        {"type": "mcp_approval_response", "id": "m"},
    )
    assert [row[3] for row in rows(prompt)] == [
        "assistant tool_use",
        "tool tool_result",
        "assistant tool_use",
        "tool tool_result",
    ]


def test_images_and_files_are_told_apart() -> None:
    """An image is its address; its detail is the label."""
    prompt = read(
        {
            "role": "user",
            "content": [
                {"type": "input_image", "image_url": "https://a/b.png", "detail": "high"},
                {"type": "input_image", "file_id": "f"},
                {"type": "input_file", "file_id": "f"},
            ],
        }
    )
    assert [row[2:] for row in rows(prompt)] == [
        ("/image_url", "user image", "https://a/b.png"),
        ("", "user image", '{"type":"input_image","file_id":"f"}'),
        ("", "user document", '{"type":"input_file","file_id":"f"}'),
    ]
    assert labels(prompt) == {"/input/0/content/0": "high"}


def test_breakpoints_stand_on_parts_and_items() -> None:
    """With the request's time to live where they name none."""
    point = {"mode": "explicit"}
    prompt = read(
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "a", "prompt_cache_breakpoint": point}],
        },
        {
            "type": "function_call_output",
            "call_id": "c",
            "output": [{"type": "input_text", "text": "b", "prompt_cache_breakpoint": point}],
        },
        {"role": "user", "content": "c", "prompt_cache_breakpoint": {"ttl": "12h"}},
        {
            "type": "function_call_output",
            "call_id": "d",
            "output": [
                {"type": "input_image", "image_url": "https://example.com/d.png"},
                {"type": "input_text", "text": "d", "prompt_cache_breakpoint": point},
            ],
        },
        prompt_cache_options={"ttl": "30m"},
    )
    assert marks(prompt) == {
        "/input/0/content/0": ("/input/0/content/0/prompt_cache_breakpoint", "30m"),
        "/input/1": ("/input/1/output/0/prompt_cache_breakpoint", "30m"),
        "/input/2": ("/input/2/prompt_cache_breakpoint", "12h"),
        "/input/3": ("/input/3/output/1/prompt_cache_breakpoint", "30m"),
    }


def test_a_marker_of_the_whole_request_is_automatic() -> None:
    """As gateways take it."""
    prompt = read({"role": "user", "content": "a"}, cache_control={"type": "ephemeral"})
    assert prompt.automatic == Marker("/cache_control")


@pytest.mark.parametrize("name", ["previous_response_id", "conversation", "prompt"])
def test_what_the_server_holds_is_a_parameter(name: str) -> None:
    """A request may have nothing else."""
    prompt = prompt_of({name: "x_1"}, Api.RESPONSES)
    assert prompt.spans == ()
    assert prompt.parameters == {f"/{name}": "x_1"}


def test_odd_items_are_still_there() -> None:
    """Strings, nulls, contents of odd types and messages that say nothing."""
    prompt = read(
        "hi",
        None,
        {"role": "user", "content": 7},
        {"role": "user", "content": None},
        {"role": {"a": 1}, "content": [3]},
    )
    assert rows(prompt) == [
        ("m0.", "/input/0", "", "text", "hi"),
        ("m1.", "/input/1", "", "other", "null"),
        ("m2.", "/input/2/content", "", "user other", "7"),
        ("m3.", "/input/3", "", "user text", ""),
        ("m4.", "/input/4/content/0", "", "other", "3"),
    ]


def test_a_body_without_any_input_is_refused() -> None:
    """The reason does not say what it holds."""
    with pytest.raises(BadBodyError) as caught:
        prompt_of({"input": 7, "model": "secret"}, Api.RESPONSES)
    assert caught.value.reason == "input is neither a text nor a list"
