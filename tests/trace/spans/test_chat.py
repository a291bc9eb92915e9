from typing import Any

import pytest

from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.span import Marker, Prompt
from stemcache.wire.api import Api
from tests.trace.spans.rows import labels, marks, rows

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"b": 1,"a":2}'}}
CALL_TEXT = (
    '{"id":"c1","type":"function","function":{"name":"f","arguments":"{\\"b\\": 1,\\"a\\":2}"}}'
)


def read(*messages: object, **body: Any) -> Prompt:
    """A chat of these messages."""
    return prompt_of({"messages": list(messages), **body}, Api.CHAT)


def test_leading_system_and_developer_messages_are_the_system_prompt() -> None:
    """Later ones are messages like others."""
    prompt = read(
        {"role": "system", "content": "a"},
        {"role": "developer", "content": [{"type": "text", "text": "b"}]},
        {"role": "user", "content": "c"},
        {"role": "system", "content": "d"},
        model="gpt-5.5",
    )
    assert rows(prompt) == [
        ("s0.", "/messages/0", "/content", "system text", "a"),
        ("s1.", "/messages/1/content/0", "/text", "developer text", "b"),
        ("m2.", "/messages/2", "/content", "user text", "c"),
        ("m3.", "/messages/3", "/content", "system text", "d"),
    ]
    assert prompt.parameters == {"/model": "gpt-5.5"}


def test_tools_and_legacy_functions_are_tools() -> None:
    """The key order that was sent is kept."""
    tool = {"type": "function", "function": {"name": "f", "parameters": {"b": 1, "a": "é"}}}
    prompt = read(tools=[tool], functions=[{"name": "g"}])
    assert rows(prompt) == [
        (
            "t.",
            "/tools/0",
            "",
            "tool",
            '{"type":"function","function":{"name":"f","parameters":{"b":1,"a":"é"}}}',
        ),
        ("t.", "/functions/0", "", "tool", '{"name":"g"}'),
    ]


def test_an_assistants_message_is_thought_then_text_then_calls() -> None:
    """One span each, the last of which ends the message; arguments stay the string they are."""
    prompt = read(
        {
            "role": "assistant",
            "tool_calls": [CALL, CALL],
            "content": "Let me see.",
            "reasoning_content": "hm",
        }
    )
    assert rows(prompt) == [
        ("m0", "/messages/0/reasoning_content", "", "assistant thinking", "hm"),
        ("m0", "/messages/0", "/content", "assistant text", "Let me see."),
        ("m0", "/messages/0/tool_calls/0", "", "assistant tool_use", CALL_TEXT),
        ("m0.", "/messages/0/tool_calls/1", "", "assistant tool_use", CALL_TEXT),
    ]


@pytest.mark.parametrize("content", [None, "", []])
def test_calls_without_words_are_calls_only(content: object) -> None:
    """Null, an empty text and no parts are the same."""
    prompt = read({"role": "assistant", "content": content, "tool_calls": [CALL]})
    assert rows(prompt) == [
        ("m0.", "/messages/0/tool_calls/0", "", "assistant tool_use", CALL_TEXT)
    ]


def test_results_of_tools_have_their_calls_id_as_label() -> None:
    """As text or as parts, and the legacy function role with its name."""
    prompt = read(
        {"role": "tool", "tool_call_id": "c1", "content": "12°"},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "13°"}]},
        {"role": "function", "name": "f", "content": "14°"},
        {"role": "tool", "tool_call_id": 7, "content": ""},
    )
    assert rows(prompt) == [
        ("m0.", "/messages/0", "/content", "tool tool_result", "12°"),
        ("m1.", "/messages/1/content/0", "/text", "tool tool_result", "13°"),
        ("m2.", "/messages/2", "/content", "function tool_result", "14°"),
        ("m3.", "/messages/3", "/content", "tool tool_result", ""),
    ]
    assert labels(prompt) == {
        "/messages/0": "c1",
        "/messages/1/content/0": "c2",
        "/messages/2": "f",
    }


def test_names_of_speakers_are_labels() -> None:
    """On every span of the message's content."""
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    prompt = read({"role": "user", "name": "ann", "content": parts})
    assert labels(prompt) == {"/messages/0/content/0": "ann", "/messages/0/content/1": "ann"}


def test_images_are_their_address_and_other_media_json() -> None:
    """An address is not copied, and its detail is the label."""
    url = "data:image/png;base64," + "A" * 100
    file = {"type": "file", "file": {"file_id": "f"}}
    prompt = read(
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": url, "detail": "low"}},
                {"type": "image_url", "image_url": url},
                {"type": "image_url", "image_url": {"url": None}},
                file,
                {"type": "input_audio", "input_audio": {"data": "U", "format": "wav"}},
                {"type": "video_url", "video_url": {"url": "v"}},
            ],
        }
    )
    assert [row[2:] for row in rows(prompt)] == [
        ("/image_url/url", "user image", url),
        ("/image_url", "user image", url),
        ("", "user image", '{"type":"image_url","image_url":{"url":null}}'),
        ("", "user document", '{"type":"file","file":{"file_id":"f"}}'),
        (
            "",
            "user other",
            '{"type":"input_audio","input_audio":{"data":"U","format":"wav"}}',
        ),
        ("", "user other", '{"type":"video_url","video_url":{"url":"v"}}'),
    ]
    assert prompt.spans[0].text is url
    assert labels(prompt) == {"/messages/0/content/0": "low"}


