"""What else a request says: the options of one API, beside the prompt.

Options are members of the body, named as the API names them. They come in one order, whatever
order they were given in, but for the schema of an answer: a model writes members in the order that
it has them, so its order is a part of what was asked for.
"""

from collections.abc import Collection, Mapping
from typing import Any

from stemcache.errors import UsageError
from stemcache.prompt.canonical import canonical_value

__all__ = ["options_of"]

_ANSWER_SCHEMAS = frozenset({"responseJsonSchema", "responseSchema", "schema"})


def options_of(options: Mapping[str, Any], taken: Collection[str]) -> dict[str, Any]:
    """A new dictionary. Raises UsageError for what is no JSON, and for names in `taken`."""
    for name in sorted(taken):
        if name in options:
            raise UsageError(
                f"option {name!r} is written by the layout; give it as segments, tools and "
                "conversation"
            )
    canonical: dict[str, Any] = canonical_value(options)
    return {name: _with_order(value, options[name], name) for name, value in canonical.items()}


def _with_order(canonical: Any, given: Any, name: str) -> Any:
    """The canonical value, but schemas of answers in the order given."""
    if isinstance(canonical, dict):
        if name in _ANSWER_SCHEMAS:
            return _as_given(canonical, given)
        return {key: _with_order(value, given[key], key) for key, value in canonical.items()}
    return canonical


def _as_given(canonical: Any, given: Any) -> Any:
    if isinstance(canonical, dict):
        return {key: _as_given(canonical[key], value) for key, value in given.items()}
    if isinstance(canonical, list):
        return [_as_given(one, other) for one, other in zip(canonical, given, strict=True)]
    return canonical
