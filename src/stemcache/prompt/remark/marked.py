"""Marks for a body that is made already: by a framework, a gateway, or by hand.

```
body ─► prompt_of ─► spans ─► laid_of ─► place(rule, price, forecast) ─► written ─► body with marks
                       └─ a mark is there: stand down                        └► why
```
For those who build prompts themselves `Layout.request` knows more: what is stable, and for whom.
Here that is told by where a text stands and by what is volatile in it, and what the request before
has marked by the answers that the body has. Where the caller has placed
marks, or asks for automatic ones, the body is left as it is.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from stemcache.prompt.given import check_callable, check_number, check_type, chosen
from stemcache.prompt.marks.forecast import Forecast
from stemcache.prompt.marks.forecasts import a_request_a_minute
from stemcache.prompt.marks.place import place
from stemcache.prompt.marks.placement import Placement
from stemcache.prompt.marks.supposed import supposed
from stemcache.prompt.piece import Laid
from stemcache.prompt.remark.changing import told
from stemcache.prompt.remark.lay import laid_of
from stemcache.prompt.remark.write import written
from stemcache.provider.book import Book, shipped_book
from stemcache.provider.resolve import Resolved, resolve
from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.span import Prompt
from stemcache.wire.api import Api

__all__ = ["Remarked", "marked"]

_MARKED = frozenset({"breakpoints", "markers"})
_NAMES = frozenset({"cache_control", "cachePoint", "prompt_cache_breakpoint"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Remarked:
    """A body to send."""

    body: dict[str, Any]
    """With marks; where nothing was decided, equal to the one that was given."""
    placement: Placement | None
    """None where nothing was decided."""
    why: tuple[str, ...] = ()
    """A sentence each: why the body is as it was, or why there are no more marks."""


def marked(
    body: Mapping[str, Any],
    api: Api,
    *,
    provider: str | None = None,
    host: str | None = None,
    model: str | None = None,
    forecast: Callable[[Laid], Forecast] | None = None,
    most: int | None = None,
    placement: Placement | None = None,
    book: Book | None = None,
) -> Remarked:
    """The body with marks where they earn most. Linear but for placing; the body is not changed.

    `provider` or `host`, and `model`, say whose rule holds; without them the body tells.
    `placement` is used in place of the best one; its boundaries count the blocks of the body in the
    provider's order.
    Without `forecast` a request a minute is expected of everybody. A body that cannot be read is
    given back, with the reason: what an API refuses is for the API to say. Raises UsageError for
    what is no body at all, an API that there is not, arguments of other types, and a placement that
    does not fit.
    """
    check_type(body, Mapping, "the body", "give the body of a request, a dictionary")
    api = chosen(api, Api, "api", "marked")
    for name, value in (("provider", provider), ("host", host), ("model", model)):
        check_type(value, str | None, name, "give its name, or leave it out")
    if forecast is not None:
        check_callable(forecast, "forecast", "give a function of what is laid, as AlwaysAlive")
    if most is not None:
        check_number(most, "most", low=0, whole=True)
    check_type(placement, Placement | None, "placement", "give what marked(...) placed before")
    check_type(book, Book | None, "book", "give what load_book(...) returns")
    try:
        seen = prompt_of(body, api)
    except BadBodyError as error:
        return _left(body, f"the body cannot be read: {error.reason}")
    found = resolve(
        shipped_book() if book is None else book,
        provider=provider,
        host=host,
        model=model if model is not None else _model(body),
        api=api,
        marked=True,
        aliases={},
    )
    rule = found.rule
    if _is_marked(seen):
        return _left(body, "the caller has placed marks")
    if rule is None:
        return _left(body, "no rule is known for this model, so nothing is marked")
    if rule.kind not in _MARKED or api in {Api.GENERATE, Api.COMPLETIONS}:
        return _left(body, f"rule {rule.name} has no marks in {api}")
    prompt = seen if seen.order == rule.order else prompt_of(body, api, rule.order)
    if placement is None:
        placement = _placed(prompt, found, forecast, most)
    made = written(body, prompt, placement, breakpoints=rule.kind == "breakpoints")
    return Remarked(body=made, placement=placement, why=placement.why)


def _placed(
    prompt: Prompt,
    found: Resolved,
    forecast: Callable[[Laid], Forecast] | None,
    most: int | None,
) -> Placement:
    assert found.rule is not None, "what has no rule is not placed"
    laid = laid_of(prompt)
    expected = (forecast or a_request_a_minute)(laid)
    placement = place(
        laid,
        rule=found.rule,
        price=found.price,
        forecast=expected,
        held=supposed(laid, rule=found.rule, price=found.price, forecast=expected, most=most),
        most=most,
    )
    return replace(placement, why=(*told(laid), *placement.why))


def _is_marked(prompt: Prompt) -> bool:
    """Whether anything in the body asks for a prefix to be kept, or turns that off."""
    if prompt.automatic is not None or "/prompt_cache_options/mode" in prompt.parameters:
        return True
    return any(span.marker is not None or _names_one(span.value) for span in prompt.spans)


def _names_one(value: object) -> bool:
    """Marks that are null are the caller's all the same."""
    return isinstance(value, Mapping) and not _NAMES.isdisjoint(value)


def _model(body: Mapping[str, Any]) -> str | None:
    found = body.get("model", body.get("modelId"))
    return found if isinstance(found, str) else None


def _left(body: Mapping[str, Any], why: str) -> Remarked:
    return Remarked(body=dict(body), placement=None, why=(why,))
