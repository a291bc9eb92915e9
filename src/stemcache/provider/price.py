"""What tokens cost: list prices per million, the factors on them, and the cost of one call.

```
prompt = plain + read + written        usd = plain · input + read · read rate + written · write rate
       each rate times: tier (batch 0.5), region (1.1), long context (from some prompt length on)
```
What is not known stays unknown: a tier, region or TTL that no source gives a price for makes the
cost None, and so does a usage that does not say how much was read.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from stemcache.provider.rule import Rule, SourceNote
from stemcache.provider.usage import Usage

__all__ = ["Cost", "Factor", "FactorKind", "Price", "cost"]

FactorKind = Literal["tier", "region", "context"]
_STANDARD = frozenset(
    {"", "auto", "default", "on-demand", "on_demand", "standard", "standard_only"}
)
_ANYWHERE = frozenset({"", "global", "not_available"})
_DATA_CENTRE = re.compile(r"[a-z]{2,20}(?:-gov)?-[a-z]{4,12}-?\d")
"""`us-east-1`, `europe-west4`: where a call went, which does not move list prices."""
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """By how much prices differ under a condition."""

    kind: FactorKind
    name: str = ""
    """Of the tier or region, in lower case; empty for `context`."""
    above_tokens: int = 0
    """`context`: it holds for prompts longer than this, for all of their tokens."""
    input: float = 1.0
    """On plain, read and written prompt tokens."""
    output: float = 1.0
    read: float | None = None
    """On read tokens, where it differs from `input`."""
    sources: tuple[SourceNote, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """List prices of one model, in USD per million tokens (`mtok`)."""

    provider: str
    model: str
    """The name that the price stands under."""
    input_usd_per_mtok: float
    output_usd_per_mtok: float | None = None
    read_usd_per_mtok: float | None = None
    """None: the rule's factor tells."""
    write_usd_per_mtok: Mapping[str, float] = field(default_factory=dict)
    """By TTL name, the default TTL first. Empty: the rule's factors tell."""
    explicit_read_usd_per_mtok: float | None = None
    """For reads at the caller's own markers, where they cost other than automatic ones."""
    factors: tuple[Factor, ...] = ()
    sources: tuple[SourceNote, ...] = ()

    def read_rate(self, *, rule: Rule | None = None) -> float | None:
        """USD per million tokens read; None where neither the price nor the rule says."""
        explicit = self.explicit_read_usd_per_mtok
        if explicit is not None and rule is not None and rule.kind in {"markers", "objects"}:
            return explicit
        if self.read_usd_per_mtok is not None:
            return self.read_usd_per_mtok
        return None if rule is None else self.input_usd_per_mtok * rule.read_factor

    def paid_rate(
        self, *, written: bool, ttl: str | None = None, rule: Rule | None = None
    ) -> float | None:
        """USD per million prompt tokens that were not read: plain ones, or ones written for `ttl`.

        `ttl` None is the default. None where a write's price is not known for that TTL.
        """
        if not written:
            return self.input_usd_per_mtok
        if self.write_usd_per_mtok:
            if ttl is None:
                return next(iter(self.write_usd_per_mtok.values()))
            listed = self.write_usd_per_mtok.get(ttl, self.write_usd_per_mtok.get(""))
            if listed is not None:
                return listed
        if rule is None or not rule.write_factor:
            return self.input_usd_per_mtok if rule is None and not self.writes_cost else None
        if ttl is None:
            return self.input_usd_per_mtok * next(iter(rule.write_factor.values()))
        factor = rule.write_factor.get(ttl, rule.write_factor.get(""))
        return None if factor is None else self.input_usd_per_mtok * factor

    @property
    def writes_cost(self) -> bool:
        """Whether a token written for the default lifetime costs other than a plain one."""
        default = next(iter(self.write_usd_per_mtok.values()), self.input_usd_per_mtok)
        return default != self.input_usd_per_mtok

    def at(
        self, *, tier: str | None = None, region: str | None = None, prompt_tokens: int = 0
    ) -> "Price | None":
        """The prices that hold under a tier, in a region, for a prompt of some length.

        None where the tier or region is one that no source gives a factor for.
        """
        found: list[Factor] = []
        name = (tier or "").strip().lower()
        if name not in _STANDARD:
            match = [one for one in self.factors if one.kind == "tier" and one.name == name]
            if not match:
                return None
            found.append(match[0])
        place = (region or "").strip().lower()
        if place not in _ANYWHERE:
            regions = [one for one in self.factors if one.kind == "region"]
            match = [one for one in regions if one.name == place]
            if match:
                found.append(match[0])
            elif regions and not _DATA_CENTRE.fullmatch(place):
                return None
        longer = [
            one
            for one in self.factors
            if one.kind == "context" and prompt_tokens > one.above_tokens
        ]
        if longer:
            found.append(max(longer, key=lambda one: one.above_tokens))
        price = self
        for factor in found:
            price = price.scaled(factor)
        return price

    def scaled(self, factor: Factor) -> "Price":
        """The same prices times a factor."""
        reads = factor.input if factor.read is None else factor.read
        return replace(
            self,
            input_usd_per_mtok=self.input_usd_per_mtok * factor.input,
            output_usd_per_mtok=_times(self.output_usd_per_mtok, factor.output),
            read_usd_per_mtok=_times(self.read_usd_per_mtok, reads),
            explicit_read_usd_per_mtok=_times(self.explicit_read_usd_per_mtok, reads),
            write_usd_per_mtok={
                ttl: usd * factor.input for ttl, usd in self.write_usd_per_mtok.items()
            },
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Cost of one call in USD, by what it was paid for."""

    plain_usd: float
    read_usd: float
    write_usd: float
    output_usd: float | None
    """None where the output's length or price is not known."""

    @property
    def input_usd(self) -> float:
        """All of the prompt."""
        return self.plain_usd + self.read_usd + self.write_usd


def cost(
    usage: Usage,
    price: Price,
    *,
    tier: str | None = None,
    region: str | None = None,
    subscription: bool = False,
    rule: Rule | None = None,
) -> Cost | None:
    """What one call cost by the list; None where that cannot be said, or nothing is paid a token.

    `rule` gives factors where the list has no price for reads or writes.
    """
    if subscription or usage.prompt_tokens is None or usage.read_tokens is None:
        return None
    at = price.at(tier=tier, region=region, prompt_tokens=usage.prompt_tokens)
    if at is None:
        return None
    written = usage.written_tokens
    if written is None:
        if at.writes_cost or (rule is not None and _surcharged(rule)):
            return None
        written = 0
    plain = usage.prompt_tokens - usage.read_tokens - written
    read_rate = at.read_rate(rule=rule)
    write_usd = _written_usd(usage, written, at, rule)
    if plain < 0 or write_usd is None or (read_rate is None and usage.read_tokens):
        return None
    output_usd = None
    if usage.output_tokens is not None and at.output_usd_per_mtok is not None:
        output_usd = usage.output_tokens * at.output_usd_per_mtok / _MILLION
    return Cost(
        plain_usd=plain * at.input_usd_per_mtok / _MILLION,
        read_usd=usage.read_tokens * (read_rate or 0.0) / _MILLION,
        write_usd=write_usd,
        output_usd=output_usd,
    )


def _written_usd(usage: Usage, written: int, price: Price, rule: Rule | None) -> float | None:
    """What the writes cost: each TTL at its own price, what no TTL is told for at the default."""
    usd = 0.0
    rest = written
    parts: list[tuple[str | None, int]] = list(usage.written_by_ttl)
    if sum(tokens for _, tokens in parts) > written:
        parts = []
    for _, tokens in parts:
        rest -= tokens
    for ttl, tokens in [*parts, (None, rest)]:
        if not tokens:
            continue
        rate = price.paid_rate(written=True, ttl=ttl, rule=rule)
        if rate is None:
            return None
        usd += tokens * rate / _MILLION
    return usd


def _surcharged(rule: Rule) -> bool:
    return next(iter(rule.write_factor.values()), 1.0) != 1.0


def _times(usd: float | None, factor: float) -> float | None:
    return None if usd is None else usd * factor
