"""`TorchModel` as the engine uses it: chunks, pages and company do not change the logits."""

from pathlib import Path

import numpy as np
import pytest

from stemcache.engine.model import Model, Step
from stemcache.engine.torch import plan as plan_module
from stemcache.engine.torch.model import TorchModel
from tests.engine.torch.twins import Ints, MakeTwin, step

TOLERANCE = 2e-5
"""Of the largest logit."""


def close(got: object, expected: object) -> bool:
    """Whether logits are equal to the rounding of float32."""
    left, right = np.asarray(got), np.asarray(expected)
    return bool(np.abs(left - right).max() < TOLERANCE * np.abs(right).max())


@pytest.mark.parametrize("block_size", [1, 16])
@pytest.mark.parametrize("cuts", [(150,), (1, 2, 150), (64, 128, 150), (33, 66, 99, 149, 150)])
def test_chunks_give_what_the_whole_gives(
    make_twin: MakeTwin, tokens: Ints, cuts: tuple[int, ...], block_size: int
) -> None:
    """Logits behind each chunk are those of one uncut prompt."""
    twin = make_twin()
    expected = twin.logits(tokens)
    model = twin.load(pages=160, block_size=block_size)
    pages = np.random.default_rng(1).permutation(160)[: -(-150 // block_size)].astype(np.int32)
    start = 0
    for end in cuts:
        assert close(model.forward([step(tokens, start, end, pages)]), expected[[end - 1]])
        start = end


def test_a_batch_of_everything_gives_what_each_gives_alone(
    monkeypatch: pytest.MonkeyPatch, make_twin: MakeTwin, tokens: Ints
) -> None:
    """First chunks, later chunks and decoded tokens over stems shared at two depths."""
    monkeypatch.setattr(plan_module, "SHARED_TOKENS", 1)
    monkeypatch.setattr(plan_module, "VIEW_TOKENS", 20)
    twin = make_twin(num_attention_heads=4, num_key_value_heads=2)
    variants = [tokens.copy() for _ in range(4)]
    for i, (variant, at) in enumerate(zip(variants, (150, 96, 96, 48), strict=True)):
        variant[at:] = (variant[at:] + i) % 97
    model = twin.load(block_size=16)
    deep = [20, 21, 22, 9, 5, 30]  # the first 96 tokens, of which three pages lie side by side
    tables = [
        np.array([*deep, 40, 41, 42, 43], np.int32),
        np.array([*deep, 50, 45, 46, 47], np.int32),
        np.array([*deep, 51, 52, 53, 54], np.int32),
        np.array([*deep[:3], 10, 11, 12, 13, 14, 15, 16], np.int32),
    ]
    for variant, table in zip(variants, tables, strict=True):
        model.forward([step(variant, 0, 120, table, sample=False)])
    fresh = np.array([60, 61], np.int32)
    steps = [
        step(variants[2], 120, 121, tables[2]),
        step(tokens[::-1].copy(), 0, 20, fresh),
        step(variants[0], 120, 150, tables[0]),
        step(variants[3], 120, 121, tables[3]),
        step(variants[1], 110, 133, tables[1], sample=False),
        step(variants[0], 112, 113, tables[0]),
    ]
    got = model.forward(steps)
    expected = [
        twin.logits(variants[2])[120],
        twin.logits(tokens[::-1].copy())[19],
        twin.logits(variants[0])[149],
        twin.logits(variants[3])[120],
        twin.logits(variants[0])[112],
    ]
    assert close(got, np.stack(expected))
    # What the unsampled step wrote is right as well.
    assert close(
        model.forward([step(variants[1], 133, 140, tables[1])]), twin.logits(variants[1])[[139]]
    )


def test_a_batch_of_decoded_tokens_keeps_the_order_of_its_steps(
    make_twin: MakeTwin, tokens: Ints
) -> None:
    """Rows are computed in order of block tables, and returned in order of steps."""
    twin = make_twin()
    model = twin.load()
    tables = [np.array(pages, np.int32) for pages in ([9, 8], [2, 1], [5, 3])]
    for i, table in enumerate(tables):
        model.forward([step(tokens[i:], 0, 20, table, sample=False)])
    got = model.forward([step(tokens[i:], 20, 21, table) for i, table in enumerate(tables)])
    assert close(got, np.stack([twin.logits(tokens[i : i + 21])[20] for i in range(3)]))


def test_nothing_sampled_gives_no_rows(make_twin: MakeTwin, tokens: Ints) -> None:
    """A chunk before the last of a prompt has no logits, and an empty batch neither."""
    model = make_twin().load()
    pages = np.array([3, 4], np.int32)
    assert model.forward([step(tokens, 0, 20, pages, sample=False)]).shape == (0, 97)
    assert model.forward([]).shape == (0, 97)


def test_info_says_what_the_files_say(make_twin: MakeTwin) -> None:
    """Shapes, precision, stop tokens and a digest that is the weights' own."""
    twin = make_twin(num_key_value_heads=3, eos_token_id=[2, 5])
    model: Model = TorchModel.load(twin.path, dtype="float32", name="small")
    info = model.info
    assert (info.name, info.kv_dtype, info.vocabulary) == ("small", "float32", 97)
    assert (info.context_tokens, info.kv_bytes_per_token) == (512, 2 * 2 * 3 * 16 * 4)
    assert info.stop_tokens == frozenset({2, 5})
    assert len(info.revision) == 64
    assert TorchModel.load(twin.path).info.name == "llama"


def test_bfloat16_is_near_float32(make_twin: MakeTwin, tokens: Ints) -> None:
    """Half the memory, and logits that differ by the rounding of bfloat16."""
    twin = make_twin("qwen3")
    exact = twin.load()
    model = TorchModel.load(twin.path, dtype="bfloat16")
    model.allocate(64, 16)
    assert model.info.kv_bytes_per_token * 2 == exact.info.kv_bytes_per_token
    pages = np.arange(10, dtype=np.int32)[::-1].copy()
    steps = [step(tokens, 0, 100, pages), step(tokens, 100, 101, pages)]
    for one in steps:
        expected = exact.forward([one])
        assert np.abs(model.forward([one]) - expected).max() < 0.05 * np.abs(expected).max()


def test_weights_follow_the_checkpoint(make_twin: MakeTwin, tokens: Ints, tmp_path: Path) -> None:
    """Sharded files load like a single one, under another digest."""
    twin = make_twin()
    sharded = tmp_path / "sharded"
    twin.oracle.save_pretrained(sharded, max_shard_size="30KB")
    assert len(list(sharded.glob("*.safetensors"))) > 1
    model = TorchModel.load(sharded, dtype="float32")
    model.allocate(4, 16)
    assert close(
        model.forward([Step(tokens[:40], 0, np.arange(3, dtype=np.int32), sample=True)]),
        twin.logits(tokens[:40])[[39]],
    )
    assert model.info.revision != twin.load().info.revision
