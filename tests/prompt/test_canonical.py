import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from enum import IntEnum, StrEnum
from math import inf, nan
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.errors import UsageError
from stemcache.prompt.canonical import canonical_json, canonical_schema, canonical_value

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def _shuffled(value: Any) -> Any:
    """The same value, its keys in the opposite order, its lists as tuples."""
    if isinstance(value, dict):
        return {key: _shuffled(value[key]) for key in reversed(list(value))}
    if isinstance(value, list):
        return tuple(_shuffled(one) for one in value)
    return value


def _twin(value: Any) -> str:
    """A dumb second writer, by hand."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float):
        return str(int(value)) if value == int(value) else repr(value)
    if isinstance(value, dict):
        members = [f"{_twin(key)}:{_twin(value[key])}" for key in sorted(value)]
        return "{" + ",".join(members) + "}"
    return "[" + ",".join(map(_twin, value)) + "]"


@given(VALUES)
def test_what_is_read_back_is_equal(value: Any) -> None:
    """Nothing is lost, whatever it is made of."""
    assert json.loads(canonical_json(value)) == value


@given(VALUES)
def test_equal_values_have_one_text(value: Any) -> None:
    """Whatever order keys came in, and whether lists are tuples."""
    assert canonical_json(_shuffled(value)) == canonical_json(value) == _twin(value)


@given(VALUES)
def test_a_canonical_value_dumps_to_the_canonical_text(value: Any) -> None:
    """Whoever keeps the order of keys writes it, and it is canonical already."""
    plain = canonical_value(_shuffled(value))
    dumped = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    assert dumped == canonical_json(value) == canonical_json(plain)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, "é"]}, '{"a":[true,null,"é"],"b":1}'),
        ({"B": 1, "a": 2, "Z": 3, "é": 4, "\U0001f600": 5}, '{"B":1,"Z":3,"a":2,"é":4,"😀":5}'),
        ('\u2028\x00"\\/\x7f', '"\u2028\\u0000\\"\\\\/\x7f"'),
        ([1.0, -0.0, 0.1, 1e-7, 5e-324], "[1,0,0.1,1e-07,5e-324]"),
        ([1e22, 10**22], "[10000000000000000000000,10000000000000000000000]"),
        (
            [2**53, 2**53 + 1, -(2**63) - 1],
            "[9007199254740992,9007199254740993,-9223372036854775809]",
        ),
        ((), "[]"),
        ({}, "{}"),
        ("", '""'),
    ],
)
def test_texts(value: object, text: str) -> None:
    """Keys by code points, numbers by value, characters as they are, integers in full."""
    assert canonical_json(value) == text


def test_composed_and_decomposed_characters_are_two_texts() -> None:
    """Text is never made anew: what was written is what is sent."""
    assert canonical_json("é") != canonical_json("e\u0301")


def test_kinds_of_texts_numbers_and_mappings_are_written_by_value() -> None:
    """An enumeration is its value; a read-only mapping is an object."""

    class Colour(StrEnum):
        RED = "red"

    class Size(IntEnum):
        BIG = 3

    value = MappingProxyType({Colour.RED: Size.BIG})
    assert canonical_json(value) == '{"red":3}'
    plain = canonical_value(value)
    assert [(type(key), type(one)) for key, one in plain.items()] == [(str, int)]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [0, nan]}, "the number at /a/1 is nan, which JSON has no word for; pass null"),
        (inf, "the number at the top is inf"),
        ({"a": {1: 2}}, "a key of the object at /a is a int; keys of JSON are strings"),
        ({"a/b": {"c~": {3}}}, "the value at /a~1b/c~0 is a set, which is no JSON; pass dict"),
        ({"a": b"x"}, "the value at /a is a bytes, which is no JSON"),
        ({"a": "x\ud800"}, "the string at /a has half of a surrogate pair at character 1"),
        ({"\udc00": 1}, "the string at the top has half of a surrogate pair at character 0"),
        (2**5000, "the integer at the top has 5001 bits; at most 4096 are written"),
        ({"k" * 500: {1}}, "the value at /k+ … k+ is a set"),
    ],
)
def test_what_is_no_json_is_an_error_with_its_place(value: object, message: str) -> None:
    """What it is, where it is, and what to pass."""
    with pytest.raises(UsageError, match=message):
        canonical_json(value)


def test_a_mapping_with_a_key_twice_is_an_error() -> None:
    """Which of the two counts would be a guess."""

    class Twice(Mapping[str, int]):
        def __getitem__(self, key: str) -> int:
            return 1

        def __iter__(self) -> Iterator[str]:
            return iter(["a", "a"])

        def __len__(self) -> int:
            return 2

    with pytest.raises(UsageError, match="the object at /x has the key 'a' twice; leave one"):
        canonical_json({"x": Twice()})


def test_nesting_is_bounded() -> None:
    """128 deep is written; deeper, or a value that holds itself, is an error and no overflow."""
    deep: list[object] = []
    for _ in range(127):
        deep = [deep]
    assert canonical_json(deep) == "[" * 128 + "]" * 128
    with pytest.raises(UsageError, match="a value is nested more than 128 deep, at /0/0/"):
        canonical_json([deep])
    ring: dict[str, object] = {}
    ring["a"] = ring
    with pytest.raises(UsageError, match="look for an object that holds itself"):
        canonical_json(ring)


def test_a_schema_has_its_sets_sorted_and_its_lists_as_given() -> None:
    """`required` is a set at every depth; choices, examples and defaults are in an order."""
    node = {"required": ["b", "a"], "type": "object"}
    set_ = {"required": ["a", "b"], "type": "object"}
    given = {
        **node,
        "properties": {"required": {"enum": ["z", "y"]}, "b": node},
        "$defs": {"x": node},
        "anyOf": [node, True],
        "items": [node],
        "additionalProperties": node,
        "dependentRequired": {"a": ["d", "c"]},
        "dependencies": {"a": ["d", "c"], "b": node},
        "examples": [node],
        "default": node,
        "const": {"required": ["b", "a"]},
    }
    assert canonical_schema(given) == {
        **set_,
        "properties": {"required": {"enum": ["z", "y"]}, "b": set_},
        "$defs": {"x": set_},
        "anyOf": [set_, True],
        "items": [set_],
        "additionalProperties": set_,
        "dependentRequired": {"a": ["c", "d"]},
        "dependencies": {"a": ["c", "d"], "b": set_},
        "examples": [node],
        "default": node,
        "const": {"required": ["b", "a"]},
    }


def test_a_schema_that_is_none_is_left_as_it_is_inside() -> None:
    """Wrong schemas are the provider's to refuse; they are written in one order all the same."""
    given = {"required": ["b", 1], "properties": [1], "items": 3, "anyOf": {"required": ["b", "a"]}}
    assert canonical_schema(given) == given


def test_a_schema_that_is_no_object_is_an_error() -> None:
    """What was given, and what to give."""
    with pytest.raises(UsageError, match="a schema is a list; give the JSON Schema of an object"):
        canonical_schema([])  # type: ignore[arg-type]


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=5))
def test_a_canonical_schema_is_a_fixed_point(schema: dict[str, Any]) -> None:
    """Made canonical twice it is the same, and so are schemas in another order."""
    once = canonical_schema(schema)
    assert canonical_json(canonical_schema(once)) == canonical_json(once)
    assert canonical_json(canonical_schema(_shuffled(schema))) == canonical_json(once)


def test_no_hash_seed_or_locale_changes_a_byte() -> None:
    """The same text from processes that hash strings differently."""
    program = (
        "from stemcache.prompt.canonical import canonical_json\n"
        "print(ascii(canonical_json({k: {k: 1.5} for k in set('zyxäéabc')})))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "LC_ALL": locale},
        ).stdout
        for seed, locale in (("0", "C"), ("1", "C.UTF-8"), ("77", "C"))
    }
    assert len(texts) == 1
