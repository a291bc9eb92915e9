from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemcache.trace.calls.formats.python_text import named_values, python_value, value_end

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab'\"\\"), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from(["rid", "text", "ids"]), VALUES))
def test_what_python_prints_is_read(values: dict[str, Any]) -> None:
    """Arguments of any values are found, and are the values."""
    printed = "Obj(" + ", ".join(f"{name}={value!r}" for name, value in values.items()) + ")"
    line = printed + ", out={'a': ')'}"
    assert line[: value_end(line, 0)] == printed
    assert {name: python_value(text) for name, text in named_values(printed)} == values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"'it\'s \x41\u0042\U00000043\n'", "it's ABC\n"),
        (r"'caf\xe9 — é'", "café — é"),
        (r"'\ud83d'", "\ufffd"),
        (r"'\q'", r"\q"),
        ("'open", None),
        (r"'open\'", None),
        (r"'\x4'", None),
        ("'a' 'b'", None),
        ("[1, 2, 3]", [1, 2, 3]),
        ("[1, 2,, 3]", None),
        ("(1, {'a': b'x'})", [1, {"a": None}]),
        ("{1: 2, 'a': 3}", {"a": 3}),
        ("__import__('os')", None),
        ("1 +", None),
        ("(" * 5000, None),
        ("9" * 5000, None),
        ("", None),
    ],
)
def test_values(text: str, value: Any) -> None:
    """Plain values are read, and what is none is none."""
    assert python_value(text) == value


def test_long_values_are_not_parsed() -> None:
    """A structure beyond the bound is none; a text of any length is read."""
    assert python_value("[" + "[]," * 10**6 + "]") is None
    assert len(python_value("'" + "a" * 10**7 + "'")) == 10**7
