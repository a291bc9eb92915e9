"""Whether two pieces of JSON are the same but for the order of what has none."""

import json

from stemcache.trace.spans.span import Span, SpanKind

__all__ = ["same_but_order", "span_json"]

_MOST_CHARS = 2**16
"""Longer texts are not parsed."""
_MOST_DEPTH = 64
_SETS = frozenset({"required", "dependentRequired"})


def span_json(span: Span) -> object | None:
    """The JSON that a span is or holds as a text, or None."""
    if span.kind in {SpanKind.TOOL, SpanKind.TOOL_USE}:
        return span.value
    text = span.text
    if len(text) > _MOST_CHARS or text.lstrip()[:1] not in {"{", "["}:
        return None
    return _parsed(text)


def same_but_order(one: object | None, other: object | None) -> bool:
    """Whether both are containers that differ in nothing but order of keys, or of names required.

    Strings that are JSON objects, such as arguments of a call, are looked into.
    """
    if not isinstance(one, dict | list) or not isinstance(other, dict | list):
        return False
    return _same(one, other, _MOST_DEPTH)


def _same(one: object, other: object, depth: int, key: str = "") -> bool:
    if depth == 0:
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return False
        return all(_same(one[name], other[name], depth - 1, str(name)) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return False
        if key in _SETS and all(isinstance(item, str) for item in [*one, *other]):
            return sorted(one) == sorted(other)
        return all(_same(a, b, depth - 1) for a, b in zip(one, other, strict=True))
    if isinstance(one, str) and isinstance(other, str) and one != other:
        if max(len(one), len(other)) > _MOST_CHARS:
            return False
        if one.lstrip()[:1] != "{" or other.lstrip()[:1] != "{":
            return False
        left, right = _parsed(one), _parsed(other)
        return isinstance(left, dict) and _same(left, right, depth - 1)
    return type(one) is type(other) and one == other


def _parsed(text: str) -> object | None:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value
