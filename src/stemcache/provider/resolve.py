"""Which rule and price a call has, told by what the log says of it: flag, host, model, alias.

```
--provider ─► host, or the provider's name that the log has ─► model (and its alias) ─► nothing
```
What cannot be told stays without a rule: no minimum and no money are made up.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from stemcache.errors import UsageError, unknown_choice
from stemcache.provider.book import Book
from stemcache.provider.identity import Identity
from stemcache.provider.names import model_names
from stemcache.provider.price import Price
from stemcache.provider.rule import Rule
from stemcache.wire.api import Api

__all__ = ["Resolved", "check_provider", "resolve"]

_MOST_REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class Resolved:
    """What was found. `rule` None: the provider, or its rule for the model, is not known."""

    rule: Rule | None
    price: Price | None
    model: str | None
    """As the call names it, or what its alias stands for."""
    how: str
    """`flag`, `host`, `model`, `alias`, `api`, or empty where nothing told."""


def resolve(
    book: Book,
    *,
    provider: str | None,
    host: str | None,
    model: str | None,
    api: Api | None,
    marked: bool,
    aliases: Mapping[str, str],
) -> Resolved:
    """Rule and price of one call. Remembered by the book, so repeats cost one dictionary read.

    `provider` is the user's flag: a provider or the name of a rule; others are a UsageError.
    `aliases` are the user's names of models. `marked` chooses a rule for explicit markers.
    """
    meant = None if model is None else aliases.get(model, book.alias(model))
    key = (provider, host, model, meant, api, marked)
    found = book.memo.get(key)
    if isinstance(found, Resolved):
        return found
    found = _resolve(book, provider, host, meant, api, marked=marked, aliased=meant != model)
    if len(book.memo) >= _MOST_REMEMBERED:
        book.memo.clear()
    book.memo[key] = found
    return found


def check_provider(book: Book, provider: str, *, source: str = "provider") -> None:
    """Raise UsageError, with the nearest name, for what is neither a provider nor a rule."""
    if provider not in book.rules and _named(book, provider) is None:
        choices = {*book.identities, *book.rules}
        raise UsageError(unknown_choice("provider", provider, source, choices))


def _resolve(
    book: Book,
    provider: str | None,
    host: str | None,
    model: str | None,
    api: Api | None,
    *,
    marked: bool,
    aliased: bool,
) -> Resolved:
    if provider is not None:
        return _by_flag(book, provider, model, marked=marked)
    if host:
        known = _named(book, host)
        if known is not None:
            # Clients of many servers call themselves openai, so the model may say otherwise.
            if book.rule_for(known.name, model, marked=False) is None:
                known = _by_model(book, model) or known
            return _made(book, known, model, "host", marked=marked)
        known = _hosted(book, host)
        if known is not None:
            return _made(book, known, model, "host", marked=marked)
    told = _by_model(book, model)
    if told is not None and not (host and told.open_weights):
        return _made(book, told, model, "alias" if aliased else "model", marked=marked)
    if api is Api.CONVERSE and not host:
        return _made(book, book.identities["bedrock"], model, "api", marked=marked)
    if api is Api.GENERATE and not host and model is None:
        return _made(book, book.identities["gemini"], model, "api", marked=marked)
    return Resolved(rule=None, price=None, model=model, how="")


def _by_flag(book: Book, provider: str, model: str | None, *, marked: bool) -> Resolved:
    if provider in book.rules and provider not in book.identities:
        rule = book.rule(provider, model)
        price = None if model is None else book.price(rule.provider, model)
        return Resolved(rule=rule, price=price, model=model, how="flag")
    check_provider(book, provider)
    known = _named(book, provider)
    assert known is not None, "what is no rule is a provider"
    found = _made(book, known, model, "flag", marked=marked)
    if (found.rule is None or model is None) and known.name in book.rules and not marked:
        rule = book.rule(known.name, model)
        return Resolved(rule=rule, price=found.price, model=model, how="flag")
    return found


def _made(book: Book, known: Identity, model: str | None, how: str, *, marked: bool) -> Resolved:
    rule = book.rule_for(known.name, model, marked=marked)
    price = None if model is None else book.price(known.name, model)
    return Resolved(rule=rule, price=price, model=model, how=how)


def _named(book: Book, name: str) -> Identity | None:
    lower = name.strip().lower()
    for identity in book.identities.values():
        if lower == identity.name or lower in identity.names:
            return identity
    return None


def _hosted(book: Book, host: str) -> Identity | None:
    bare = _bare_host(host)
    for identity in book.identities.values():
        if identity.is_host(bare):
            return identity
    return None


def _bare_host(host: str) -> str:
    rest = host.strip().lower()
    _, found, behind = rest.partition("://")
    rest = (behind if found else rest).partition("/")[0].rpartition("@")[2]
    if rest.count(":") == 1:
        rest = rest.partition(":")[0]
    return rest.rstrip(".")[:300]


def _by_model(book: Book, model: str | None) -> Identity | None:
    """The provider whose pattern fits the fullest form of the name, the longest pattern first."""
    if model is None:
        return None
    head, slash, _ = model.strip().lower().partition("/")
    for identity in book.identities.values() if slash else ():
        if head in identity.prefixes:
            return identity
    for name in model_names(model):
        best: tuple[int, Identity] | None = None
        for identity in book.identities.values():
            for pattern in identity.models:
                if fnmatchcase(name, pattern) and (best is None or len(pattern) > best[0]):
                    best = (len(pattern), identity)
        if best is not None:
            return best[1]
    return None
