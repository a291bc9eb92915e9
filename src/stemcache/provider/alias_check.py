"""Aliases that stand for models of which nothing is known: most are slips of the pen."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from itertools import islice

from stemcache.provider.book import Book
from stemcache.provider.names import model_names

__all__ = ["unknown_aliases"]

_MOST_TOLD = 3
_LONGEST = 100


def unknown_aliases(book: Book, aliases: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each alias of a model that no list has a price for, three at most.

    An alias is allowed to be one all the same: a provider that is named has rules without models.
    """
    known = {model for _, model in book.prices}
    lost = {name: meant for name, meant in aliases.items() if known.isdisjoint(model_names(meant))}
    for name, meant in islice(lost.items(), _MOST_TOLD):
        near = get_close_matches(meant[:_LONGEST].lower(), known, n=1)
        hint = f"; did you mean {near[0]}?" if near else "; give it one under prices"
        yield (
            f"the alias {name[:_LONGEST]} stands for {meant[:_LONGEST]}, a model that no price is "
            f"known for{hint}"
        )
    if len(lost) > _MOST_TOLD:
        yield f"no price is known for the models of {len(lost) - _MOST_TOLD:,} more aliases"
