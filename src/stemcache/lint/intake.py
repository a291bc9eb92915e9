"""One call as lint takes it in: its provider's rule and price, its prompt in that rule's order."""

from collections.abc import Mapping
from dataclasses import dataclass

from stemcache.lint.assumed import UNRESOLVED
from stemcache.provider.book import Book
from stemcache.provider.price import Price
from stemcache.provider.resolve import resolve
from stemcache.provider.rule import Rule
from stemcache.provider.usage import Usage
from stemcache.provider.usage_read import read_usage
from stemcache.trace.calls.call import Call
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.span import Prompt

__all__ = ["Intake", "taken_in", "usage_of"]

_NO_USAGE = Usage(prompt_tokens=None, read_tokens=None)


@dataclass(frozen=True, slots=True)
class Intake:
    """What a call is judged by."""

    rule: Rule
    """`UNRESOLVED` where nothing tells the provider."""
    price: Price | None
    prompt: Prompt | None
    """None where the log has no texts of it."""


def taken_in(call: Call, *, book: Book, provider: str | None, aliases: Mapping[str, str]) -> Intake:
    """Linear in the body. Raises BadBodyError for a body that is no request.

    Markers choose among the rules of a provider that has two, so the prompt is looked at before
    the rule is settled.
    """

    def told(*, is_marked: bool) -> tuple[Rule, Price | None]:
        found = resolve(
            book,
            provider=provider,
            host=call.host,
            model=call.model,
            api=call.api,
            marked=is_marked,
            aliases=aliases,
        )
        return found.rule or UNRESOLVED, found.price

    rule, price = told(is_marked=False)
    if call.body is None or call.api is None or not call.fidelity.keeps_text:
        return Intake(rule, price, None)
    prompt = prompt_of(call.body, call.api, rule.order)
    if prompt.automatic is not None or any(span.marker for span in prompt.spans):
        order = rule.order
        rule, price = told(is_marked=True)
        if rule.order != order:
            prompt = prompt_of(call.body, call.api, rule.order)
    return Intake(rule, price, prompt)


def usage_of(call: Call, rule: Rule) -> Usage:
    """What the call reports, in one form; all unknown where it reports nothing."""
    if call.usage is None:
        return _NO_USAGE
    return read_usage(
        call.usage,
        api=call.api,
        provider=rule.provider or None,
        rule=rule if rule.name else None,
    )
