"""From `[price.PROVIDER]` and `[[factor]]` tables to prices.

```
[price.anthropic]
claude-opus-5 = { input = 5.0, read = 0.5, write = { "5m" = 6.25, "1h" = 10.0 }, output = 25.0 }
[[factor]]
provider = "anthropic"   kind = "tier"   name = "batch"   input = 0.5   output = 0.5
```
A file's `price_src` is the source of every price in it that names none of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast, get_args

from stemcache.errors import UsageError
from stemcache.provider.names import model_names
from stemcache.provider.price import Factor, FactorKind, Price
from stemcache.provider.rule import SourceNote
from stemcache.provider.rule_file import Sources, is_model
from stemcache.provider.table import Table

__all__ = ["FactorEntry", "read_factors", "read_prices"]

_KINDS: tuple[str, ...] = get_args(FactorKind)


@dataclass(frozen=True, slots=True)
class FactorEntry:
    """A factor and what it is for."""

    provider: str
    models: tuple[str, ...]
    """Patterns; empty for all models of the provider."""
    factor: Factor

    def holds_for(self, price: Price) -> bool:
        """Whether it bears on a price."""
        if price.provider != self.provider:
            return False
        return not self.models or is_model(model_names(price.model), self.models)


def read_prices(
    table: Table, sources: Sources, default: tuple[SourceNote, ...]
) -> dict[tuple[str, str], Price]:
    """Read the `price` table of a file: provider, then model."""
    found: dict[tuple[str, str], Price] = {}
    for provider, below in table.named().items():
        for model, one in below.named().items():
            found[provider, model.lower()] = _price(one, provider, model, sources, default)
    return found


def read_factors(table: Table, sources: Sources) -> list[FactorEntry]:
    """Read the `[[factor]]` tables of a file."""
    return [_factor(one, sources) for one in table.tables("factor")]


def _price(
    table: Table,
    provider: str,
    model: str,
    sources: Sources,
    default: tuple[SourceNote, ...],
) -> Price:
    usd = table.number("input")
    if usd is None:
        raise UsageError(f"input is missing from {table.where}; give USD per million tokens")
    write = _writes(table)
    price = Price(
        provider=provider,
        model=model,
        input_usd_per_mtok=usd,
        output_usd_per_mtok=table.number("output"),
        read_usd_per_mtok=table.number("read"),
        write_usd_per_mtok=write,
        explicit_read_usd_per_mtok=table.number("explicit_read"),
        sources=sources.taken(table) if table.has("src") or not default else default,
    )
    table.done()
    return price


def _writes(table: Table) -> Mapping[str, float]:
    value = table.take("write")
    if value is None:
        return {}
    inner = Table(value if isinstance(value, Mapping) else {"": value}, f"{table.where}, write")
    found: dict[str, float] = {}
    for ttl in inner.names():
        usd = inner.number(ttl)
        if usd is not None:
            found[ttl] = usd
    return found


def _factor(table: Table, sources: Sources) -> FactorEntry:
    provider = table.needed("provider")
    kind = table.choice("kind", _KINDS)
    name = (table.text("name") or "").lower()
    above = table.count("above_tokens")
    if kind is None:
        raise UsageError(f"kind is missing from {table.where}; give one of {', '.join(_KINDS)}")
    if (kind == "context") != (above is not None) or (kind != "context") != bool(name):
        raise UsageError(
            f"{table.where} says too little or too much; give above_tokens for a context, a name "
            "for a tier or a region"
        )
    given = {key: table.number(key) for key in ("input", "output")}
    factor = Factor(
        kind=cast("FactorKind", kind),
        name=name,
        above_tokens=above or 0,
        input=1.0 if given["input"] is None else given["input"],
        output=1.0 if given["output"] is None else given["output"],
        read=table.number("read"),
        sources=sources.taken(table),
    )
    models = tuple(pattern.lower() for pattern in table.texts("models"))
    table.done()
    return FactorEntry(provider=provider, models=models, factor=factor)
