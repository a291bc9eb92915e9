"""The first difference of two JSON values."""

import json
from typing import Any

import pytest

from stemcache.trace.divergence.structure import (
    Spot,
    first_difference,
    same_but_order,
    same_json_text,
)

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "null"}}}


def difference(old: str, new: str) -> Spot | None:
    """Of two JSON texts."""
    return first_difference(json.loads(old), json.loads(new))


@pytest.mark.parametrize(
    ("old", "new", "pointer", "char"),
    [
        ('{"a": "x 10"}', '{"a": "x 11"}', "/a", 3),
        ('{"a": {"b": ["q", "r"]}}', '{"a": {"b": ["q", "s"]}}', "/a/b/1", 0),
        ('{"a": 1}', '{"a": 2}', "/a", None),
        ('{"a": 1}', '{"a": "1"}', "/a", None),
        ('{"a": true}', '{"a": 1}', "/a", None),
        ('{"a": {}}', '{"a": []}', "/a", None),
        ('{"a": [1]}', '{"a": [1, 2]}', "/a/1", None),
        ('{"a": [1, 2]}', '{"a": [1]}', "/a/1", None),
        ('{"a": 1}', '{"a": 1, "b": 2}', "/b", None),
        ('{"a": 1, "b": 2}', '{"a": 1}', "", None),
        ('{"a/b": {"~": "x"}}', '{"a/b": {"~": "y"}}', "/a~1b/~0", 0),
        ('"x"', '"y"', "", 0),
    ],
)
def test_the_smallest_thing_that_differs_is_pointed_at(
    old: str, new: str, pointer: str, char: int | None
) -> None:
    """A string with its character, all else without."""
    spot = difference(old, new)
    assert spot is not None
    assert (spot.pointer, spot.char, spot.key_order) == (pointer, char, False)


def test_the_first_of_several_differences_is_the_one_that_is_written_first() -> None:
    """In the order of the child's keys, whole values before the keys behind them."""
    spot = difference('{"x": "1", "y": "1", "z": 1}', '{"x": "1", "y": "2", "w": 1}')
    assert spot is not None
    assert (spot.pointer, spot.old, spot.new) == ("/y", "1", "2")


def test_keys_in_another_order_are_told_at_their_object() -> None:
    """With both orders."""
    turned = {"properties": SCHEMA["properties"], "type": "object"}
    spot = first_difference({"n": "f", "s": SCHEMA}, {"n": "f", "s": turned})
    assert spot == Spot("/s", None, True, "type, properties", "properties, type")


def test_keys_in_another_order_with_other_values_are_no_mere_order() -> None:
    """Mending the order would not make them equal."""
    spot = difference('{"a": 1, "b": 2}', '{"b": 3, "a": 1}')
    assert spot is not None
    assert not spot.key_order


def test_the_members_of_required_are_a_set() -> None:
    """Their order is a matter of spelling; that of an enum is not."""
    spot = difference('{"required": ["a", "b"]}', '{"required": ["b", "a"]}')
    assert spot == Spot("/required", None, True, "a, b", "b, a")
    other = difference('{"enum": ["a", "b"]}', '{"enum": ["b", "a"]}')
    assert other is not None
    assert (other.pointer, other.key_order) == ("/enum/0", False)


def test_arguments_that_are_spelt_otherwise_mean_the_same() -> None:
    """Raw text: the character is that of the string."""
    old = {"function": {"name": "f", "arguments": '{"a": 1, "b": 2}'}}
    new = {"function": {"name": "f", "arguments": '{"b": 2, "a": 1}'}}
    spot = first_difference(old, new)
    assert spot is not None
    assert (spot.pointer, spot.char, spot.key_order) == ("/function/arguments", 2, True)
    assert same_but_order(old, new)


def test_markers_are_no_difference() -> None:
    """Wherever they stand; a property of that name is one."""
    mark = {"type": "ephemeral"}
    assert first_difference({"a": 1}, {"cache_control": mark, "a": 1}) is None
    assert first_difference({"a": 1, "cache_control": mark}, {"a": 1}) is None
    named = {"properties": {"cache_control": {"type": "string"}}}
    spot = first_difference({"properties": {}}, named)
    assert spot is not None
    assert spot.pointer == "/properties/cache_control"


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ('{"a":1}', '{ "a" : 1 }', True),
        ('{"a":1,"b":[1,{"c":2,"d":3}]}', '{"b":[1,{"d":3,"c":2}],"a":1}', True),
        ('{"a":1}', '{"a":2}', False),
        ("[1,2]", "[2,1]", False),
        ('"a"', '"a" ', False),
        ("{", "{ ", False),
        ("", "{}", False),
        ('{"a":NaN}', '{"a": NaN}', True),
        ('{"a":' + "9" * 5000 + "}", '{"a": ' + "9" * 5000 + "}", False),
        ("[" * 90_000, "[ " + "[" * 90_000, False),
    ],
)
def test_json_texts_are_the_same_if_their_values_are(old: str, new: str, same: bool) -> None:  # noqa: FBT001
    """What cannot be read is not."""
    assert same_json_text(old, new) is same


def nested(depth: int, leaf: object) -> object:
    """Lists in objects in lists."""
    value: Any = leaf
    for i in range(depth):
        value = [value] if i % 2 else {"a": value, "b": 1}
    return value


def test_values_that_nest_deep_are_compared_without_recursion() -> None:
    """Deeper than Python's own stack."""
    spot = first_difference(nested(50_000, "x"), nested(50_000, "y"))
    assert spot is not None
    assert (spot.old, spot.new, spot.char) == ("x", "y", 0)
    assert not same_but_order(nested(50_000, "x"), nested(50_000, "x"))


def test_what_cannot_be_shown_is_shown_as_nothing() -> None:
    """Here a value that nests too deep to be written."""
    spot = first_difference({"a": 1}, {"a": nested(50_000, 1)})
    assert spot is not None
    assert (spot.pointer, spot.old, spot.new) == ("/a", "1", "")
