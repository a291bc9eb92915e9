import json
from typing import Any

import pytest

from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.structure import escaped, is_marker, structure_text

EPHEMERAL = {"type": "ephemeral"}


def test_a_structure_is_compact_json_in_its_own_order() -> None:
    """Characters are not escaped, numbers are as they are."""
    value = {"b": [1, 2.5, None, True], "a": "é\n😀"}
    assert structure_text(value) == '{"b":[1,2.5,null,true],"a":"é\\n😀"}'


def test_markers_at_any_depth_are_left_out() -> None:
    """Of every name, null ones too; a cachePoint takes its whole block with it."""
    value = {
        "cache_control": EPHEMERAL,
        "x": [
            {"text": "a", "prompt_cache_breakpoint": {"mode": "explicit"}},
            {"cachePoint": {"type": "default", "ttl": "1h"}},
            {"text": "b", "cache_control": None},
        ],
    }
    assert structure_text(value) == '{"x":[{"text":"a"},{"text":"b"}]}'
    assert value["cache_control"] == EPHEMERAL


def test_a_property_of_a_markers_name_is_content() -> None:
    """A tool that sets markers is a tool."""
    schema = {"properties": {"cache_control": {"type": "object"}, "cachePoint": {"anyOf": []}}}
    assert structure_text(schema) == (
        '{"properties":{"cache_control":{"type":"object"},"cachePoint":{"anyOf":[]}}}'
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, True),
        ({}, True),
        (EPHEMERAL, True),
        ({"mode": "explicit", "ttl": "30m"}, True),
        ({"type": "of-tomorrow", "x": 1}, True),
        ({"type": "string"}, False),
        ({"type": ["string", "null"]}, False),
        ({"$ref": "#/x"}, False),
        ("ephemeral", False),
        (True, False),
    ],
)
def test_markers_are_told_from_schemas(value: object, expected: bool) -> None:  # noqa: FBT001
    """By their type, or by members that only markers have."""
    assert is_marker(value) is expected


def test_halves_of_surrogate_pairs_and_long_integers_are_written() -> None:
    """Some decoders let them pass; markers are left out here too."""
    assert structure_text({"a": "\ud800", "cache_control": EPHEMERAL}) == '{"a":"\ud800"}'
    assert structure_text([2**70]) == "[1180591620717411303424]"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"a": object()}, "the body holds values that are no JSON"),
        ({"a": "\ud800", "b": object()}, "the body holds values that are no JSON"),
        ([10**5_000], "the body holds values that are no JSON"),
    ],
)
def test_what_is_no_json_is_refused(value: object, reason: str) -> None:
    """Without a word of what it holds."""
    with pytest.raises(BadBodyError) as caught:
        structure_text(value)
    assert caught.value.reason == reason


@pytest.mark.parametrize("inner", [0, {"cache_control": EPHEMERAL}])
def test_what_nests_too_deep_is_refused(inner: Any) -> None:
    """With or without markers in it."""
    for _ in range(100_000):
        inner = [inner]
    with pytest.raises(BadBodyError) as caught:
        structure_text(inner)
    assert caught.value.reason == "the JSON nests too deep"


def test_equal_values_spelt_differently_have_one_text() -> None:
    """White space and escapes of the line do not count; the order of keys does."""
    one, two = json.loads('{"a": "\\u00e9", "b":1}'), json.loads('{"a":"é","b":1}')
    assert structure_text(one) == structure_text(two)
    assert structure_text(one) != structure_text(json.loads('{"b":1,"a":"é"}'))


def test_keys_are_escaped_in_pointers() -> None:
    """As RFC 6901 has it."""
    assert [escaped(key) for key in ("a", "a/b", "~", "~1")] == ["a", "a~1b", "~0", "~01"]
