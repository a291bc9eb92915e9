"""A checkpoint's tensors, packed the way the decoder multiplies them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from stemcache.engine.torch.config import DecoderConfig
from stemcache.engine.torch.linear import Linear
from stemcache.engine.torch.rope import pair_rows
from stemcache.errors import ModelError

__all__ = ["DecoderWeights", "LayerWeights", "Shards", "pack_weights"]

_PLAIN_BYTES = 1 << 30
"""At most so much memory goes into a second form of weights, for the sake of long chunks."""


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """One layer. A norm that is None is folded into the product behind it."""

    qkv: Linear
    """Queries, keys, values; of the first two, dimensions are in `rope`'s order."""
    out: Linear
    gate_up: Linear
    down: Linear
    attention_norm: Tensor | None
    mlp_norm: Tensor | None
    qk_norm: Tensor | None
    """Shape (heads + kv_heads, head_dim), for models that normalise each query and key."""


@dataclass(frozen=True, slots=True)
class DecoderWeights:
    """The whole model."""

    embedding: Tensor
    layers: tuple[LayerWeights, ...]
    final_norm: Tensor | None
    head: Linear


class _Shard(Protocol):
    """What we use of `safe_open`, which has no types."""

    def keys(self) -> list[str]: ...
    def get_tensor(self, name: str) -> Tensor: ...


class Shards(Mapping[str, Tensor]):
    """The tensors of safetensors files, each read when asked for."""

    def __init__(self, files: tuple[Path, ...]) -> None:
        self._where: dict[str, _Shard] = {}
        for file in files:
            try:
                handle: _Shard = safe_open(file, framework="pt")
            except (SafetensorError, OSError) as error:
                raise ModelError(f"cannot read {file}: {error}; download it again") from error
            self._where.update(dict.fromkeys(handle.keys(), handle))

    def __getitem__(self, name: str) -> Tensor:
        return self._where[name].get_tensor(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._where)

    def __len__(self) -> int:
        return len(self._where)


def pack_weights(
    tensors: Mapping[str, Tensor], config: DecoderConfig, dtype: torch.dtype, *, source: str
) -> DecoderWeights:
    """Pack `tensors`, named as transformers names them; each must have its place."""
    return _Packer(tensors, config, dtype, source).pack()


