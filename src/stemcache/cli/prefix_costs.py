"""What a changed prefix costs at each provider that the settings or a log name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stemcache.cli.prefix_live import Live
from stemcache.errors import UsageError
from stemcache.lint.visible import visible
from stemcache.prompt.lock.cost import ColdWrite, cold_write, histories_usd
from stemcache.prompt.lock.diff import Difference
from stemcache.provider.book import Book
from stemcache.provider.price import Price
from stemcache.provider.resolve import check_provider, resolve
from stemcache.provider.rule import Rule
from stemcache.wire.section import Section

__all__ = ["Costed", "Payer", "costs_of", "payers_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Payer:
    """A provider and model that hold a prefix in some number of caches."""

    name: str
    """`anthropic/claude-opus-4-5`."""
    rule: Rule
    price: Price | None
    caches: int
    conversations: int | None = None
    """None where no log was read."""
    history_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Costed:
    """What one of them pays."""

    payer: Payer
    cold: ColdWrite
    histories_usd: float | None


def payers_of(
    models: Sequence[str],
    *,
    book: Book,
    aliases: Mapping[str, str],
    where: str,
    caches: int,
    live: Sequence[Live] | None,
) -> tuple[Payer, ...]:
    """Those that settings name, then those that only a log shows. Raises UsageError for no model.

    `caches` is stated by the user, and holds where no log was read (`live` None).
    """
    found: list[Payer] = []
    seen: set[tuple[str, str]] = set()
    for name in models:
        rule, price, model = _resolved(name, book, aliases, where)
        at = rule.provider, price.model if price is not None else model
        seen.add(at)
        shown = [one for one in live or () if (one.provider, one.model) == at]
        found.append(
            Payer(
                name=name,
                rule=rule,
                price=price,
                caches=caches if live is None else sum(one.caches for one in shown),
                conversations=None if live is None else sum(one.conversations for one in shown),
                history_tokens=sum(one.history_tokens for one in shown),
            )
        )
    found += [
        Payer(
            name=f"{one.provider or 'unknown'}/{visible(one.model or 'unknown')}",
            rule=one.rule,
            price=one.price,
            caches=one.caches,
            conversations=one.conversations,
            history_tokens=one.history_tokens,
        )
        for one in live or ()
        if (one.provider, one.model) not in seen
    ]
    return tuple(found)


def costs_of(
    payers: Sequence[Payer], differences: Mapping[tuple[Section, ...], Difference]
) -> tuple[Costed, ...]:
    """Each at the difference in its own order of sections."""
    return tuple(
        Costed(
            payer=one,
            cold=cold_write(
                differences[one.rule.order], rule=one.rule, price=one.price, caches=one.caches
            ),
            histories_usd=histories_usd(one.history_tokens, rule=one.rule, price=one.price),
        )
        for one in payers
    )


def _resolved(
    name: str, book: Book, aliases: Mapping[str, str], where: str
) -> tuple[Rule, Price | None, str]:
    provider, slash, model = name.partition("/")
    if not slash or not model:
        raise UsageError(
            f"{visible(name, most_characters=80)!r} from {where} is no provider/model; write it "
            "like anthropic/claude-opus-4-5"
        )
    check_provider(book, provider, source=where)
    found = resolve(
        book, provider=provider, host=None, model=model, api=None, marked=False, aliases=aliases
    )
    if found.rule is None:
        raise UsageError(
            f"no caching rule is known for {visible(name, most_characters=80)!r} from {where}; "
            "name the rule itself, such as openai-5.6/gpt-5.6, or leave it out"
        )
    return found.rule, found.price, found.model or model
