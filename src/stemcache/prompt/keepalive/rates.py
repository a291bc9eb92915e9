"""What one token costs written for one lifetime: what plans of pings and of compaction weigh.

```
price known     plain 5.0   read 0.5   write 6.25   output 25.0    USD per million tokens
price unknown   plain 1     read 0.1   write 1.25   output —       input tokens
```
Without a price the rule's factors decide, in input tokens, and `unit` says so; what the answer's
tokens cost is then not known and left out.
"""

from dataclasses import dataclass
from typing import Literal

from stemcache.errors import UsageError
from stemcache.prompt.given import check_type
from stemcache.prompt.marks.terms import terms_of
from stemcache.provider.cache.cut import counted
from stemcache.provider.price import Price
from stemcache.provider.rule import Rule

__all__ = ["Rates", "Unit", "rates"]

Unit = Literal["usd", "input tokens"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Of one token, in `unit`."""

    unit: Unit
    plain: float
    read: float
    write: float
    """For the lifetime that was asked for."""
    output: float | None
    """None where it is not known."""
    rule: Rule

    def warm(self, prefix_tokens: int) -> float:
        """What a prompt's prefix costs where all of it is in the cache."""
        kept = counted(self.rule, prefix_tokens)
        return kept * self.read + (prefix_tokens - kept) * self.plain

    def cold(self, prefix_tokens: int) -> float:
        """What it costs where none of it is, and it is written."""
        kept = counted(self.rule, prefix_tokens)
        return kept * self.write + (prefix_tokens - kept) * self.plain

    def answer(self, output_tokens: int) -> float:
        """What an answer costs; 0 where that is not known."""
        return output_tokens * (self.output or 0.0)


def rates(
    rule: Rule, price: Price | None, *, ttl: str | None = None, prompt_tokens: int = 0
) -> Rates:
    """Rates for prompts of a length, written for a lifetime; None is the default one.

    Raises UsageError for no rule, as the book has of a model that it does not know, and for a
    lifetime that the rule does not have or whose price is not known.
    """
    check_type(
        rule,
        Rule,
        "rule",
        "give the Rule that load_book().rule_for(provider, model, marked=True) finds; it finds "
        "None for a model that no rule speaks of, and there is nothing to plan by",
    )
    check_type(price, Price | None, "price", "give a Price, as load_book().price(...) has it")
    names = [one.name for one in rule.ttls]
    if ttl is not None and ttl not in names:
        raise UsageError(
            f"rule {rule.name} has no lifetime {ttl!r}; take one of: {', '.join(names) or 'none'}"
        )
    terms = terms_of(rule, price, prompt_tokens=prompt_tokens)
    lifetime = None if terms is None else terms.lifetime(None if ttl in names[:1] else ttl)
    if terms is None or lifetime is None:
        raise UsageError(_no_price(rule, ttl))
    return Rates(
        unit="usd" if terms.in_usd else "input tokens",
        plain=terms.input,
        read=terms.read,
        write=lifetime.write,
        output=terms.output,
        rule=rule,
    )


def _no_price(rule: Rule, ttl: str | None) -> str:
    return (
        f"no price is known for writes of {ttl or 'the default lifetime'} under rule {rule.name}; "
        "choose another lifetime, or give the price in a file of your own"
    )
