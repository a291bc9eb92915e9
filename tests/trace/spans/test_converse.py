from typing import Any

import pytest

from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.span import Prompt
from stemcache.wire.api import Api
from tests.trace.spans.rows import labels, marks, rows

POINT = {"cachePoint": {"type": "default"}}
HOUR = {"cachePoint": {"type": "default", "ttl": "1h"}}


def read(body: dict[str, Any]) -> Prompt:
    """The body as Converse's."""
    return prompt_of(body, Api.CONVERSE)


def blocks(*content: object) -> Prompt:
    """One message of these blocks."""
    return read({"messages": [{"role": "user", "content": list(content)}]})


def test_tools_system_and_messages() -> None:
    """A cachePoint is no span but marks the one before it."""
    prompt = read(
        {
            "modelId": "m",
            "system": [{"text": "Be kind."}, HOUR],
            "toolConfig": {
                "tools": [{"toolSpec": {"name": "f"}}, {"toolSpec": {"name": "g"}}, POINT],
                "toolChoice": {"auto": {}},
            },
            "messages": [
                {"role": "user", "content": [{"text": "a"}, POINT, {"text": "b"}]},
                {"role": "assistant", "content": [{"text": "c"}, POINT]},
            ],
        }
    )
    assert rows(prompt) == [
        ("t", "/toolConfig/tools/0", "", "tool", '{"toolSpec":{"name":"f"}}'),
        ("t.", "/toolConfig/tools/1", "", "tool", '{"toolSpec":{"name":"g"}}'),
        ("s.", "/system/0", "/text", "system text", "Be kind."),
        ("m0", "/messages/0/content/0", "/text", "user text", "a"),
        ("m0.", "/messages/0/content/2", "/text", "user text", "b"),
        ("m1.", "/messages/1/content/0", "/text", "assistant text", "c"),
    ]
    assert marks(prompt) == {
        "/toolConfig/tools/1": ("/toolConfig/tools/2/cachePoint", None),
        "/system/0": ("/system/1/cachePoint", "1h"),
        "/messages/0/content/0": ("/messages/0/content/1/cachePoint", None),
        "/messages/1/content/0": ("/messages/1/content/1/cachePoint", None),
    }
    assert prompt.parameters == {"/modelId": "m", "/toolConfig/toolChoice": {"auto": {}}}


def test_markers_on_nothing_are_kept_as_parameters() -> None:
    """First in a list, behind another marker, and inside of a tool's result."""
    result = {"toolUseId": "t", "content": [{"text": "r"}, HOUR]}
    prompt = read(
        {
            "system": [POINT],
            "messages": [
                {"role": "user", "content": [POINT, {"text": "a"}, POINT, HOUR]},
                {"role": "user", "content": [{"toolResult": result}]},
            ],
        }
    )
    assert prompt.parameters == {
        "/system/0/cachePoint": {"type": "default"},
        "/messages/0/content/0/cachePoint": {"type": "default"},
        "/messages/0/content/3/cachePoint": {"type": "default", "ttl": "1h"},
        "/messages/1/content/0/toolResult/content/1/cachePoint": {"type": "default", "ttl": "1h"},
    }
    assert marks(prompt) == {
        "/messages/0/content/1": ("/messages/0/content/2/cachePoint", None),
    }
    assert prompt.spans[1].text == "r"


def test_a_marker_beside_a_text_marks_it() -> None:
    """As merged blocks have it."""
    assert marks(blocks({"text": "a", **HOUR})) == {
        "/messages/0/content/0": ("/messages/0/content/0/cachePoint", "1h")
    }


def test_blocks_of_every_kind() -> None:
    """A result that is one text is that text; the rest is JSON, without markers."""
    prompt = blocks(
        {"toolUse": {"toolUseId": "t", "name": "f", "input": {"b": 1, "a": 2}}},
        {"toolResult": {"toolUseId": "t", "content": [{"text": "12°"}], "status": "error"}},
        {"toolResult": {"toolUseId": "u", "content": [{"json": {"x": 1}}, POINT]}},
        {"toolResult": {"toolUseId": "v"}},
        {"image": {"format": "png"}},
        {"document": {"name": "d"}},
        {"reasoningContent": {"reasoningText": {"text": "hm"}}},
        {"guardContent": {}},
        "plain",
        7,
    )
    assert [row[2:] for row in rows(prompt)] == [
        (
            "",
            "user tool_use",
            '{"toolUse":{"toolUseId":"t","name":"f","input":{"b":1,"a":2}}}',
        ),
        ("/toolResult/content/0/text", "user tool_result", "12°"),
        ("", "user tool_result", '{"toolResult":{"toolUseId":"u","content":[{"json":{"x":1}}]}}'),
        ("", "user tool_result", '{"toolResult":{"toolUseId":"v"}}'),
        ("", "user image", '{"image":{"format":"png"}}'),
        ("", "user document", '{"document":{"name":"d"}}'),
        ("", "user thinking", '{"reasoningContent":{"reasoningText":{"text":"hm"}}}'),
        ("", "user other", '{"guardContent":{}}'),
        ("", "user text", "plain"),
        ("", "user other", "7"),
    ]
    assert labels(prompt) == {"/messages/0/content/1": "t error"}


def test_odd_messages_are_still_there() -> None:
    """Strings, nulls, markers alone, and a system prompt that is a string."""
    prompt = read(
        {
            "system": "s",
            "messages": [
                {"role": "user", "content": "a"},
                {"role": "user", "content": None},
                {"role": "user", "content": [POINT]},
                {"role": 7, "content": {"text": "b"}},
                None,
            ],
        }
    )
    assert rows(prompt) == [
        ("s.", "/system", "", "system text", "s"),
        ("m0.", "/messages/0", "/content", "user text", "a"),
        ("m1.", "/messages/1", "", "user text", ""),
        ("m2.", "/messages/2", "", "user text", ""),
        ("m3.", "/messages/3/content", "", "other", '{"text":"b"}'),
        ("m4.", "/messages/4", "", "other", "null"),
    ]


def test_a_body_without_a_list_of_messages_is_refused() -> None:
    """The reason does not say what it holds."""
    with pytest.raises(BadBodyError) as caught:
        read({"messages": "secret"})
    assert caught.value.reason == "messages is no list"
