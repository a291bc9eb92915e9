"""The small answers, as clients parse them."""

import json

import msgspec
import pytest

from stemcache.wire.listing import Health, ModelCard, ModelList, ResetAnswer
from stemcache.wire.tokens import Detokenized, Tokenized

CARD = ModelCard(id="m", created=7, max_model_len=99)
CARD_SEEN = {
    "id": "m",
    "object": "model",
    "created": 7,
    "owned_by": "stemcache",
    "max_model_len": 99,
}


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        (CARD, CARD_SEEN),
        (ModelList([CARD]), {"object": "list", "data": [CARD_SEEN]}),
        (Health("draining"), {"status": "draining"}),
        (ResetAnswer(success=True, dropped_blocks=3), {"success": True, "dropped_blocks": 3}),
        (
            Tokenized(tokens=[1, 2], count=2, max_model_len=9),
            {"tokens": [1, 2], "count": 2, "max_model_len": 9, "token_strs": None},
        ),
        (Detokenized("text"), {"prompt": "text"}),
    ],
)
def test_answers_have_the_fields_that_clients_look_for(
    answer: msgspec.Struct, seen: dict[str, object]
) -> None:
    """Constants such as `object` among them."""
    assert seen == json.loads(msgspec.json.encode(answer))
