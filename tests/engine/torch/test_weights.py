"""Packing a checkpoint's tensors: which are read, which may be missing, which fit."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from stemcache.engine.torch.config import DecoderConfig
from stemcache.engine.torch.linear import Linear
from stemcache.engine.torch.rope import pair_rows
from stemcache.engine.torch.weights import DecoderWeights, Shards, pack_weights
from stemcache.errors import ModelError

CONFIG = DecoderConfig(
    layers=2,
    hidden=8,
    heads=2,
    kv_heads=1,
    head_dim=4,
    vocabulary=11,
    context_tokens=32,
    norm_epsilon=1e-5,
    tied_head=False,
)
WIDTH = 6


def checkpoint(*, biases: bool = False, qk_norms: bool = False) -> dict[str, Tensor]:
    """Random tensors under the names that transformers gives them."""
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (11, 8),
        "model.norm.weight": (8,),
        "lm_head.weight": (11, 8),
    }
    for i in range(CONFIG.layers):
        layer = f"model.layers.{i}"
        rows = {"q": 8, "k": 4, "v": 4}
        for name, count in rows.items():
            shapes[f"{layer}.self_attn.{name}_proj.weight"] = (count, 8)
            if biases:
                shapes[f"{layer}.self_attn.{name}_proj.bias"] = (count,)
        for name in ("q", "k") if qk_norms else ():
            shapes[f"{layer}.self_attn.{name}_norm.weight"] = (4,)
        shapes[f"{layer}.self_attn.o_proj.weight"] = (8, 8)
        shapes[f"{layer}.mlp.gate_proj.weight"] = (WIDTH, 8)
        shapes[f"{layer}.mlp.up_proj.weight"] = (WIDTH, 8)
        shapes[f"{layer}.mlp.down_proj.weight"] = (8, WIDTH)
        shapes[f"{layer}.input_layernorm.weight"] = (8,)
        shapes[f"{layer}.post_attention_layernorm.weight"] = (8,)
    random = torch.Generator().manual_seed(5)
    return {name: torch.randn(shape, generator=random) for name, shape in shapes.items()}


def pack(
    tensors: Mapping[str, Tensor],
    dtype: torch.dtype = torch.float32,
    config: DecoderConfig = CONFIG,
) -> DecoderWeights:
    """Pack, as from a file called `there`."""
    return pack_weights(tensors, config, dtype, source="there")


def product(linear: Linear, x: Tensor) -> Tensor:
    """What a product makes of a row."""
    return linear(x)


def test_a_norm_is_folded_into_the_product_behind_it() -> None:
    """In float32, where that changes nothing but roundings; none is left to apply."""
    tensors = checkpoint()
    packed = pack(tensors)
    x = torch.arange(8.0)[None]
    norm = tensors["model.layers.0.post_attention_layernorm.weight"]
    gate = tensors["model.layers.0.mlp.gate_proj.weight"]
    up = tensors["model.layers.0.mlp.up_proj.weight"]

    assert packed.final_norm is None
    assert {None} == {layer.attention_norm for layer in packed.layers}
    assert {None} == {layer.mlp_norm for layer in packed.layers}
    torch.testing.assert_close(
        torch.cat([(x * norm) @ gate.T, (x * norm) @ up.T], 1),
        product(packed.layers[0].gate_up, x),
    )
    torch.testing.assert_close(
        (x * tensors["model.norm.weight"]) @ tensors["lm_head.weight"].T, product(packed.head, x)
    )


def test_in_bfloat16_norms_stay_apart() -> None:
    """Folded, they would be rounded once more than the model's authors did."""
    tensors = checkpoint()
    packed = pack(tensors, torch.bfloat16)
    norm = packed.layers[1].attention_norm

    assert packed.final_norm is not None
    assert norm is not None
    assert torch.equal(tensors["model.layers.1.input_layernorm.weight"].bfloat16(), norm)
    assert torch.bfloat16 == packed.embedding.dtype == norm.dtype


def test_queries_and_keys_are_in_the_order_of_the_rotation_and_values_are_not() -> None:
    """With their biases."""
    tensors = checkpoint(biases=True)
    packed = pack(tensors)
    attention = "model.layers.0.self_attn"
    x = torch.arange(8.0)[None]
    normed = x * tensors["model.layers.0.input_layernorm.weight"]
    parts = {
        name: (normed @ tensors[f"{attention}.{name}_proj.weight"].T)
        + tensors[f"{attention}.{name}_proj.bias"]
        for name in ("q", "k", "v")
    }

    torch.testing.assert_close(
        torch.cat([pair_rows(parts["q"][0], 2), pair_rows(parts["k"][0], 1), parts["v"][0]]),
        product(packed.layers[0].qkv, x)[0],
    )


def test_norms_of_queries_and_keys_are_one_table() -> None:
    """A row a head, queries first; none where the model has none."""
    tensors = checkpoint(qk_norms=True)
    packed = pack(tensors)
    norms = packed.layers[0].qk_norm
    attention = "model.layers.0.self_attn"
    query = pair_rows(tensors[f"{attention}.q_norm.weight"], 1)
    key = pair_rows(tensors[f"{attention}.k_norm.weight"], 1)

    assert norms is not None
    assert torch.equal(torch.stack([query, query, key]), norms)
    assert pack(checkpoint()).layers[0].qk_norm is None


