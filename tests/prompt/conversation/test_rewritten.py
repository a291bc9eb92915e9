"""Where two parts differ, part by part."""

import json
from random import Random

import pytest

from stemcache.prompt.conversation.rewritten import Difference, RewrittenError, difference
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


def native(value: object, api: Api = Api.MESSAGES) -> Native:
    """A block of JSON."""
    return Native(api=api, json=value if isinstance(value, str) else json.dumps(value))


@pytest.mark.parametrize(
    ("kept", "given"),
    [
        (
            native({"a": 1, "b": [{"c": None, "d": 2}]}),
            native({"b": [{"d": 2}], "a": 1, "e": None}),
        ),
        (native("no JSON"), native("no JSON")),
        (Text("a", native({"id": 1})), Text("a")),
        (Text("a"), Text("a", native({"id": 1}))),
        (Text("a", native({"id": 1})), Text("a", native({"id": 2}, Api.CHAT))),
        (Text("a", native({"id": 1})), Text("a", native({"phase": 2}))),
        (Image(media_type="image/*", url="u"), Image(media_type="image/png", url="u")),
        (ToolResult(call_id="c", parts=(), name="f"), ToolResult(call_id="c", parts=())),
    ],
)
def test_what_is_the_same_to_a_model_is_no_difference(kept: Part, given: Part) -> None:
    """Orders of members, nulls, what a client left out, guesses of types."""
    assert difference(kept, given, Api.MESSAGES) is None
    assert difference(given, kept, Api.MESSAGES) is None


@pytest.mark.parametrize(
    ("kept", "given", "field", "offset"),
    [
        (native({"a": [1, 2]}), native({"a": [1]}), "json.a[1]", 0),
        (native({"a": {"b": "xy"}}), native({"a": {"b": "xz"}}), "json.a.b", 1),
        (native({"a": {"b": 1}}), native({"a": {}}), "json.a.b", 0),
        (native({"a": 1}), native({"a": True}), "json.a", 0),
        (native({"a": "1"}), native({"a": 1}), "json.a", 0),
        (native([12]), native([13]), "json[0]", 1),
        (native("no JSON"), native("no json"), "json", 3),
        (native({}), native({}, Api.CHAT), "api", 0),
        (Text("a", native({"id": "xy"})), Text("a", native({"id": "xz"})), "beside.id", 1),
        (Text("a", native("[1]")), Text("a", native("[2]")), "beside[0]", 0),
        (
            Image(media_type="image/png", base64="aa"),
            Image(media_type="image/gif", base64="aa"),
            "media_type",
            6,
        ),
        (
            Image(media_type="image/png", url="ab"),
            Image(media_type="image/png", base64="aa"),
            "base64",
            0,
        ),
        (
            ToolResult(call_id="c", parts=(), name="f"),
            ToolResult(call_id="c", parts=(), name="g"),
            "name",
            0,
        ),
    ],
)
def test_what_a_model_reads_otherwise_is_a_difference(
    kept: Part, given: Part, field: str, offset: int
) -> None:
    """With the way to it."""
    found = difference(kept, given, Api.MESSAGES)
    assert found is not None
    assert (found.field, found.offset) == (field, offset)


def test_failures_are_compared_where_an_api_tells_of_them() -> None:
    """OpenAI's have no member for it."""
    kept, given = (ToolResult(call_id="c", parts=(), failed=failed) for failed in (True, False))
    for api in Api:
        found = difference(kept, given, api)
        told = api in {Api.MESSAGES, Api.CONVERSE, Api.GENERATE}
        assert found == (Difference("failed", 0, "True", "False") if told else None)


def test_offsets_are_those_of_a_search_character_by_character() -> None:
    """By halves, which slices make fast, and by the dumb way."""
    rng = Random(2)
    for _ in range(2000):
        one, other = ("".join(rng.choices("ab", k=rng.randrange(12))) for _ in range(2))
        found = difference(Text(one), Text(other), Api.CHAT)
        if one == other:
            assert found is None
            continue
        at = 0
        while at < min(len(one), len(other)) and one[at] == other[at]:
            at += 1
        assert found is not None
        assert (found.offset, found.kept, found.given) == (at, one[at:][:16], other[at:][:16])


def test_an_excerpt_is_of_sixteen_characters_and_none_of_sealed_or_binary_content() -> None:
    """A log must not hold a conversation."""
    long, other = "s" * 1000, "t" * 1000
    found = difference(Text(long), Text(other), Api.CHAT)
    assert found is not None
    assert (found.kept, found.given) == ("s" * 16, "t" * 16)
    for kept, given in (
        (Image(media_type="image/png", base64=long), Image(media_type="image/png", base64=other)),
        (Document(media_type="text/plain", url=long), Document(media_type="text/plain", url=other)),
        (native({"a": long}), native({"a": other})),
        (
            Thinking(api=Api.CHAT, json=f'{{"a":"{long}"}}'),
            Thinking(api=Api.CHAT, json=f'{{"a":"{other}"}}'),
        ),
        (Text("a", native({"a": long})), Text("a", native({"a": other}))),
    ):
        found = difference(kept, given, Api.CHAT)
        assert found is not None
        assert (found.kept, found.given) == ("", "")
        error = RewrittenError(message=1, part=2, found=found, given="messages[1]")
        assert "sss" not in str(error)
    named = difference(native({long: 1}), native({}), Api.CHAT)
    assert named is not None
    assert len(named.field) < 50


def test_equal_arguments_in_other_words_are_told_to_be_equal() -> None:
    """And other ones, or none that are JSON, are not."""
    kept = ToolCall(id="c", name="f", arguments='{"a":1,"b":2}')
    for arguments, hinted in (
        ('{"b":2,"a":1}', True),
        ('{"a": 1}', False),
        ('{"a":1,"b":2', False),
    ):
        found = difference(kept, ToolCall(id="c", name="f", arguments=arguments), Api.CHAT)
        assert found is not None
        assert bool(found.hint) == hinted
