import json

import pytest

from stemcache.lint.json_order import same_but_order, span_json
from stemcache.trace.spans.span import SpanKind
from tests.lint.changes import span


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": {"x": 1, "y": [1, 2]}}, {"a": {"y": [1, 2], "x": 1}}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1}, {"a": 1, "b": 1}, False),
        ({"a": 1}, {"a": True}, False),
        ({"a": 1}, {"a": 1.0}, False),
        ({"a": [1, 2]}, {"a": [2, 1]}, False),
        ({"a": [1]}, {"a": [1, 2]}, False),
        ({"required": ["a", "b"]}, {"required": ["b", "a"]}, True),
        ({"required": ["a", "b"]}, {"required": ["b", "c"]}, False),
        ({"required": [1, 2]}, {"required": [2, 1]}, False),
        ({"enum": ["a", "b"]}, {"enum": ["b", "a"]}, False),
        ({"arguments": '{"a":1,"b":2}'}, {"arguments": '{"b": 2, "a": 1}'}, True),
        ({"arguments": '{"a":1}'}, {"arguments": '{"a":2}'}, False),
        ({"arguments": '{"a":1'}, {"arguments": '{"a":2'}, False),
        ({"arguments": "{a"}, {"arguments": "{b"}, False),
        ({"text": "1"}, {"text": "1.0"}, False),
        ([{"a": 1, "b": 2}], [{"b": 2, "a": 1}], True),
        ("x", "x", False),
        (None, None, False),
    ],
)
def test_only_order_of_keys_and_of_required_names_is_left_out(
    one: object,
    other: object,
    same: bool,  # noqa: FBT001  # a column of the table
) -> None:
    """Values, types, other lists and numbers of members count."""
    assert same_but_order(one, other) is same


def test_what_nests_too_deep_is_not_the_same() -> None:
    """The comparison stops at a depth, without an error."""
    one: object = {"a": 1, "b": 2}
    other: object = {"b": 2, "a": 1}
    for _ in range(500):
        one, other = {"x": one}, {"x": other}
    assert same_but_order(one, other) is False


@pytest.mark.parametrize(
    "text",
    ["", "x", '{"a": 1', "[" * 100_000, '{"a": ' + "1" * 20_000 + "}", '{"a":"' + "x" * 2**17],
)
def test_texts_that_are_no_json_or_too_much_of_it_are_none(text: str) -> None:
    """Nesting bombs, numbers of many digits and long texts raise nothing."""
    assert span_json(span(text, 1)) is None


def test_json_of_spans() -> None:
    """A text is parsed, a tool and a call are taken as decoded."""
    assert span_json(span(' {"a": 1}', 1)) == {"a": 1}
    call = {"arguments": json.dumps({"a": 1})}
    assert span_json(span("…", 1, kind=SpanKind.TOOL_USE, value=call)) == call