class _Packer:
    def __init__(
        self, tensors: Mapping[str, Tensor], config: DecoderConfig, dtype: torch.dtype, source: str
    ) -> None:
        self._tensors = tensors
        self._config = config
        self._dtype = dtype
        self._source = source
        self._unread = {name for name in tensors if not name.endswith("rotary_emb.inv_freq")}
        # A product with a folded norm equals the two to float32 rounding, not to that of bfloat16.
        self._fold = dtype == torch.float32
        self._keep_plain = dtype == torch.float32 and self._plain_bytes() <= _PLAIN_BYTES

    def pack(self) -> DecoderWeights:
        embedding = self._take("model.embed_tokens.weight", self._config.vocabulary)
        layers = tuple(self._layer(i) for i in range(self._config.layers))
        norm = self._take("model.norm.weight", self._config.hidden)
        if self._config.tied_head:
            self._unread.discard("lm_head.weight")
            head = embedding
        else:
            head = self._take("lm_head.weight", self._config.vocabulary)
        if self._unread:
            names = ", ".join(sorted(self._unread)[:3])
            raise ModelError(
                f"{len(self._unread)} tensors in {self._source} have no place in this decoder "
                f"({names}); use a plain Llama, Mistral, Qwen2 or Qwen3 checkpoint"
            )
        product, final_norm = self._behind_norm(head, None, norm)
        return DecoderWeights(embedding.to(self._dtype), layers, final_norm, product)

    def _layer(self, index: int) -> LayerWeights:
        config, prefix = self._config, f"model.layers.{index}"
        attention, mlp = f"{prefix}.self_attn", f"{prefix}.mlp"
        sizes = {
            name: heads * config.head_dim
            for name, heads in (("q", config.heads), ("k", config.kv_heads), ("v", config.kv_heads))
        }
        weights = [self._take(f"{attention}.{n}_proj.weight", size) for n, size in sizes.items()]
        biases = self._together({f"{attention}.{n}_proj.bias": s for n, s in sizes.items()})
        qkv, attention_norm = self._behind_norm(
            torch.cat([*self._paired(weights[:2]), weights[2]]),
            None if biases is None else torch.cat([*self._paired(biases[:2]), biases[2]]),
            self._take(f"{prefix}.input_layernorm.weight", config.hidden),
        )
        width = self._width(mlp)
        names = ("gate_proj", "up_proj")
        biases = self._together({f"{mlp}.{name}.bias": width for name in names})
        gate_up, mlp_norm = self._behind_norm(
            torch.cat([self._take(f"{mlp}.{name}.weight", width) for name in names]),
            None if biases is None else torch.cat(biases),
            self._take(f"{prefix}.post_attention_layernorm.weight", config.hidden),
        )
        return LayerWeights(
            qkv=qkv,
            out=self._into_residual(f"{attention}.o_proj"),
            gate_up=gate_up,
            down=self._into_residual(f"{mlp}.down_proj"),
            attention_norm=attention_norm,
            mlp_norm=mlp_norm,
            qk_norm=self._qk_norm(attention),
        )

    def _into_residual(self, name: str) -> Linear:
        """Make a product whose result is added; oneDNN is at its worst in these on long chunks."""
        hidden = self._config.hidden
        weight = self._take(f"{name}.weight", hidden)
        bias = self._maybe(f"{name}.bias", hidden)
        return self._linear(weight, bias, keep_plain=self._keep_plain)

    def _qk_norm(self, attention: str) -> Tensor | None:
        config = self._config
        norms = self._together({f"{attention}.{n}_norm.weight": config.head_dim for n in "qk"})
        if norms is None:
            return None
        both = [
            pair_rows(weight, 1).expand(heads, -1)
            for weight, heads in zip(norms, (config.heads, config.kv_heads), strict=True)
        ]
        return torch.cat(both).to(self._dtype)

    def _paired(self, query_and_key: list[Tensor]) -> list[Tensor]:
        query, key = query_and_key
        return [pair_rows(query, self._config.heads), pair_rows(key, self._config.kv_heads)]

    def _behind_norm(
        self, weight: Tensor, bias: Tensor | None, norm: Tensor
    ) -> tuple[Linear, Tensor | None]:
        """Make the product that follows a norm, with the norm folded in if it may be."""
        if self._fold:
            return self._linear(weight * norm, bias), None
        return self._linear(weight, bias), norm.to(self._dtype)

    def _linear(self, weight: Tensor, bias: Tensor | None, *, keep_plain: bool = False) -> Linear:
        bias = None if bias is None else bias.to(self._dtype)
        return Linear(weight.to(self._dtype), bias, keep_plain=keep_plain)

    def _take(self, name: str, size: int) -> Tensor:
        tensor = self._maybe(name, size)
        if tensor is None:
            raise self._lacks(name)
        return tensor

    def _together(self, sizes: Mapping[str, int]) -> list[Tensor] | None:
        """Take what a model has all or none of."""
        if not any(name in self._tensors for name in sizes):
            return None
        return [self._take(name, size) for name, size in sizes.items()]

    def _width(self, mlp: str) -> int:
        name = f"{mlp}.gate_proj.weight"
        if name not in self._tensors:
            raise self._lacks(name)
        return len(self._tensors[name])

    def _lacks(self, name: str) -> ModelError:
        return ModelError(f"{self._source} lacks the tensor {name}; download the model again")

    def _maybe(self, name: str, size: int) -> Tensor | None:
        if name not in self._tensors:
            return None
        self._unread.discard(name)
        tensor = self._tensors[name]
        if len(tensor) != size:
            raise ModelError(
                f"tensor {name} in {self._source} has {len(tensor)} rows where the configuration "
                f"says {size}; the two belong to different models"
            )
        # Folding and packing are done in float32, whatever the checkpoint's precision.
        return tensor.float() if self._fold else tensor

    def _plain_bytes(self) -> int:
        """Memory that the products into the residual take once more in plain form."""
        config = self._config
        width = self._width("model.layers.0.mlp")
        columns = config.heads * config.head_dim + width
        return config.layers * config.hidden * columns * self._dtype.itemsize
