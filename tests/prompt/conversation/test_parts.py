"""Messages as canonical bytes."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemcache.prompt.conversation.part_json import message_bytes, message_of
from stemcache.prompt.message import Message
from stemcache.prompt.part import (
    Document,
    Image,
    Native,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from stemcache.wire.api import Api

TEXTS = st.text(st.characters(exclude_categories=()), max_size=8)
"""All code points, halves of surrogate pairs among them."""
KINDS = st.text(st.characters(exclude_categories=()), min_size=1, max_size=8)
APIS = st.sampled_from(list(Api))
NATIVES = st.builds(Native, api=APIS, json=TEXTS)
BESIDE = st.none() | NATIVES
WORDS = st.builds(Text, TEXTS, BESIDE)
IMAGES = st.builds(Image, media_type=KINDS, base64=st.none() | TEXTS, url=st.none() | TEXTS)
DOCUMENTS = st.builds(
    Document, media_type=KINDS, name=TEXTS, base64=st.none() | TEXTS, url=st.none() | TEXTS
)
INSIDE = st.lists(WORDS | IMAGES | DOCUMENTS, max_size=3).map(tuple)
PARTS: st.SearchStrategy[Part] = st.one_of(
    WORDS,
    IMAGES,
    DOCUMENTS,
    NATIVES,
    st.builds(Thinking, api=APIS, json=TEXTS),
    st.builds(ToolCall, id=TEXTS, name=TEXTS, arguments=TEXTS, beside=BESIDE),
    st.builds(ToolResult, call_id=TEXTS, parts=INSIDE, name=TEXTS, failed=st.booleans()),
)
MESSAGES = st.builds(
    Message, st.sampled_from(("user", "assistant")), st.lists(PARTS, max_size=4).map(tuple)
)


@given(MESSAGES)
@settings(max_examples=400)
def test_a_message_reads_back_equal_and_to_equal_bytes(message: Message) -> None:
    """Whatever it holds, on one line."""
    data = message_bytes(message)
    assert b"\n" not in data
    back = message_of(json.loads(data))
    assert back == message
    assert message_bytes(back) == data


@given(MESSAGES, MESSAGES)
@settings(max_examples=300)
def test_messages_have_equal_bytes_only_where_they_are_equal(one: Message, other: Message) -> None:
    """Digests are made of these bytes alone."""
    assert (message_bytes(one) == message_bytes(other)) == (one == other)


@pytest.mark.parametrize(
    ("part", "written"),
    [
        (Text("é"), '{"type":"text","text":"é"}'),
        (
            Text("", Native(api=Api.CHAT, json="{}")),
            '{"type":"text","text":"","beside":{"type":"native","api":"chat","json":"{}"}}',
        ),
        (
            Image(media_type="image/png", base64="aa"),
            '{"type":"image","media_type":"image/png","base64":"aa"}',
        ),
        (
            Document(media_type="text/csv", name="a", url="s3://a"),
            '{"type":"document","media_type":"text/csv","name":"a","url":"s3://a"}',
        ),
        (
            ToolCall(id="1", name="f", arguments="{}"),
            '{"type":"tool_call","id":"1","name":"f","arguments":"{}"}',
        ),
        (
            ToolResult(call_id="1", parts=(Text("x"),), name="f", failed=True),
            (
                '{"type":"tool_result","call_id":"1","parts":[{"type":"text","text":"x"}],'
                '"name":"f","failed":true}'
            ),
        ),
        (Thinking(api=Api.MESSAGES, json="{}"), '{"type":"thinking","api":"messages","json":"{}"}'),
        (Native(api=Api.GENERATE, json="{}"), '{"type":"native","api":"generate","json":"{}"}'),
    ],
)
def test_the_form_of_each_part_stays_as_it_is(part: Part, written: str) -> None:
    """Files of today are read by releases to come, and digests are compared with them."""
    data = message_bytes(Message("user", (part,)))
    assert data.decode() == f'{{"speaker":"user","parts":[{written}]}}'


def test_half_of_a_surrogate_pair_is_kept() -> None:
    """Models are cut off in the middle of a character at times."""
    message = Message("assistant", (Text("cut \ud83d"),))
    assert message_of(json.loads(message_bytes(message))) == message


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {"speaker": "system", "parts": []},
        {"speaker": "user"},
        {"speaker": "user", "parts": [{"type": "video"}]},
        {"speaker": "user", "parts": [{"text": "no type"}]},
        {"speaker": "user", "parts": [{"type": "text", "text": 5}]},
        {"speaker": "user", "parts": [{"type": "text", "text": "a", "more": 1}]},
        {"speaker": "user", "parts": [], "more": 1},
        {"speaker": "user", "parts": [{"type": "thinking", "api": "other", "json": ""}]},
        {
            "speaker": "user",
            "parts": [
                {
                    "type": "tool_result",
                    "call_id": "",
                    "parts": [{"type": "native", "api": "chat", "json": ""}],
                }
            ],
        },
    ],
)
def test_what_is_no_message_is_not_read(value: Any) -> None:
    """Unknown members too: they were written by a release that meant something by them."""
    with pytest.raises(msgspec.ValidationError):
        message_of(value)
