"""The KV pool: which slot of which tensor a token's keys and values go to."""

import pytest
import torch

from stemcache.engine.torch.config import DecoderConfig
from stemcache.engine.torch.kv import KvPool

CONFIG = DecoderConfig(
    layers=3,
    hidden=8,
    heads=4,
    kv_heads=2,
    head_dim=2,
    vocabulary=11,
    context_tokens=32,
    norm_epsilon=1e-5,
    tied_head=True,
)


def make(dtype: torch.dtype = torch.float32) -> KvPool:
    """Five pages of four tokens."""
    return KvPool(CONFIG, pages=5, block_size=4, dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_each_layer_has_a_slot_a_token(dtype: torch.dtype) -> None:
    """Keys of every head, then values of every head, in the precision asked for."""
    pool = make(dtype)

    assert (20, 4) == (pool.slots, pool.block_size)
    assert [(4, 20, 2)] * 3 == [tuple(layer.shape) for layer in pool.layers]
    assert {dtype} == {layer.dtype for layer in pool.layers}


def test_a_head_is_one_stretch_of_memory() -> None:
    """Consecutive slots lie side by side, so that a run of pages is a view."""
    run = make().layers[0][1, 4:12]

    assert run.is_contiguous()


def test_a_token_is_written_to_its_slot_of_its_layer() -> None:
    """And nowhere else, in whatever order the slots come."""
    pool = make()
    kv = torch.arange(1.0, 17.0).reshape(2, 4, 2)
    pool.write(1, torch.tensor([13, 6]), kv)

    assert torch.equal(kv[0], pool.layers[1][:, 13])
    assert torch.equal(kv[1], pool.layers[1][:, 6])
    others = [slot for slot in range(20) if slot not in {13, 6}]
    assert 0.0 == pool.layers[1][:, others].abs().sum()
    assert 0.0 == pool.layers[0].abs().sum() == pool.layers[2].abs().sum()


def test_a_slot_can_be_written_again() -> None:
    """A page that was given up holds what its next owner writes."""
    pool = make()
    pool.write(0, torch.tensor([3]), torch.ones(1, 4, 2))
    pool.write(0, torch.tensor([3]), torch.full((1, 4, 2), 2.0))

    assert 8 * 2.0 == pool.layers[0].sum()


def test_more_than_the_machine_gives_is_a_memory_error() -> None:
    """Whatever torch calls it."""
    with pytest.raises(MemoryError):
        KvPool(CONFIG, pages=2**45, block_size=4, dtype=torch.float32)
