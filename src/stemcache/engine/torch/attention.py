"""Attention of one batch: pieces computed one by one, merged by log-sum-exp.

A piece's output is the attention over that piece alone, and its `lse` the logarithm of the sum of
exponentiated scores. Two pieces over disjoint KV merge exactly:

```
    w = sigmoid(lse_b - lse_a)      out = out_a + w * (out_b - out_a)      lse = logaddexp
```

Partial outputs are laid out (kv_heads, 1, rows * group, head_dim): a KV head's queries are one
matrix, and KV is read once for the whole group.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from stemcache.engine.torch.config import DecoderConfig
from stemcache.engine.torch.plan import Extent, Gather, Piece, Plan, Square, Wave

__all__ = ["BatchAttention", "attend_by_products", "attend_fused"]

Partial = tuple[Tensor, Tensor]


class Attend(Protocol):
    """**Protocol**: attention of `queries` over `keys`, each (batch, heads, tokens, head_dim)."""

    def __call__(
        self, queries: Tensor, keys: Tensor, values: Tensor, *, causal: bool, scale: float
    ) -> Partial: ...


def attend_fused(
    queries: Tensor, keys: Tensor, values: Tensor, *, causal: bool, scale: float
) -> Partial:
    """Attend without materialising scores. Any strides, as long as head_dim is contiguous."""
    out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(  # noqa: SLF001 - the public one hides lse
        queries, keys, values, 0.0, causal, scale=scale
    )
    return out, lse


def attend_by_products(
    queries: Tensor, keys: Tensor, values: Tensor, *, causal: bool, scale: float
) -> Partial:
    """Attend by two matrix products: the twin, and the way where torch lacks the other."""
    scores = torch.matmul(queries, keys.transpose(-1, -2)).float().mul_(scale)
    if causal:
        scores.masked_fill_(torch.ones_like(scores, dtype=torch.bool).triu_(1), -torch.inf)
    lse = torch.logsumexp(scores, -1)
    weights = scores.sub_(lse.unsqueeze(-1)).exp_().to(values.dtype)
    return torch.matmul(weights, values), lse


def _best() -> Attend:
    name = "_scaled_dot_product_flash_attention_for_cpu"
    return attend_fused if hasattr(torch.ops.aten, name) else attend_by_products


class BatchAttention:
    """Attention over one plan, ready to be applied in each layer."""

    def __init__(self, config: DecoderConfig, plan: Plan, *, attend: Attend | None = None) -> None:
        self._heads = config.heads
        self._kv_heads = config.kv_heads
        self._group = config.group
        self._head_dim = config.head_dim
        self._waves = plan.waves
        self._attend = attend or _best()
        self._slots = {
            id(piece): torch.from_numpy(piece.source.slots)
            for wave in plan.waves
            for piece in wave.pieces
            if isinstance(piece.source, Gather)
        }

    def __call__(self, qkv: Tensor, pool: Tensor) -> Tensor:
        """Attend with the queries of `qkv`, shape (rows, heads + 2 * kv_heads, head_dim).

        `pool` is the layer's KV, that of these rows already written. Returns (rows, hidden).
        """
        rows = qkv.shape[0]
        queries = qkv[:, : self._heads].view(rows, self._kv_heads, self._group, self._head_dim)
        queries = queries.transpose(0, 1).reshape(self._kv_heads, 1, -1, self._head_dim)
        layer = _Layer(qkv, queries, pool.unsqueeze(1))
        out, lse = self._wave(self._waves[0], layer)
        for wave in self._waves[1:]:
            more, more_lse = self._wave(wave, layer)
            first, count = wave.first * self._group, (wave.end - wave.first) * self._group
            into, into_lse = out.narrow(2, first, count), lse.narrow(2, first, count)
            weight = torch.sigmoid(more_lse - into_lse).unsqueeze(-1)
            into.lerp_(more, weight.to(into.dtype))
            if wave is not self._waves[-1]:
                torch.logaddexp(into_lse, more_lse, out=into_lse)
        out = out.view(self._kv_heads, rows, -1).transpose(0, 1)
        return out.reshape(rows, -1)

    def _wave(self, wave: Wave, layer: "_Layer") -> Partial:
        if len(wave.pieces) == 1:
            return self._piece(wave.pieces[0], layer)
        parts = [self._piece(piece, layer) for piece in wave.pieces]
        return torch.cat([out for out, _ in parts], 2), torch.cat([lse for _, lse in parts], 2)

    def _piece(self, piece: Piece, layer: "_Layer") -> Partial:
        rows = piece.end - piece.first
        queries = layer.queries.narrow(2, piece.first * self._group, rows * self._group)
        match piece.source:
            case Extent(first, tokens):
                kv = layer.pool.narrow(2, first, tokens)
            case Gather():
                kv = layer.pool.index_select(2, self._slots[id(piece)])
            case Square():
                return self._square(queries, layer.qkv.narrow(0, piece.first, rows))
        keys, values = kv.narrow(0, 0, self._kv_heads), kv.narrow(0, self._kv_heads, self._kv_heads)
        return self._attend(queries, keys, values, causal=False, scale=self._head_dim**-0.5)

    def _square(self, queries: Tensor, qkv: Tensor) -> Partial:
        """Every row attends to the rows before it, and to itself."""
        heads, rows, group, head_dim = self._kv_heads, qkv.shape[0], self._group, self._head_dim
        by_head = queries.view(heads, rows, group, head_dim).transpose(1, 2)
        kv = qkv[:, self._heads :].transpose(0, 1).unsqueeze(1).expand(-1, group, -1, -1)
        out, lse = self._attend(
            by_head, kv[:heads], kv[heads:], causal=True, scale=self._head_dim**-0.5
        )
        out = out.transpose(1, 2).reshape(queries.shape)
        return out, lse.transpose(1, 2).reshape(heads, 1, rows * group)


@dataclass(frozen=True, slots=True)
class _Layer:
    """What pieces are cut from."""

    qkv: Tensor
    queries: Tensor
    """Shape (kv_heads, 1, rows * group, head_dim)."""
    pool: Tensor
    """Shape (2 * kv_heads, 1, slots, head_dim)."""
