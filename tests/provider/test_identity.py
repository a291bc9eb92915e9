"""By what providers are told."""

from collections import Counter

import pytest

from stemcache.provider.book import load_book
from stemcache.provider.identity import Identity

BOOK = load_book()


def test_a_host_is_matched_by_pattern() -> None:
    """A star stands for any text; a name that only begins alike is another host."""
    azure = Identity(name="azure", hosts=("*.openai.azure.com",))
    assert azure.is_host("acme.openai.azure.com")
    assert not azure.is_host("openai.azure.com.evil.com")
    assert not azure.is_host("openai.azure.com")


@pytest.mark.parametrize("attribute", ["names", "prefixes", "hosts"])
def test_no_two_providers_are_told_alike(attribute: str) -> None:
    """A name, prefix or host stands for one provider."""
    found = Counter(
        text for one in BOOK.identities.values() for text in set(getattr(one, attribute))
    )
    assert [text for text, count in found.items() if count > 1] == []


def test_everything_is_in_lower_case() -> None:
    """Names are compared in lower case, so patterns must be."""
    for identity in BOOK.identities.values():
        for text in (*identity.names, *identity.prefixes, *identity.hosts, *identity.models):
            assert text == text.lower()


def test_prices_are_taken_from_providers_that_there_are() -> None:
    """A list that stands in for another exists."""
    for identity in BOOK.identities.values():
        assert set(identity.price_from) <= set(BOOK.identities)


def test_a_users_table_adds_to_a_provider() -> None:
    """Nothing of what was known is lost."""
    known = Identity(name="x", hosts=("a",), open_weights=True)
    more = known.with_more(Identity(name="x", hosts=("b",), names=("c",)))
    assert more == Identity(name="x", hosts=("a", "b"), names=("c",), open_weights=True)
