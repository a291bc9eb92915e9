"""What a token costs under a rule and a price, and which lifetimes a write may ask for.

```
rule + price ──► input 5.0   read 0.5   output 25.0   1h: 10.0   5m: 6.25      USD · 10⁻⁶ a token
rule alone   ──► input 1     read 0.1   output —      1h: 2      5m: 1.25      input tokens
```
The one place where prices become those of a token: placements weigh all lifetimes, and
`keepalive.rates` is the view of one.
"""

from dataclasses import dataclass, replace
from math import inf

from stemcache.provider.price import Price
from stemcache.provider.rule import Rule

__all__ = ["Lifetime", "Terms", "terms_of"]

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Lifetime:
    """One that has a price."""

    name: str | None
    """As a mark asks for it; None is the provider's default."""
    lasts_s: float
    """As long as the provider says at least: what may last longer is not counted on."""
    write: float
    """Price of a token written for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Prices of one token."""

    input: float
    read: float
    lifetimes: tuple[Lifetime, ...]
    """The longest first. Never empty."""
    in_usd: bool
    """False: no price is known, and figures are multiples of an input token."""
    output: float | None = None
    """Of an answer's token; None where it is not known."""
    why: tuple[str, ...] = ()
    """What had to be left out or taken instead."""

    @property
    def usual(self) -> int:
        """Number of the default lifetime, or of the shortest where that has no price."""
        names = [one.name for one in self.lifetimes]
        return names.index(None) if None in names else len(names) - 1

    def lifetime(self, name: str | None) -> Lifetime | None:
        """The one that a mark asks for so; None where no price of it is known."""
        return next((one for one in self.lifetimes if one.name == name), None)


def terms_of(rule: Rule, price: Price | None, *, prompt_tokens: int) -> Terms | None:
    """Terms for prompts of this length; None where not even the rule says what a write costs."""
    at = None if price is None else price.at(prompt_tokens=prompt_tokens)
    found = None if at is None else _terms(rule, at, _MILLION)
    if found is not None:
        return found
    relative = _terms(rule, Price(provider=rule.provider, model="", input_usd_per_mtok=1.0), 1)
    if relative is None:
        return None
    why = f"no price is known under rule {rule.name}; its factors decided, in input tokens"
    return replace(relative, in_usd=False, why=(why, *relative.why))


def _terms(rule: Rule, price: Price, tokens: int) -> Terms | None:
    read = price.read_rate(rule=rule)
    if read is None:
        return None
    lifetimes: list[Lifetime] = []
    why: list[str] = []
    if not rule.ttls:
        write = price.paid_rate(written=True, rule=rule)
        if write is not None:
            lifetimes.append(Lifetime(None, inf, write / tokens))
            if rule.kind in {"markers", "breakpoints"}:
                why.append(f"rule {rule.name} states no lifetime; entries count as kept for ever")
    for number, ttl in enumerate(rule.ttls):
        name = ttl.name if number else None
        write = price.paid_rate(written=True, ttl=name, rule=rule)
        if write is None:
            why.append(f"what a write for {ttl.name or 'the default lifetime'} costs is not known")
        else:
            lifetimes.append(Lifetime(name, ttl.low_s, write / tokens))
    if not lifetimes:
        return None
    output = price.output_usd_per_mtok
    return Terms(
        input=price.input_usd_per_mtok / tokens,
        read=read / tokens,
        output=None if output is None else output / tokens,
        lifetimes=tuple(sorted(lifetimes, key=lambda one: -one.lasts_s)),
        in_usd=True,
        why=tuple(why),
    )
