"""Keys of short texts, some of whose beginnings are known."""

from random import Random

from stemcache.gateway import beginnings
from stemcache.gateway.beginnings import Beginnings
from stemcache.gateway.keys import TEXT_UNIT_BYTES, extend_keys

ROOT = b"12345678"


def wanted(text: bytes, root: bytes = ROOT) -> list[int]:
    """As they are without anything remembered."""
    whole = range(0, len(text) // TEXT_UNIT_BYTES * TEXT_UNIT_BYTES, TEXT_UNIT_BYTES)
    keys: list[int] = []
    extend_keys(keys, root, [text[at : at + TEXT_UNIT_BYTES] for at in whole])
    return keys


def test_what_is_remembered_changes_no_key() -> None:
    """However texts begin, and whatever their length."""
    rng = Random(5)
    ours = Beginnings()
    stems = [rng.randbytes(rng.randrange(3000)) for _ in range(5)]
    for _ in range(300):
        text = rng.choice(stems)[: rng.randrange(3000)] + rng.randbytes(rng.randrange(700))
        root = rng.choice((ROOT, b"87654321"))
        assert ours.keys(root, text) == wanted(text, root)


def test_a_list_that_was_given_out_is_the_caller_s() -> None:
    """Nothing that is remembered changes with it."""
    ours = Beginnings()
    text = bytes(2048)
    for _ in range(6):
        keys = ours.keys(ROOT, text)
        assert keys == wanted(text)
        keys[:] = [0] * len(keys)


def test_a_text_adds_one_piece_to_what_is_known() -> None:
    """The first that was not."""
    ours = Beginnings()
    for count in (1, 2, 3, 4, 4):
        ours.keys(ROOT, b"a" * 2048)
        assert len(ours._known) == count


def test_all_are_forgotten_where_there_are_too_many() -> None:
    """The one that was one too many is known then."""
    ours = Beginnings()
    for number in range(beginnings._MOST_PIECES + 1):
        ours.keys(ROOT, number.to_bytes(8, "little") * 64)
    assert len(ours._known) == 1
