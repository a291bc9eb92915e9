"""Golden vectors: what other processes, machines and engines compute must stay equal to ours."""

import numpy as np

from stemcache.core.hashing import (
    vllm_cbor_keys,
    vllm_event_id,
)


def raw(*tokens: int) -> bytes:
    """Tokens as a scheme takes them."""
    return np.array(tokens, "<u4").tobytes()


TWO = raw(*range(32))


def test_vllm_sha256_cbor_gives_the_reference_vectors() -> None:
    """Keys equal those derived from vLLM's definition, first and chained block."""
    first, second = vllm_cbor_keys(None, TWO, 16, {}, 0)

    assert first.hex() == "dc918a88b139e5afe60b88eda27508d4aee16c10fdc354791efea06206ac0749"
    assert second.hex() == "c300ec275d7bf08af8fc63e76cdc0086911bbc7091e03c5cf892553bef84ef0c"
    assert vllm_event_id(first) == 2233398808101521225
