"""Turning pairs against transformers' way of turning halves."""

import torch
import transformers
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from stemcache.engine.torch.rope import Rope, pair_rows, turn


def test_turned_pairs_are_reordered_turned_halves() -> None:
    """Reordering and turning commute, so that scores are transformers' scores."""
    config = transformers.LlamaConfig(hidden_size=32, num_attention_heads=2)
    generator = torch.Generator().manual_seed(1)
    heads = torch.randn(2, 5, 16, generator=generator)  # heads, tokens, head_dim
    positions = torch.tensor([0, 1, 7, 400, 2000])
    cos, sin = LlamaRotaryEmbedding(config)(heads, positions[None])
    expected, _ = apply_rotary_pos_emb(heads[None], heads[None], cos, sin)
    ours = pair_rows(heads.transpose(1, 2).reshape(32, 5), 2).view(2, 16, 5).permute(2, 0, 1)
    ours = ours.contiguous()
    turn(ours, Rope(config).turns(positions))
    reordered = pair_rows(expected[0].transpose(1, 2).reshape(32, 5), 2)
    torch.testing.assert_close(
        ours, reordered.view(2, 16, 5).permute(2, 0, 1), atol=1e-5, rtol=1e-5
    )
