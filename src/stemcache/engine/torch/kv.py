"""The KV pool: one tensor a layer, a slot a token.

```
    [2 * kv_heads, slots, head_dim]     keys of head 0, 1, .. then values of head 0, 1, ..
```

A head's slots lie side by side, so a run of consecutive pages is a view that attention streams
through, which decoding over a long context lives on.
"""

import torch
from torch import Tensor

from stemcache.engine.torch.config import DecoderConfig

__all__ = ["KvPool"]


class KvPool:
    """Keys and values of every layer. Which slot is whose is the engine's to know."""

    def __init__(
        self, config: DecoderConfig, *, pages: int, block_size: int, dtype: torch.dtype
    ) -> None:
        """Raises MemoryError where the machine does not give that much."""
        self.block_size = block_size
        self.slots = pages * block_size
        shape = (2 * config.kv_heads, self.slots, config.head_dim)
        # Zeroed lazily by the system: memory is taken as pages are first written.
        try:
            self.layers = [torch.zeros(shape, dtype=dtype) for _ in range(config.layers)]
        except RuntimeError as error:  # torch has no error of its own for memory on the CPU
            raise MemoryError(str(error)) from error

    def write(self, layer: int, slots: Tensor, kv: Tensor) -> None:
        """Put `kv`, shape (n, 2 * kv_heads, head_dim), into `slots` of `layer`."""
        self.layers[layer].index_copy_(1, slots, kv.transpose(0, 1))
