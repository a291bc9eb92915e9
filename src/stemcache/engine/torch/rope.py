"""Rotary positions, as one complex product.

transformers turns dimension j of a head together with dimension j + head_dim / 2. Here the rows of
the query and key weights are reordered at load, so that the two stand side by side

```
    loaded    a0 a1 a2 .. b0 b1 b2 ..        a pair (a, b) turned by an angle
    stored    a0 b0 a1 b1 a2 b2 ..           is (a + ib) times a unit complex number
```

and turning all heads is one in-place product. Scores are sums over dimensions, so order is free.
"""

from typing import cast

import torch
from transformers import LlamaConfig, PretrainedConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

__all__ = ["Rope", "pair_rows", "turn"]


class Rope:
    """Frequencies of a model, as transformers derives them from its configuration."""

    def __init__(self, config: PretrainedConfig) -> None:
        # Reads what all families name alike.
        source = LlamaRotaryEmbedding(cast(LlamaConfig, config))
        self._frequencies = source.inv_freq.to(torch.float32).clone()
        self._scale = torch.tensor(float(source.attention_scaling))

    def turns(self, positions: torch.Tensor) -> torch.Tensor:
        """Return the complex factors of `positions`, shape (n, 1, head_dim / 2)."""
        angles = torch.outer(positions.to(torch.float32), self._frequencies)
        return torch.polar(self._scale.expand_as(angles), angles).unsqueeze(1)


def pair_rows(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Reorder each head's rows (or entries) so that the two that turn together are neighbours."""
    half = len(weight) // heads // 2
    halves = weight.view(heads, 2, half, *weight.shape[1:])
    return halves.transpose(1, 2).reshape(weight.shape)


def turn(heads: torch.Tensor, turns: torch.Tensor) -> None:
    """Turn `heads`, shape (n, heads, head_dim), in place."""
    pairs = heads.view(*heads.shape[:-1], -1, 2)
    if heads.dtype == torch.float32:
        torch.view_as_complex(pairs).mul_(turns)
    else:
        wide = torch.view_as_complex(pairs.to(torch.float32)).mul_(turns)
        pairs.copy_(torch.view_as_real(wide))
