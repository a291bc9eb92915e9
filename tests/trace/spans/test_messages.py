from typing import Any

import pytest

from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.span import Marker, Prompt, SpanKind
from stemcache.wire.api import Api
from tests.trace.spans.rows import labels, marks, rows

EPHEMERAL = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def read(body: dict[str, Any]) -> Prompt:
    """The body as Anthropic's."""
    return prompt_of(body, Api.MESSAGES)


def blocks(*content: object, role: str = "user") -> Prompt:
    """One message of these blocks."""
    return read({"messages": [{"role": role, "content": list(content)}]})


def test_tools_come_first_then_the_system_prompt_then_messages() -> None:
    """Whatever order the body's members have."""
    prompt = read(
        {
            "model": "claude-opus-5",
            "messages": [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]},
            ],
            "system": [{"type": "text", "text": "Be kind."}, {"type": "text", "text": "Be short."}],
            "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        }
    )
    assert rows(prompt) == [
        ("t.", "/tools/0", "", "tool", '{"name":"f","input_schema":{"type":"object"}}'),
        ("s", "/system/0", "/text", "system text", "Be kind."),
        ("s.", "/system/1", "/text", "system text", "Be short."),
        ("m0.", "/messages/0", "/content", "user text", "Hi"),
        ("m1.", "/messages/1/content/0", "/text", "assistant text", "Hello"),
    ]
    assert prompt.parameters == {"/model": "claude-opus-5"}


def test_a_system_prompt_may_be_one_string() -> None:
    """Its span points to the body's member."""
    prompt = read({"system": "Be kind.", "messages": []})
    assert rows(prompt) == [("s.", "/system", "", "system text", "Be kind.")]
    assert prompt.spans[0].value == "Be kind."


@pytest.mark.parametrize("content", ["Hi", [{"type": "text", "text": "Hi"}]])
def test_a_string_is_the_same_as_one_text_block(content: object) -> None:
    """In text, role, kind and label."""
    (span,) = read({"messages": [{"role": "user", "content": content}]}).spans
    assert (span.text, span.role, span.kind, span.label) == ("Hi", "user", SpanKind.TEXT, "")


def test_a_system_message_among_others_stays_there() -> None:
    """It is a span of the messages, with its own role."""
    prompt = read({"system": "a", "messages": [{"role": "system", "content": "b"}]})
    assert rows(prompt)[1] == ("m0.", "/messages/0", "/content", "system text", "b")


def test_calls_and_results_of_tools() -> None:
    """A call is JSON as sent; a result of one text is that text, its call's id the label."""
    prompt = read(
        {
            "messages": [
                {
                    "role": "assistant",
                    "content": [
                        {"type": "tool_use", "id": "t1", "name": "f", "input": {"b": 1, "a": 2}},
                        {"type": "server_tool_use", "id": "t2", "name": "web_search", "input": {}},
                        {"type": "mcp_tool_use", "id": "t3", "name": "g", "input": {}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "t1", "content": "12°"},
                        {
                            "type": "tool_result",
                            "tool_use_id": "t1",
                            "is_error": True,
                            "content": [{"type": "text", "text": "no"}],
                        },
                        {"type": "web_search_tool_result", "tool_use_id": "t2", "content": []},
                        {"type": "tool_result", "tool_use_id": "t3"},
                    ],
                },
            ]
        }
    )
    call = '{"type":"tool_use","id":"t1","name":"f","input":{"b":1,"a":2}}'
    search = '{"type":"server_tool_use","id":"t2","name":"web_search","input":{}}'
    found = '{"type":"web_search_tool_result","tool_use_id":"t2","content":[]}'
    none = '{"type":"tool_result","tool_use_id":"t3"}'
    remote = '{"type":"mcp_tool_use","id":"t3","name":"g","input":{}}'
    assert rows(prompt) == [
        ("m0", "/messages/0/content/0", "", "assistant tool_use", call),
        ("m0", "/messages/0/content/1", "", "assistant tool_use", search),
        ("m0.", "/messages/0/content/2", "", "assistant tool_use", remote),
        ("m1", "/messages/1/content/0", "/content", "user tool_result", "12°"),
        ("m1", "/messages/1/content/1", "/content/0/text", "user tool_result", "no"),
        ("m1", "/messages/1/content/2", "", "user tool_result", found),
        ("m1.", "/messages/1/content/3", "", "user tool_result", none),
    ]
    assert labels(prompt) == {
        "/messages/1/content/0": "t1",
        "/messages/1/content/1": "t1 error",
    }


def test_a_result_of_several_blocks_is_json() -> None:
    """Without the markers in it, the last of which is the result's."""
    prompt = blocks(
        {
            "type": "tool_result",
            "tool_use_id": "t",
            "content": [
                {"type": "text", "text": "a", "cache_control": EPHEMERAL},
                {"type": "text", "text": "b", "cache_control": HOUR},
                {"type": "text", "text": "c"},
            ],
        }
    )
    assert prompt.spans[0].text == (
        '{"type":"tool_result","tool_use_id":"t","content":'
        '[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"text","text":"c"}]}'
    )
    assert marks(prompt) == {
        "/messages/0/content/0": ("/messages/0/content/0/content/1/cache_control", "1h")
    }


