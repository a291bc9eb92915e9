"""Short writes with pings, or a dearer write that lasts: which lifetime costs least a turn.

```
             writes a turn        pings     cold turns            expected a turn
5m, no ping  2,000 · 1.25          0        30 % · 80,000 · 1.15        …
5m, pinged   2,000 · 1.25       .4 · 8,000   6 % · 80,000 · 1.15        …   ◄ least
1h           2,000 · 2.00          0         9 % · 80,000 · 1.90        …
```
A lifetime is chosen for a whole conversation and before its first write: providers ask that a
longer one stand before a shorter one, and what was read under the short one is not written anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from stemcache.errors import UsageError
from stemcache.prompt.given import check_number, check_type, listed
from stemcache.prompt.keepalive.gaps import GapEstimate
from stemcache.prompt.keepalive.life import Life, life
from stemcache.prompt.keepalive.ping import Ping
from stemcache.prompt.keepalive.plan import Plan, plan, stakes
from stemcache.prompt.keepalive.rates import Unit, rates
from stemcache.provider.price import Price
from stemcache.provider.rule import Rule

__all__ = ["Option", "options"]

_NEVER_S = 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One lifetime, with and without pings."""

    ttl: str | None
    """None where the provider offers no choice."""
    expected: float
    """Cost of a turn's prefix and of what follows until the next one begins, in `unit`."""
    plan: Plan
    unit: Unit


def options(
    rule: Rule,
    price: Price | None,
    gaps: GapEstimate,
    *,
    prefix_tokens: int,
    written_tokens: int,
    turns: float,
    first_tokens: int | None = None,
    ttls: Sequence[str] | None = None,
    pinged: bool = True,
    margin_s: float = 15.0,
    gone_after_s: float | None = None,
    ping: Ping | None = None,
) -> tuple[Option, ...]:
    """Every lifetime of the rule that has a price, the cheapest first.

    A turn has a prefix of `prefix_tokens` and writes `written_tokens` behind it; the first of
    `turns` writes `first_tokens` of prefix too, all of it unless given. Each is followed by a gap,
    the last by one without an end.
    `ttls` are those that the API takes; all of the rule's unless
    given. `gone_after_s` is when entries of the default lifetime go, as in `life`, and `ping` what
    would be sent, as in `stakes`. Raises UsageError for fewer than one turn.
    """
    check_type(rule, Rule, "rule", "give the provider's Rule, as load_book().rule(...) has it")
    check_type(price, Price | None, "price", "give a Price, or None where none is known")
    check_number(prefix_tokens, "prefix_tokens", low=0)
    check_number(written_tokens, "written_tokens", low=0)
    check_number(turns, "turns", low=1)
    if first_tokens is not None:
        check_number(first_tokens, "first_tokens", low=0)
    if ttls is not None:
        listed(ttls, str, "ttls", "give a list of names of lifetimes, such as ['5m', '1h']")
    names: Sequence[str | None] = ttls or [one.name for one in rule.ttls] or [None]
    found: list[Option] = []
    for name in names:
        try:
            paid = rates(rule, price, ttl=name, prompt_tokens=prefix_tokens + written_tokens)
        except UsageError:
            if ttls is not None:
                raise
            continue
        first = name is None or name == rule.ttls[0].name
        lasts = life(rule, ttl=name, gone_after_s=gone_after_s if first else None)
        stake = stakes(paid, prefix_tokens, ping=ping)
        done = plan(stake, gaps, lasts, margin_s=margin_s, most_pings=1_000 if pinged else 0)
        lost = stake.cold * _comes_late(gaps, lasts)
        begun = stakes(paid, prefix_tokens if first_tokens is None else first_tokens).cold
        turn = paid.warm(prefix_tokens) + written_tokens * paid.write
        expected = turn + begun / turns + lost - done.expected
        found.append(Option(ttl=name, expected=expected, plan=done, unit=paid.unit))
    return tuple(sorted(found, key=lambda one: one.expected))


def _comes_late(gaps: GapEstimate, lasts: Life | None) -> float:
    """The part of gaps that outlive the entry, and do end."""
    return 0.0 if lasts is None else gaps.later(lasts.gone_s) - gaps.later(_NEVER_S)
