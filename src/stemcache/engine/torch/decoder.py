"""One batch through all layers."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from stemcache.engine.torch.attention import BatchAttention
from stemcache.engine.torch.config import DecoderConfig
from stemcache.engine.torch.kv import KvPool
from stemcache.engine.torch.plan import Plan
from stemcache.engine.torch.rope import Rope, turn
from stemcache.engine.torch.weights import DecoderWeights, LayerWeights

__all__ = ["Decoder"]


class Decoder:
    """The layers of a Llama-like model."""

    def __init__(self, config: DecoderConfig, weights: DecoderWeights, rope: Rope) -> None:
        self._config = config
        self._weights = weights
        self._rope = rope
        self._epsilon = torch.full((1, 1), config.norm_epsilon)

    def __call__(self, plan: Plan, last: Plan | None, pool: KvPool) -> Tensor | None:
        """Compute `plan`, writing KV into `pool`; return logits of `last`, in its order of rows.

        `last` plans the same steps reduced to the last token of those that are sampled: behind the
        KV of the last layer, only these rows matter. None: no logits are wanted.
        """
        weights = self._weights
        rows = _Rows(self._config, plan, self._rope)
        x = functional.embedding(torch.from_numpy(plan.tokens), weights.embedding)
        for index, layer in enumerate(weights.layers[:-1]):
            qkv = self._qkv(x, layer, rows)
            pool.write(index, rows.slots, qkv[:, self._config.heads :])
            x = self._behind_kv(x, qkv, layer, rows, pool.layers[index])
        index, layer = len(weights.layers) - 1, weights.layers[-1]
        qkv = self._qkv(x, layer, rows)
        pool.write(index, rows.slots, qkv[:, self._config.heads :])
        if last is None:
            return None
        if len(last.tokens) < len(plan.tokens):
            chosen = np.empty(len(last.tokens), np.int64)
            chosen[last.last_rows] = plan.last_rows
            kept = torch.from_numpy(chosen)
            x, qkv = x.index_select(0, kept), qkv.index_select(0, kept)
            rows = _Rows(self._config, last, self._rope)
        x = self._behind_kv(x, qkv, layer, rows, pool.layers[index])
        x = self._norm(x, weights.final_norm)
        return weights.head(x.index_select(0, torch.from_numpy(last.last_rows)))

    def _qkv(self, x: Tensor, layer: LayerWeights, rows: "_Rows") -> Tensor:
        config = self._config
        qkv = layer.qkv(self._norm(x, layer.attention_norm))
        qkv = qkv.view(x.shape[0], -1, config.head_dim)
        turning = qkv[:, : config.heads + config.kv_heads]
        if layer.qk_norm is not None:
            turning.copy_(self._norm(turning, layer.qk_norm))
        turn(turning, rows.turns)
        return qkv

    def _behind_kv(
        self, x: Tensor, qkv: Tensor, layer: LayerWeights, rows: "_Rows", pool: Tensor
    ) -> Tensor:
        x = layer.out.add(rows.attention(qkv, pool), x)
        gate, up = layer.gate_up(self._norm(x, layer.mlp_norm)).chunk(2, -1)
        return layer.down.add(functional.silu(gate).mul_(up), x)

    def _norm(self, x: Tensor, weight: Tensor | None) -> Tensor:
        """Divide by the root of the mean square, over the last dimension."""
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32)
        scale = torch.addcmul(self._epsilon, length, length, value=1 / x.shape[-1]).rsqrt_()
        scaled: Tensor = (x * scale).to(x.dtype)
        return scaled if weight is None else scaled.mul_(weight)


class _Rows:
    """What depends on a plan alone, made once for all layers."""

    def __init__(self, config: DecoderConfig, plan: Plan, rope: Rope) -> None:
        self.slots = torch.from_numpy(plan.slots)
        self.turns = rope.turns(torch.from_numpy(plan.positions))
        self.attention = BatchAttention(config, plan)
