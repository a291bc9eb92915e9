"""What a call cost, and what one of its tokens cost more for not being read."""

from dataclasses import dataclass

from stemcache.provider.price import Cost, Price, cost
from stemcache.provider.rule import Rule
from stemcache.provider.usage import Usage
from stemcache.trace.calls.call import Call

__all__ = ["Spend", "or_predicted", "spend"]

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Spend:
    """Of one call."""

    cost: Cost | None
    premium_usd: float | None
    """What a prompt token that was not read cost above one that was, on average over the call, so
    that what findings of a call cost together is never more than the call."""


_UNKNOWN = Spend(None, None)


def or_predicted(
    usage: Usage, *, prompt_tokens: int, read_tokens: int, written_tokens: int
) -> Usage:
    """What was reported, or where that leaves prompt or reads out, what the rule predicts."""
    if usage.prompt_tokens is not None and usage.read_tokens is not None:
        return usage
    return Usage(
        prompt_tokens=prompt_tokens,
        read_tokens=min(read_tokens, prompt_tokens),
        written_tokens=max(0, min(written_tokens, prompt_tokens - read_tokens)),
        output_tokens=usage.output_tokens,
    )


def spend(
    call: Call, usage: Usage, price: Price | None, rule: Rule | None, *, subscription: bool
) -> Spend:
    """By list price; unknown where price, tier, region or usage is."""
    if price is None:
        return _UNKNOWN
    spent = cost(
        usage,
        price,
        tier=call.tier,
        region=call.region,
        subscription=subscription or call.subscription,
        rule=rule,
    )
    if spent is None or usage.prompt_tokens is None or usage.read_tokens is None:
        return Spend(spent, None)
    missed = usage.prompt_tokens - usage.read_tokens
    at = price.at(tier=call.tier, region=call.region, prompt_tokens=usage.prompt_tokens)
    read_rate = None if at is None else at.read_rate(rule=rule)
    if missed <= 0 or read_rate is None:
        return Spend(spent, None if read_rate is None else 0.0)
    paid = (spent.plain_usd + spent.write_usd) / missed
    return Spend(spent, max(0.0, paid - read_rate / _MILLION))
