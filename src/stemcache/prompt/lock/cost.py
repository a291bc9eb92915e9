"""What a changed prefix costs: a cold write for every live cache that held it.

```
tokens   0           kept                         now
         │ still read │ written anew               │       times write rate, times live caches
         ├────────────┴────────────────────────────┤
         at most all of it, where no mark stands before the change
```
What is kept before a change is the provider's to say: whole units of the longest common prefix; or
what was written at a mark or at the end of a message before it. Where marks stand is not in a lock,
so the least and the most are both told. Rules, minimums and prices are `provider`'s; what has no
price costs tokens only.
"""

from dataclasses import dataclass

from stemcache.prompt.lock.diff import Difference
from stemcache.provider.price import Price
from stemcache.provider.rule import Rule

__all__ = ["ColdWrite", "cold_write", "histories_usd"]

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdWrite:
    """Of one prefix at one provider. Sums of money are None where there is no price."""

    rule: str
    caches: int
    written_tokens: int
    """By each cache, if what stands before the change can be read."""
    most_tokens: int
    """By each cache, if nothing before the change can."""
    usd: float | None
    """Of all caches: `written_tokens` at the price of a write."""
    most_usd: float | None
    above_read_usd: float | None
    """How much of `usd` is above what reading the same tokens costs."""
    why: str
    """What holds of this provider, in a sentence; empty where there is nothing to say."""


def cold_write(
    difference: Difference, *, rule: Rule, price: Price | None, caches: int, ttl: str | None = None
) -> ColdWrite:
    """The cost of a difference under a rule. Pure, O(1).

    The difference was taken in the rule's order of sections. `ttl` None is the default.
    """
    kept, why = _kept(rule, difference.kept_low)
    written = difference.now_tokens - kept if difference.changes else 0
    most = difference.now_tokens if difference.changes else 0
    if rule.kind == "units":
        most = written
    if difference.now_tokens < rule.minimum_tokens.likely:
        written = most = 0
        why = (
            f"shorter than the {rule.minimum_tokens.likely:,} tokens that are kept at least, so "
            "that no cache holds it by itself"
        )
    at = None if price is None else price.at(prompt_tokens=difference.now_tokens)
    paid = None if at is None else at.paid_rate(written=True, ttl=ttl, rule=rule)
    read = None if at is None else at.read_rate(rule=rule)
    return ColdWrite(
        rule=rule.name,
        caches=caches,
        written_tokens=max(0, written),
        most_tokens=max(0, most),
        usd=_usd(written, paid, caches),
        most_usd=_usd(most, paid, caches),
        above_read_usd=(
            None if paid is None or read is None else _usd(written, paid - read, caches)
        ),
        why=why,
    )


def histories_usd(tokens: int, *, rule: Rule, price: Price | None) -> float | None:
    """What conversations pay that go on behind a changed prefix, for so many tokens of history.

    None where there is no price.
    """
    paid = None if price is None else price.paid_rate(written=True, rule=rule)
    return _usd(tokens, paid, 1)


def _kept(rule: Rule, tokens: int) -> tuple[int, str]:
    """What can still be read of so many tokens before the change, at best."""
    if rule.kind == "objects":
        return 0, "an object is kept whole, so a changed one is made anew"
    kept = tokens // rule.unit_tokens * rule.unit_tokens if rule.unit_tokens > 1 else tokens
    if kept < rule.minimum_tokens.likely:
        if tokens:
            least = rule.minimum_tokens.likely
            return (
                0,
                f"what stands before the change is less than the {least:,} tokens kept at least",
            )
        return 0, ""
    if rule.kind in {"markers", "breakpoints"}:
        return kept, "what stands before the change is read only if a mark or a message ends there"
    if rule.kind == "persisted-units":
        return kept, "what stands before the change is read only if a stored prefix ends there"
    if rule.kind == "usage-only":
        return kept, "the provider does not say what it keeps of a prefix"
    return kept, ""


def _usd(tokens: int, rate: float | None, caches: int) -> float | None:
    return None if rate is None else max(0, tokens) * rate / _MILLION * caches
