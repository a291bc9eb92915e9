import base64

import pytest

from stemcache.gateway.holdings import Holdings
from stemcache.gateway.kv_events import (
    Cleared,
    KvEventsError,
    Message,
    portions,
    read_live,
    read_replay,
    replay_request,
)
from tests.gateway.test_kv_decode import RECORDED, a_map, decoded, payloads


def test_a_real_replay_is_read_to_its_end() -> None:
    """Recorded replies carry the live payloads again, and an end."""
    replies = [[base64.b64decode(frame) for frame in one] for one in RECORDED["plenty"]["replay"]]
    messages = [read_replay(reply) for reply in replies]
    assert messages[-1] is None
    assert [message.sequence for message in messages if message is not None] == [2, 3]
    assert [message.payload for message in messages if message] == payloads("plenty")[2:]


def test_a_live_message_has_three_frames() -> None:
    """Topic, sequence and payload, or it is not KV events."""
    assert read_live([b"kv", b"\0" * 7 + b"\x05", b"p"]) == Message(5, b"p", b"kv")
    with pytest.raises(KvEventsError, match="2 frames, not 3"):
        read_live([b"", b""])
    with pytest.raises(KvEventsError, match="a sequence of 2 bytes, not 8"):
        read_live([b"", b"ab", b""])


def test_a_replay_is_asked_for_and_read_in_both_ways() -> None:
    """Replies with a topic frame and without it, and with the delimiter taken off."""
    assert replay_request(258) == [b"", b"\0" * 6 + b"\x01\x02"]
    five = b"\0" * 7 + b"\x05"
    assert read_replay([b"", b"kv", five, b"p"]) == Message(5, b"p", b"kv")
    assert read_replay([b"", b"", five, b"p"]) == Message(5, b"p")
    assert read_replay([b"", five, b"p"]) == Message(5, b"p")
    assert read_replay([five, b"p"]) == Message(5, b"p")
    assert read_replay([b"", b"", b"\xff" * 8, b""]) is None
    assert read_replay([b"", b"\xff" * 8, b""]) is None
    for frames in ([], [b""], [b"", b"", b""], [b"", b"a", five, b"p", b""]):
        with pytest.raises(KvEventsError):
            read_replay(frames)


@pytest.mark.parametrize("most", [1, 2, 3, 100])
def test_portions_are_the_batch_in_pieces(most: int) -> None:
    """Applied one after the other they come to the same; none is longer than asked."""
    names = list(range(7))
    stored = a_map(block_hashes=names, parent_block_hash=None, token_ids=names * 2)
    batch = decoded(
        stored,
        {"type": "BlockRemoved", "block_hashes": [6, 5, 4]},
        a_map(block_hashes=[0, 1, 2], token_ids=[], block_size=0, medium="CPU"),
        ["AllBlocksCleared"],
        stored,
        {"type": "BlockRemoved", "block_hashes": [6]},
    )
    pieces = list(portions(batch, most_blocks=most))
    whole, parts = Holdings(most_blocks=100), Holdings(most_blocks=100)
    whole.apply(batch)
    for piece in pieces:
        assert (
            sum(len(event.hashes) for event in piece.events if not isinstance(event, Cleared))
            <= most
        )
        assert all(not isinstance(event, Cleared) for event in piece.events[1:])
        parts.apply(piece)
    assert (len(whole), whole.counts) == (len(parts), parts.counts)
    assert len(whole) == 6


def test_a_run_of_a_wrong_shape_is_not_cut() -> None:
    """Where it is not known which tokens are whose, a portion may be longer."""
    batch = decoded(a_map(block_hashes=[1, 2, 3]))
    assert [piece.events for piece in portions(batch, most_blocks=1)] == [batch.events]
