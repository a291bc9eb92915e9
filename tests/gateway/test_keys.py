"""Keys: what makes two of them equal, and that all gateways of a version compute the same."""

import pytest

from stemcache.gateway.keys import Keys, extend_keys, root_key


def chained(root: bytes, *units: bytes) -> list[int]:
    """The keys of units, from the beginning."""
    keys: list[int] = []
    extend_keys(keys, root, units)
    return keys


def test_keys_are_the_same_in_every_gateway_of_a_version() -> None:
    """Processes of other versions would send the same prompt elsewhere."""
    root = root_key("model", None, "salt")
    assert root.hex() == "871b442403d93a37"
    assert chained(root, b"a" * 128, b"b" * 64, b"") == [
        14833882135477502038,
        16611880388960575724,
        13363505118321714811,
    ]


def test_a_key_depends_on_all_units_before_it() -> None:
    """And on nothing behind it."""
    root = root_key("m")
    whole = chained(root, b"a", b"b", b"c")
    assert chained(root, b"a", b"b", b"d")[:2] == whole[:2]
    assert chained(root, b"x", b"b", b"c")[2] != whole[2]
    assert len({*whole, *chained(root, b"b", b"b", b"b")}) == 6


def test_keys_go_on_where_they_were_left() -> None:
    """At any unit, as if they had never been."""
    root = root_key("m")
    units = [bytes([at]) * 128 for at in range(9)]
    whole = chained(root, *units)
    for cut in range(10):
        keys = chained(root, *units[:cut])
        extend_keys(keys, root, units[cut:])
        assert keys == whole


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", None), (None, "a")),
        (("a",), ("a", None)),
        (("", None), (None, None)),
        (("ab",), ("a", "b")),
    ],
)
def test_other_names_have_other_roots(
    one: tuple[str | None, ...], other: tuple[str | None, ...]
) -> None:
    """However they are cut, and whether empty or missing."""
    assert root_key(*one) != root_key(*other)
    assert len(root_key(*one)) == 8


def test_a_lone_surrogate_is_a_name_as_any_other() -> None:
    """Clients send such."""
    assert root_key("\ud800") != root_key("\ud801")


def test_the_length_of_keys_is_in_units() -> None:
    """Whole ones."""
    assert len(Keys([1, 2, 3], 16, exact=True)) == 3


def test_rungs_are_the_keys_of_doubling_beginnings() -> None:
    """From two units on, as far as there are whole ones; they are no part of what is compared."""
    assert Keys([5], 128, exact=False).rungs() == []
    keys = Keys([1, 2, 3, 4, 5, 6, 7, 8, 9], 128, exact=False)
    assert keys.rungs() == [2, 4, 8]
    assert keys == Keys([1, 2, 3, 4, 5, 6, 7, 8, 9], 128, exact=False)
