"""What gateways tell each other."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.gateway.gossip import (
    MOST_KEYS,
    GossipError,
    Load,
    decode_batch,
    encode_batch,
    placement,
)
from stemcache.gateway.keys import Keys


def test_a_batch_comes_back_as_it_was() -> None:
    """Keys, kinds and loads."""
    text = placement("a:1", Keys([1, 2**64 - 1], 128, exact=False))
    exact = placement("b:2#1", Keys([7], 16, exact=True))
    batch = decode_batch(encode_batch("g", [text, exact], [Load("a:1", 3, 900)]))
    assert batch.gateway == "g"
    assert [(each.seat, each.unit, each.as_list()) for each in batch.placements] == [
        ("a:1", 0, [1, 2**64 - 1]),
        ("b:2#1", 16, [7]),
    ]
    assert batch.loads == (Load("a:1", 3, 900),)


def test_a_very_long_prompt_is_told_up_to_a_bound() -> None:
    """The rest is left out; what is told is a beginning."""
    long = placement("a", Keys(list(range(MOST_KEYS + 5)), 16, exact=True))
    assert decode_batch(encode_batch("g", [long], [])).placements[0].as_list() == list(
        range(MOST_KEYS)
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff" * 40,
        msgspec.msgpack.encode({"gateway": "g"}),
        msgspec.msgpack.encode(["g", [], [["a", -1, 0]]]),
        msgspec.msgpack.encode(["g", [["a", 0, b"x" * (8 * MOST_KEYS + 8)]], []]),
        msgspec.msgpack.encode(["g" * 600, [], []]),
        msgspec.msgpack.encode(["g", [["a", 2**21, b""]], []]),
        b"\x91" * 100_000,
    ],
    ids=["empty", "noise", "map", "negative", "too long", "long name", "unit", "nested"],
)
def test_what_is_no_batch_is_refused_in_words(data: bytes) -> None:
    """Whoever can write to the stream cannot do more than that."""
    with pytest.raises(GossipError, match="no batch of a gateway's"):
        decode_batch(data)


@given(st.binary(max_size=300))
def test_no_bytes_do_worse_than_an_error(data: bytes) -> None:
    """Either a batch or a GossipError."""
    try:
        batch = decode_batch(data)
    except GossipError:
        return
    for each in batch.placements:
        each.as_list()


def test_half_a_key_at_the_end_is_dropped() -> None:
    """Bytes of strangers need not be whole keys."""
    data = msgspec.msgpack.encode(["g", [["a", 0, b"\x01" + bytes(7) + b"\x02"]], []])
    assert decode_batch(data).placements[0].as_list() == [1]