def test_thoughts_are_their_text_and_their_seal() -> None:
    """A redacted one is its data; one without either is JSON."""
    prompt = blocks(
        {"type": "thinking", "thinking": "hm", "signature": "Eq"},
        {"type": "redacted_thinking", "data": "EmwK"},
        {"type": "thinking"},
        role="assistant",
    )
    assert [row[2:] for row in rows(prompt)] == [
        ("/thinking", "assistant thinking", "hm"),
        ("/data", "assistant thinking", "EmwK"),
        ("", "assistant thinking", '{"type":"thinking"}'),
    ]
    assert labels(prompt) == {"/messages/0/content/0": "Eq"}


def test_media_are_the_one_string_that_they_are() -> None:
    """A document that says more is JSON."""
    titled = {
        "type": "document",
        "source": {"type": "text", "data": "d"},
        "title": "T",
    }
    prompt = blocks(
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}},
        {"type": "image", "source": {"type": "url", "url": "https://a/b.png"}},
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        titled,
        {"type": "search_result", "source": "s", "title": "t", "content": []},
    )
    assert [row[2:] for row in rows(prompt)] == [
        ("/source/data", "user image", "iVBO"),
        ("/source/url", "user image", "https://a/b.png"),
        ("/source/file_id", "user document", "file_1"),
        (
            "",
            "user document",
            '{"type":"document","source":{"type":"text","data":"d"},"title":"T"}',
        ),
        ("", "user document", '{"type":"search_result","source":"s","title":"t","content":[]}'),
    ]
    assert labels(prompt) == {"/messages/0/content/0": "image/png"}


def test_a_large_image_is_not_copied() -> None:
    """Its span holds the body's own string."""
    data = "A" * 1_000_000
    (span,) = blocks({"type": "image", "source": {"type": "base64", "data": data}}).spans
    assert span.text is data


def test_markers_stand_on_tools_system_blocks_and_message_blocks() -> None:
    """Each with the time to live that is written; null is none."""
    prompt = read(
        {
            "tools": [{"name": "f", "cache_control": HOUR}],
            "system": [{"type": "text", "text": "s", "cache_control": EPHEMERAL}],
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "a", "cache_control": None},
                        {"type": "tool_result", "tool_use_id": "t", "cache_control": EPHEMERAL},
                    ],
                }
            ],
        }
    )
    assert marks(prompt) == {
        "/tools/0": ("/tools/0/cache_control", "1h"),
        "/system/0": ("/system/0/cache_control", None),
        "/messages/0/content/1": ("/messages/0/content/1/cache_control", None),
    }
    assert prompt.spans[0].text == '{"name":"f"}'
    assert prompt.spans[0].value == {"name": "f", "cache_control": HOUR}
    assert prompt.automatic is None


def test_a_marker_of_the_whole_request_is_automatic() -> None:
    """It is no span's."""
    prompt = read({"cache_control": HOUR, "messages": [{"role": "user", "content": "a"}]})
    assert prompt.automatic == Marker("/cache_control", "1h")
    assert marks(prompt) == {}


def test_blocks_of_unknown_types_are_other() -> None:
    """Strings among blocks are texts; what is no object is JSON."""
    prompt = blocks({"type": "hologram", "x": 1}, "plain", 7, None, {"type": ["list"]})
    assert [row[2:] for row in rows(prompt)] == [
        ("", "user other", '{"type":"hologram","x":1}'),
        ("", "user text", "plain"),
        ("", "user other", "7"),
        ("", "user other", "null"),
        ("", "user other", '{"type":["list"]}'),
    ]


def test_messages_that_say_nothing_are_still_there() -> None:
    """A null, an empty list and no content are one empty span each; odd messages are other."""
    prompt = read(
        {
            "messages": [
                {"role": "user", "content": None},
                {"role": "user", "content": []},
                {"role": "user"},
                {"content": {"type": "text", "text": "a"}},
                None,
                "hi",
            ]
        }
    )
    assert rows(prompt) == [
        ("m0.", "/messages/0", "", "user text", ""),
        ("m1.", "/messages/1", "", "user text", ""),
        ("m2.", "/messages/2", "", "user text", ""),
        ("m3.", "/messages/3/content", "/text", "text", "a"),
        ("m4.", "/messages/4", "", "other", "null"),
        ("m5.", "/messages/5", "", "text", "hi"),
    ]


@pytest.mark.parametrize("messages", [None, "hi", {}, 7])
def test_a_body_without_a_list_of_messages_is_refused(messages: object) -> None:
    """The reason does not say what it holds."""
    with pytest.raises(BadBodyError) as caught:
        read({"messages": messages})
    assert caught.value.reason == "messages is no list"


def test_tools_and_system_of_odd_types_are_parameters() -> None:
    """They are not lost, and not refused."""
    prompt = read({"messages": [], "tools": {"a": 1}, "system": 7})
    assert prompt.spans == ()
    assert prompt.parameters == {"/tools": {"a": 1}, "/tools/a": 1, "/system": 7}
