"""Pairs of requests made from bodies, as values and as texts."""

import copy
import json
from collections.abc import Mapping
from typing import Any

from stemcache.lint.explain.explain import How, explain
from stemcache.lint.explain.explanation import Explanation
from stemcache.lint.explain.request import BodyText, Request
from stemcache.provider.book import load_book
from stemcache.trace.calls.call import Place
from tests.lint.logs import call

__all__ = ["HOW", "changed", "explained", "request", "shown"]

HOW = How(book=load_book())


def request(body: Mapping[str, Any], name: str = "a.json", **others: Any) -> Request:
    """A request from a file that holds the body, two blanks an indent."""
    text = json.dumps(body, indent=2)
    made = call(body, 1, **{"place": Place(name, 1), **others})
    return Request(name=name, call=made, text=BodyText(text=text, first_line=1))


def explained(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    *,
    old_call: Mapping[str, Any] | None = None,
    new_call: Mapping[str, Any] | None = None,
    how: How = HOW,
) -> Explanation:
    """What is said of two bodies."""
    return explain(
        request(old, "a.json", **(old_call or {})),
        request(new, "b.json", **(new_call or {})),
        how=how,
    )


def changed(body: Mapping[str, Any], *way: str | int, to: Any) -> dict[str, Any]:
    """A copy of the body with another value at a place."""
    made = copy.deepcopy(dict(body))
    node: Any = made
    for part in way[:-1]:
        node = node[part]
    node[way[-1]] = to
    return made


def shown(explanation: Explanation, **options: Any) -> str:
    """The page for people."""
    from stemcache.lint.explain.full import render  # noqa: PLC0415  most tests look at the value

    return "\n".join(render(explanation, **options))
