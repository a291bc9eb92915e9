"""By what a log's calls are told to be one provider's: names, hosts and models."""

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from stemcache.provider.table import Table

__all__ = ["Identity", "read_identity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A provider as logs know it. Patterns have `*` for any text and are in lower case."""

    name: str
    names: tuple[str, ...] = ()
    """What gateways and traces call it, exactly."""
    prefixes: tuple[str, ...] = ()
    """Beginnings of model names, up to the slash, by which gateways choose it."""
    hosts: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    """Models that tell the provider by themselves."""
    open_weights: bool = False
    """Whether its models also run elsewhere, so that a model behind an unknown host tells
    nothing."""
    price_from: tuple[str, ...] = ()
    """Providers whose list prices hold where it has none of its own."""

    def with_more(self, more: "Identity") -> "Identity":
        """The provider, also told by what a user's table adds."""
        return replace(
            self,
            names=(*self.names, *more.names),
            prefixes=(*self.prefixes, *more.prefixes),
            hosts=(*self.hosts, *more.hosts),
            models=(*self.models, *more.models),
            price_from=(*self.price_from, *more.price_from),
        )

    def is_host(self, host: str) -> bool:
        """Whether it answers at a host, given in lower case without a port."""
        return any(fnmatchcase(host, pattern) for pattern in self.hosts)


def read_identity(table: Table) -> Identity:
    """Read a `[provider]` table."""
    identity = Identity(
        name=table.needed("name"),
        names=_lower(table.texts("names")),
        prefixes=_lower(table.texts("prefixes")),
        hosts=_lower(table.texts("hosts")),
        models=_lower(table.texts("models")),
        open_weights=table.flag("open_weights") or False,
        price_from=table.texts("price_from"),
    )
    table.done()
    return identity


def _lower(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text.lower() for text in texts)
