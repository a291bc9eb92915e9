"""The seam between the engine, which decides, and a model, which computes.

```
    engine                                   model
    pages, who computes what     ──Step──►   KV pool: one slot a token, page p holds
    sampling                     ◄─logits─   slots [p * block_size, (p + 1) * block_size)
```

The engine owns which page belongs to whom; the model owns the tensors behind the pages and trusts
the block tables it is given.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Logits", "Model", "ModelInfo", "Step"]

Logits = npt.NDArray[np.float32]
"""Shape (rows, vocabulary)."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What the engine and its users may know of a model."""

    name: str
    """What clients call it."""
    revision: str
    """Digest of the weights."""
    kv_dtype: str
    """Precision that keys and values are kept in."""
    vocabulary: int
    context_tokens: int
    """Prompt and answer together never exceed this."""
    kv_bytes_per_token: int
    """All layers, keys and values."""
    stop_tokens: frozenset[int]
    """Tokens that end an answer."""


@dataclass(frozen=True, slots=True)
class Step:
    """One sequence's part of a batch: `tokens` stand at positions `start, start + 1, ...`.

    KV of the positions before `start` is already in `pages`; the model adds that of `tokens`.
    """

    tokens: npt.NDArray[np.int32]
    """Shape (n,), n >= 1."""
    start: int
    """Position of the first token."""
    pages: npt.NDArray[np.int32]
    """The block table: page of positions [i * block_size, (i + 1) * block_size); covers at least
    `start + n` positions. Two steps whose tables begin alike share those pages."""
    sample: bool
    """Whether the logits behind the last token are wanted."""


class Model(Protocol):
    """**Protocol**: computes keys, values and logits for ragged batches."""

    @property
    def info(self) -> ModelInfo:
        """What may be known of it."""
        ...

    def allocate(self, pages: int, block_size: int) -> None:
        """Make the KV pool. Called once, before the first `forward`."""
        ...

    def forward(self, steps: Sequence[Step]) -> Logits:
        """Compute one batch, writing its KV into the pages.

        Returns a row for each step with `sample`, in order. No step's output depends on which
        other steps are in the batch, but for rounding. Raises whatever went wrong; the caller
        then publishes nothing of this batch.
        """
        ...
