"""Attention of one batch: pieces computed one by one, merged by log-sum-exp.

A piece's output is the attention over that piece alone, and its `lse` the logarithm of the sum of
exponentiated scores. Two pieces over disjoint KV merge exactly:

```
    w = sigmoid(lse_b - lse_a)      out = out_a + w * (out_b - out_a)      lse = logaddexp
```

Partial outputs are laid out (kv_heads, rows, group, head_dim): a KV head's queries are one matrix,
and KV is read once for the whole group.
"""

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
        self._config = config
        self._waves = plan.waves
        self._scale = config.head_dim**-0.5
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
        config = self._config
        rows = len(qkv)
        queries = qkv[:, : config.heads].view(rows, config.kv_heads, config.group, -1)
        queries = queries.transpose(0, 1).contiguous()
        out, lse = self._wave(self._waves[0], queries, qkv, pool)
        for wave in self._waves[1:]:
            more, more_lse = self._wave(wave, queries, qkv, pool)
            into, into_lse = out[:, wave.first : wave.end], lse[:, wave.first : wave.end]
            weight = torch.sigmoid(more_lse - into_lse).unsqueeze(-1)
            into.lerp_(more, weight.to(into.dtype))
            if wave is not self._waves[-1]:
                torch.logaddexp(into_lse, more_lse, out=into_lse)
        return out.transpose(0, 1).reshape(rows, -1)

    def _wave(self, wave: Wave, queries: Tensor, qkv: Tensor, pool: Tensor) -> Partial:
        parts = [self._piece(piece, queries, qkv, pool) for piece in wave.pieces]
        if len(parts) == 1:
            return parts[0]
        return torch.cat([out for out, _ in parts], 1), torch.cat([lse for _, lse in parts], 1)

    def _piece(self, piece: Piece, queries: Tensor, qkv: Tensor, pool: Tensor) -> Partial:
        queries = queries[:, piece.first : piece.end]
        match piece.source:
            case Extent(first, tokens):
                return self._context(queries, pool[:, first : first + tokens])
            case Gather():
                return self._context(queries, pool.index_select(1, self._slots[id(piece)]))
            case Square():
                return self._square(queries, qkv[piece.first : piece.end])

    def _context(self, queries: Tensor, kv: Tensor) -> Partial:
        """Every row attends to all of `kv`, shape (2 * kv_heads, tokens, head_dim)."""
        heads, rows, group, _ = queries.shape
        kv = kv.unsqueeze(1)
        out, lse = self._attend(
            queries.flatten(1, 2).unsqueeze(1),
            kv[:heads],
            kv[heads:],
            causal=False,
            scale=self._scale,
        )
        return out.view(queries.shape), lse.view(heads, rows, group)

    def _square(self, queries: Tensor, qkv: Tensor) -> Partial:
        """Every row attends to the rows before it, and to itself."""
        heads, rows, group, head_dim = queries.shape
        kv = qkv[:, self._config.heads :].transpose(0, 1).unsqueeze(1)
        kv = kv.expand(-1, group, rows, head_dim)
        out, lse = self._attend(
            queries.transpose(1, 2), kv[:heads], kv[heads:], causal=True, scale=self._scale
        )
        return out.transpose(1, 2), lse.transpose(1, 2)
