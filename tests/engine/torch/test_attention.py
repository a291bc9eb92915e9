"""The attention primitive against its twin, and the merge against dense attention."""

import numpy as np
import pytest
import torch

from stemcache.engine.model import Step
from stemcache.engine.torch import plan as plan_module
from stemcache.engine.torch.attention import BatchAttention, attend_by_products, attend_fused
from stemcache.engine.torch.config import DecoderConfig
from stemcache.engine.torch.plan import plan_batch


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("rows", [1, 7, 70])
def test_both_primitives_agree(rows: int, *, causal: bool) -> None:
    """The fused operator and two matrix products give the same output and log-sum-exp."""
    generator = torch.Generator().manual_seed(1)
    queries = torch.randn(2, 3, rows, 16, generator=generator)
    keys = torch.randn(2, 1, rows if causal else 33, 32, generator=generator)
    keys, values = keys.expand(-1, 3, -1, -1).chunk(2, -1)  # strided, as the pool's are
    out, lse = attend_fused(queries, keys, values, causal=causal, scale=0.25)
    expected, expected_lse = attend_by_products(queries, keys, values, causal=causal, scale=0.25)
    torch.testing.assert_close(out, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(lse, expected_lse, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("threshold", [1, 10_000])
@pytest.mark.parametrize("attend", [attend_fused, attend_by_products])
@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 4), (6, 2), (4, 1)])
def test_merged_pieces_equal_dense_attention(
    monkeypatch: pytest.MonkeyPatch, attend: object, heads: int, kv_heads: int, threshold: int
) -> None:
    """Stems, tails and squares merge to what one softmax over everything gives."""
    monkeypatch.setattr(plan_module, "SHARED_TOKENS", threshold)
    monkeypatch.setattr(plan_module, "VIEW_TOKENS", threshold)
    config = DecoderConfig(
        layers=1,
        hidden=8,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=8,
        vocabulary=2,
        context_tokens=99,
        norm_epsilon=1e-5,
        tied_head=True,
    )
    generator = torch.Generator().manual_seed(2)
    stem = [5, 6, 9]
    steps = [
        Step(np.zeros(1, np.int32), 13, np.array([*stem, 1], np.int32), sample=True),
        Step(np.zeros(6, np.int32), 14, np.array([*stem, 2, 3], np.int32), sample=True),
        Step(np.zeros(1, np.int32), 5, np.array([5, 7], np.int32), sample=True),
        Step(np.zeros(4, np.int32), 0, np.array([8], np.int32), sample=True),
    ]
    plan = plan_batch(steps, 4)
    pool = torch.randn(2 * kv_heads, 40, 8, generator=generator)
    qkv = torch.randn(len(plan.tokens), heads + 2 * kv_heads, 8, generator=generator)
    slots = torch.from_numpy(plan.slots)
    pool[:, slots] = qkv[:, heads:].transpose(0, 1)
    out = BatchAttention(config, plan, attend=attend)(qkv, pool)  # type: ignore[arg-type]
    for step, last in zip(steps, plan.last_rows.tolist(), strict=True):
        for back in range(len(step.tokens)):
            at = np.arange(step.start + len(step.tokens) - back)
            seen = pool[:, torch.from_numpy(step.pages[at // 4].astype(np.int64) * 4 + at % 4)]
            query = qkv[last - back, :heads].view(heads, 1, 8)
            keys, values = seen.chunk(2)
            group = heads // kv_heads
            expected = torch.nn.functional.scaled_dot_product_attention(
                query, keys.repeat_interleave(group, 0), values.repeat_interleave(group, 0)
            )
            torch.testing.assert_close(out[last - back], expected.flatten(), atol=1e-5, rtol=1e-5)
