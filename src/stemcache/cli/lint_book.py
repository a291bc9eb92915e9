"""The rules and prices that `lint` and `explain` judge by, with a user's settings on top."""

from collections.abc import Iterator, Mapping
from typing import Any

from stemcache.lint.visible import visible
from stemcache.provider.alias_check import unknown_aliases
from stemcache.provider.book import Book, load_book
from stemcache.provider.book_files import read_mapping
from stemcache.provider.resolve import check_provider

__all__ = ["alias_remarks", "book_of"]


def book_of(
    overrides: Mapping[str, Any], *, settings: str, provider: str | None, provider_source: str
) -> Book:
    """Rules and prices with those of a settings file over them, and the provider known to be one.

    Raises UsageError that says which of the file and the flags is wrong.
    """
    book = load_book(overrides=(read_mapping(overrides, settings),) if overrides else ())
    if provider is not None:
        check_provider(book, provider, source=provider_source)
    return book


def alias_remarks(book: Book, aliases: Mapping[str, str]) -> Iterator[str]:
    """Sentences on aliases that help nobody, safe to show."""
    return (visible(told) for told in unknown_aliases(book, aliases))
