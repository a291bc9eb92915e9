import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.lint.explain.json_map import (
    JsonMap,
    Paths,
    line_and_column,
    raw_offset,
    scan,
    unescaped,
)

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=6), inner, max_size=4)
    ),
    max_leaves=20,
)


def mapped(text: str) -> JsonMap:
    """A map that there is."""
    found = scan(text, Paths())
    assert found is not None
    return found


def spelt(text: str, pointer: str) -> str:
    """What stands at a pointer."""
    found = mapped(text)
    number = found.paths.find(pointer)
    assert number is not None
    return found.spelt(number)


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        ("", '{ "a": [1, {"b/c": "x"}], "": null, "0": -1.5e3 }'),
        ("/a", '[1, {"b/c": "x"}]'),
        ("/a/0", "1"),
        ("/a/1", '{"b/c": "x"}'),
        ("/a/1/b~1c", '"x"'),
        ("/", "null"),
        ("/0", "-1.5e3"),
    ],
)
def test_each_value_is_found_by_its_pointer(pointer: str, expected: str) -> None:
    """Keys that look like numbers, are empty or hold a slash among them."""
    assert spelt(' { "a": [1, {"b/c": "x"}], "": null, "0": -1.5e3 }\n', pointer) == expected


@given(VALUES, st.sampled_from([None, 0, 2]), st.booleans())
def test_what_is_found_decodes_to_what_is_there(
    value: Any,
    indent: int | None,
    escaped: bool,  # noqa: FBT001  # drawn
) -> None:
    """However the text is laid out."""
    text = json.dumps(value, indent=indent, ensure_ascii=escaped)
    found = mapped(text)
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        pointer, node = stack.pop()
        number = found.paths.find(pointer)
        assert number is not None
        assert json.loads(found.spelt(number)) == node
        assert found.paths.pointer(number) == pointer
        if isinstance(node, dict):
            for key, inner in node.items():
                stack.append((f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}", inner))
        elif isinstance(node, list):
            stack += [(f"{pointer}/{i}", inner) for i, inner in enumerate(node)]


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.booleans(), st.data())
def test_a_character_is_found_in_its_escaped_text(
    value: str,
    escaped: bool,  # noqa: FBT001  # drawn
    data: st.DataObject,
) -> None:
    """Behind escapes of any length, pairs of surrogates among them."""
    text = "  " + json.dumps(value, ensure_ascii=escaped)
    char = data.draw(st.integers(0, len(value) - 1))
    at = raw_offset(text, 2, len(text), char)
    assert json.loads('"' + text[at:]) == value[char:]
    assert unescaped(text[2:]) == value


def test_a_character_beyond_the_end_is_the_closing_quote() -> None:
    """Where one text goes on and the other has ended."""
    assert raw_offset('"abc"', 0, 5, 3) == 4
    assert raw_offset('"abc"', 0, 5, 99) == 4
    assert raw_offset('""', 0, 2, 0) == 1


def test_of_repeated_keys_the_last_counts() -> None:
    """As decoders have it; that it was repeated is noted."""
    found = mapped('{"a": 1, "b": 2, "a": 3}')
    number = found.paths.find("/a")
    assert number is not None
    assert found.spelt(number) == "3"
    assert found.repeated == [number]
    assert [found.paths.key(key) for key in found.keys[0]] == ["b", "a"]


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ('{"a":[1,2]}', "without white space"),
        (' {"a":1}\n', "without white space"),
        ('{"a": 1}', "on one line"),
        ('{\n  "a": 1\n}', "indented by 2"),
        ('{\r\n\t"a": 1\r\n}', "indented by 1"),
        ('{\n"a": 1}', "indented by 0"),
    ],
)
def test_the_layout_is_told(text: str, layout: str) -> None:
    """White space around the whole is none of it."""
    assert mapped(text).layout == layout


@pytest.mark.parametrize(
    "text", ["", " ", "{", "}", '{"a"', "[1", "[1}", '{"a":1]', '"unended', "{1:2}", 'a\x00"', "]["]
)
def test_what_is_no_json_has_no_map(text: str) -> None:
    """And raises nothing."""
    assert scan(text, Paths()) is None


def test_deep_nesting_and_long_keys_cost_what_they_are_long() -> None:
    """Pointers are spelt only when asked for."""
    deep = "[" * 20_000 + "]" * 20_000
    assert scan(deep, Paths()) is not None
    key = json.dumps("k" * 50_000)
    wide = "{" + key + ":[" + ",".join(["{}"] * 50_000) + "]}"
    found = scan(wide, Paths())
    assert found is not None
    assert len(found.values) == 50_002


def test_more_tokens_than_the_bound_have_no_map() -> None:
    """A map is for showing places, and not worth any memory."""
    assert scan("[1,2,3]", Paths(), most_tokens=6) is None
    assert scan("[1,2,3]", Paths(), most_tokens=7) is not None


def test_lines_and_columns_count_from_one() -> None:
    """From the line on which the text begins."""
    text = '{\n  "a": "é\\u00e9x"\n}'
    assert line_and_column(text, 0) == (1, 1)
    assert line_and_column(text, text.index('"a"')) == (2, 3)
    assert line_and_column(text, text.index("}"), first_line=7) == (9, 1)
