import base64
import json
from pathlib import Path
from typing import Any

import pytest

from stemcache.gateway.kv_events import Cleared, Removed, Stored, decode_batch, read_live

RECORDED = json.loads((Path(__file__).parent / "data/vllm_events.json").read_text())


def recorded(part: str) -> list[Any]:
    return [
        decode_batch(read_live([base64.b64decode(x) for x in one["frames"]]).payload)
        for one in RECORDED[part]["live"]
    ]


@pytest.mark.parametrize(
    ("part", "kinds"),
    [
        ("plenty", [[Stored], [Stored], [Stored], [Cleared, Stored]]),
        (
            "sixteen_blocks",
            [
                [Stored],
                [*[Removed] * 2, Stored],
                [*[Removed] * 8, Stored],
                [*[Removed] * 8, Stored],
                [*[Removed] * 2, Stored],
            ],
        ),
    ],
)
def test_what_a_real_vllm_published_is_read_whole(part: str, kinds: list[list[type]]):
    """Frames recorded from a real vLLM decode into the events that it meant, nothing unknown."""
    batches = recorded(part)
    assert [[type(event) for event in batch.events] for batch in batches] == kinds
    assert not any(batch.unknown for batch in batches)
