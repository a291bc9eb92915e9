import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.errors import UsageError
from stemcache.prompt.render.options import options_of

_VALUES = st.recursive(
    st.integers() | st.text("abschem", max_size=6),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("abc"), inner, max_size=3),
    max_leaves=6,
)


def turned(value: Any) -> Any:
    """The same, members in the opposite order."""
    if isinstance(value, dict):
        return {key: turned(item) for key, item in reversed(value.items())}
    return [turned(one) for one in value] if isinstance(value, list) else value


@given(st.dictionaries(st.text("abc"), _VALUES, max_size=4))
def test_equal_options_have_equal_bytes(options: dict[str, Any]) -> None:
    """Whatever order they were given in, at any depth."""
    made = options_of(options, ())
    assert made == options
    assert json.dumps(made) == json.dumps(options_of(turned(options), ()))


@pytest.mark.parametrize(
    "options",
    [
        {"response_format": {"json_schema": {"schema": {"z": {"y": 1, "b": [{"d": 1, "c": 2}]}}}}},
        {"text": {"format": {"schema": {"z": {"y": 1, "b": [{"d": 1, "c": 2}]}}}}},
        {"generationConfig": {"responseSchema": {"z": {"y": 1, "b": [{"d": 1, "c": 2}]}}}},
        {"generationConfig": {"responseJsonSchema": {"z": {"y": 1, "b": [{"d": 1, "c": 2}]}}}},
    ],
)
def test_the_schema_of_an_answer_keeps_its_order(options: dict[str, Any]) -> None:
    """A model writes members in that order, a reason before an answer."""
    assert json.dumps(options_of(options, ())) == json.dumps(options)


def test_what_is_given_is_copied() -> None:
    """As plain dictionaries and lists, also within the schema of an answer."""
    inner = MappingProxyType({"b": (1, 2), "a": 1})
    made = options_of({"x": inner, "schema": inner}, ())
    assert json.dumps(made) == '{"schema": {"b": [1, 2], "a": 1}, "x": {"a": 1, "b": [1, 2]}}'


def test_names_of_the_layout_are_refused() -> None:
    """The first of them, by name."""
    with pytest.raises(UsageError, match="option 'messages' is written by the layout"):
        options_of({"tools": [], "messages": []}, ("tools", "messages"))


@pytest.mark.parametrize("value", [float("nan"), object(), {1: 2}, b"x"])
def test_what_is_no_json_is_refused(value: Any) -> None:
    """With the place."""
    with pytest.raises(UsageError, match="/x"):
        options_of({"x": value}, ())