def test_a_tied_head_is_the_embedding() -> None:
    """Whether or not the checkpoint repeats it, and whatever it repeats it as."""
    tied = DecoderConfig(
        **{name: getattr(CONFIG, name) for name in DecoderConfig.__slots__} | {"tied_head": True}
    )
    tensors = checkpoint()
    x = torch.arange(8.0)[None]
    expected = (x * tensors["model.norm.weight"]) @ tensors["model.embed_tokens.weight"].T
    with_head = pack(tensors, config=tied)
    del tensors["lm_head.weight"]
    without = pack(tensors, config=tied)

    torch.testing.assert_close(expected, product(with_head.head, x))
    torch.testing.assert_close(expected, product(without.head, x))


def test_frequencies_of_the_rotation_are_computed_not_read() -> None:
    """Old checkpoints hold them, and they have no place to be missing from."""
    tensors = checkpoint()
    tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.zeros(2)

    assert 2 == len(pack(tensors).layers)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "name",
    [
        "model.embed_tokens.weight",
        "model.norm.weight",
        "lm_head.weight",
        "model.layers.0.mlp.gate_proj.weight",
        "model.layers.1.mlp.gate_proj.weight",
        "model.layers.1.mlp.up_proj.weight",
        "model.layers.0.mlp.down_proj.weight",
        "model.layers.1.self_attn.q_proj.weight",
        "model.layers.0.self_attn.v_proj.weight",
        "model.layers.1.self_attn.o_proj.weight",
        "model.layers.0.input_layernorm.weight",
        "model.layers.1.post_attention_layernorm.weight",
        "model.layers.0.self_attn.k_proj.bias",
        "model.layers.1.self_attn.q_norm.weight",
        "model.layers.0.self_attn.k_norm.weight",
    ],
)
def test_a_tensor_that_is_missing_is_named(name: str, dtype: torch.dtype) -> None:
    """Whichever it is; of biases and norms that come together, the one that did not."""
    tensors = checkpoint(biases=True, qk_norms=True)
    del tensors[name]
    with pytest.raises(ModelError) as caught:
        pack(tensors, dtype)

    assert f"there lacks the tensor {name}; download the model again" == str(caught.value)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (
            ["model.layers.2.mlp.gate_proj.weight"],
            (
                "1 tensors in there have no place in this decoder "
                "(model.layers.2.mlp.gate_proj.weight); use a plain Llama, Mistral, Qwen2 or "
                "Qwen3 checkpoint"
            ),
        ),
        (
            ["d", "b", "a", "c"],
            (
                "4 tensors in there have no place in this decoder (a, b, c); use a plain Llama, "
                "Mistral, Qwen2 or Qwen3 checkpoint"
            ),
        ),
    ],
)
def test_tensors_without_a_place_are_named(extra: list[str], message: str) -> None:
    """The first three of them, in order."""
    tensors = checkpoint()
    tensors.update({name: torch.zeros(1) for name in extra})
    with pytest.raises(ModelError) as caught:
        pack(tensors)

    assert message == str(caught.value)


@pytest.mark.parametrize(
    ("name", "rows", "expected"),
    [
        ("model.embed_tokens.weight", 12, 11),
        ("lm_head.weight", 10, 11),
        ("model.layers.1.self_attn.q_proj.weight", 4, 8),
        ("model.layers.0.self_attn.v_proj.bias", 8, 4),
        ("model.layers.0.mlp.up_proj.weight", 7, WIDTH),
        ("model.layers.1.mlp.down_proj.weight", 9, 8),
        ("model.layers.1.input_layernorm.weight", 7, 8),
        ("model.layers.0.self_attn.k_norm.weight", 3, 4),
    ],
)
def test_a_tensor_of_another_size_is_named(name: str, rows: int, expected: int) -> None:
    """The configuration is another model's, or the weights are."""
    tensors = checkpoint(biases=True, qk_norms=True)
    tensors[name] = torch.zeros((rows, *tensors[name].shape[1:]))
    with pytest.raises(ModelError) as caught:
        pack(tensors)

    assert (
        f"tensor {name} in there has {rows} rows where the configuration says {expected}; the two "
        "belong to different models"
    ) == str(caught.value)


def test_shards_are_one_mapping(tmp_path: Path) -> None:
    """Names from all files; each tensor read when it is asked for."""
    one, two = tmp_path / "1.safetensors", tmp_path / "2.safetensors"
    save_file({"a": torch.ones(2), "b": torch.zeros(1)}, one)
    save_file({"c": torch.full((3,), 7.0)}, two)
    shards = Shards((one, two))

    assert (3, {"a", "b", "c"}) == (len(shards), set(shards))
    assert [7.0] * 3 == shards["c"].tolist()
    assert "d" not in shards


@pytest.mark.parametrize("content", [b"", b"not safetensors", b"\xff" * 64])
def test_a_file_that_is_no_safetensors_is_named(tmp_path: Path, content: bytes) -> None:
    """With what the library has to say of it."""
    file = tmp_path / "model.safetensors"
    file.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        Shards((file,))

    assert str(caught.value).startswith(f"cannot read {file}: ")
    assert str(caught.value).endswith("; download it again")
