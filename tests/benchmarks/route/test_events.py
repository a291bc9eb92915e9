"""KV events of fake workers."""

import msgspec
import pytest

zmq = pytest.importorskip("zmq")

from benchmarks.route.cache import chain  # noqa: E402  # after the check
from benchmarks.route.events import Publisher  # noqa: E402


def test_past_events_are_sent_again() -> None:
    """What was stored and removed comes back in order, then the end."""
    publisher = Publisher()
    context = zmq.Context()
    asker = context.socket(zmq.DEALER)
    try:
        text = "a" * 64 + "b" * 64
        keys = chain(text)
        publisher.changed(1.0, keys[:1], 0, text, [])
        publisher.changed(2.0, keys, 1, text, [5])
        publisher.changed(3.0, keys, 2, text, [])
        publisher.cleared(4.0)
        asker.connect(publisher.replay_endpoint)
        asker.send_multipart([b"", (1).to_bytes(8, "big")])
        assert publisher._replay.poll(2_000)
        publisher.answer_replays()
        frames = [asker.recv_multipart() for _ in range(3)]
    finally:
        asker.close(0)
        context.term()
        publisher.close()
    assert [frame[2] for frame in frames] == [
        (1).to_bytes(8, "big"),
        (2).to_bytes(8, "big"),
        b"\xff" * 8,
    ]
    at_s, events, rank = msgspec.msgpack.decode(frames[0][3])
    assert (at_s, rank) == (2.0, None)
    stored, removed = events
    assert stored["type"] == "BlockStored"
    assert stored["block_hashes"] == [keys[1] & (2**64 - 1)]
    assert stored["parent_block_hash"] == keys[0] & (2**64 - 1)
    assert stored["token_ids"] == [0xBBBB] * 16
    assert stored["block_size"] == 16
    assert removed == {"type": "BlockRemoved", "block_hashes": [5], "medium": "GPU"}
    assert msgspec.msgpack.decode(frames[1][3])[1] == [{"type": "AllBlocksCleared"}]