def test_markers_of_gateways_stand_on_parts_messages_and_tools() -> None:
    """On a message it is the last span's; a part's own wins."""
    mark = {"type": "ephemeral", "ttl": "1h"}
    prompt = read(
        {"role": "system", "content": "a", "cache_control": mark},
        {"role": "user", "content": [{"type": "text", "text": "b", "cache_control": mark}]},
        {"role": "assistant", "content": "c", "tool_calls": [CALL], "cache_control": mark},
        {
            "role": "user",
            "content": [{"type": "text", "text": "d", "cache_control": {"type": "ephemeral"}}],
            "cache_control": mark,
        },
        tools=[
            {"type": "function", "function": {"name": "f"}, "cache_control": mark},
            {"type": "function", "function": {"name": "f", "cache_control": mark}},
        ],
    )
    assert marks(prompt) == {
        "/tools/0": ("/tools/0/cache_control", "1h"),
        "/tools/1": ("/tools/1/function/cache_control", "1h"),
        "/messages/0": ("/messages/0/cache_control", "1h"),
        "/messages/1/content/0": ("/messages/1/content/0/cache_control", "1h"),
        "/messages/2/tool_calls/0": ("/messages/2/cache_control", "1h"),
        "/messages/3/content/0": ("/messages/3/content/0/cache_control", None),
    }
    assert prompt.spans[0].text == prompt.spans[1].text


def test_breakpoints_take_over_the_requests_time_to_live() -> None:
    """Unless they name their own."""
    own = {"mode": "explicit", "ttl": "12h"}
    prompt = read(
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit"}},
                {"type": "text", "text": "b", "prompt_cache_breakpoint": own},
                {
                    "type": "image_url",
                    "image_url": {"url": "u"},
                    "prompt_cache_breakpoint": {"mode": "explicit"},
                },
                {"type": "odd", "prompt_cache_breakpoint": own},
                {"type": "text", "text": "e", "prompt_cache_breakpoint": None},
            ],
        },
        prompt_cache_options={"mode": "implicit", "ttl": "30m"},
    )
    at = "/messages/0/content"
    assert marks(prompt) == {
        f"{at}/0": (f"{at}/0/prompt_cache_breakpoint", "30m"),
        f"{at}/1": (f"{at}/1/prompt_cache_breakpoint", "12h"),
        f"{at}/2": (f"{at}/2/prompt_cache_breakpoint", "30m"),
        f"{at}/3": (f"{at}/3/prompt_cache_breakpoint", "12h"),
    }
    assert prompt.spans[3].text == '{"type":"odd"}'
    assert prompt.parameters["/prompt_cache_options/ttl"] == "30m"


def test_a_marker_of_the_whole_request_is_automatic() -> None:
    """As gateways and Qwen take it."""
    prompt = read({"role": "user", "content": "a"}, cache_control={"type": "ephemeral"})
    assert prompt.automatic == Marker("/cache_control")


def test_blocks_of_other_apis_are_read_as_there() -> None:
    """Gateways take Anthropic's blocks in chats."""
    prompt = read(
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t", "content": "r"}],
        },
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]},
    )
    assert [row[2:] for row in rows(prompt)] == [
        ("/content", "user tool_result", "r"),
        ("/thinking", "assistant thinking", "hm"),
    ]


def test_thoughts_under_other_names_refusals_and_audio() -> None:
    """Each is a span where it says something."""
    prompt = read(
        {
            "role": "assistant",
            "reasoning": "r",
            "reasoning_details": [{"type": "reasoning.text", "text": "r"}],
            "content": None,
            "refusal": "No.",
            "audio": {"id": "a"},
            "function_call": {"name": "f", "arguments": "{}"},
        },
        {"role": "assistant", "content": "a", "refusal": None, "audio": None, "reasoning": ""},
    )
    assert [row[1:] for row in rows(prompt)] == [
        ("/messages/0/reasoning", "", "assistant thinking", "r"),
        (
            "/messages/0/reasoning_details",
            "",
            "assistant thinking",
            '[{"type":"reasoning.text","text":"r"}]',
        ),
        ("/messages/0/refusal", "", "assistant text", "No."),
        ("/messages/0/function_call", "", "assistant tool_use", '{"name":"f","arguments":"{}"}'),
        ("/messages/0/audio", "", "assistant other", '{"id":"a"}'),
        ("/messages/1", "/content", "assistant text", "a"),
    ]


def test_odd_messages_are_still_there() -> None:
    """Roles that are no text, contents of odd types, and what is no message."""
    prompt = read(
        {"role": ["system"], "content": "a"},
        {"role": "user", "content": 7},
        {"role": "user", "content": None},
        "hi",
        None,
    )
    assert rows(prompt) == [
        ("m0.", "/messages/0", "/content", "text", "a"),
        ("m1.", "/messages/1/content", "", "user other", "7"),
        ("m2.", "/messages/2", "", "user text", ""),
        ("m3.", "/messages/3", "", "text", "hi"),
        ("m4.", "/messages/4", "", "other", "null"),
    ]


def test_a_body_without_a_list_of_messages_is_refused() -> None:
    """The reason does not say what it holds."""
    with pytest.raises(BadBodyError) as caught:
        prompt_of({"messages": {"role": "user"}}, Api.CHAT)
    assert caught.value.reason == "messages is no list"
