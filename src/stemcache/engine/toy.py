"""A deterministic model without weights, so that the engine can be tested without torch.

Its "KV" of a position is the token that stands there, the position, and a running hash of all
tokens up to it. `forward` reads the context back from the pages, never from the request, and
refuses a page that does not hold what it should: a wrong block table, a page reused too early or
published too soon shows as an `AssertionError` or as different output.
"""

from collections.abc import Sequence

import numpy as np

from stemcache.engine.model import Logits, ModelInfo, Step

__all__ = ["ToyModel"]

_MIX = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


class ToyModel:
    """Continues a prompt by a hash of all its tokens. Same prompt, same answer."""

    def __init__(
        self,
        *,
        vocabulary: int = 256,
        context_tokens: int = 4096,
        stop_tokens: frozenset[int] = frozenset(),
        name: str = "toy",
    ) -> None:
        self._info = ModelInfo(
            name=name,
            revision="1",
            kv_dtype="toy",
            vocabulary=vocabulary,
            context_tokens=context_tokens,
            kv_bytes_per_token=24,
            stop_tokens=stop_tokens,
        )
        self._block_size = 0
        self._tokens = np.empty(0, np.int64)
        self._positions = np.empty(0, np.int64)
        self._hashes = np.empty(0, np.uint64)
        self.computed_tokens = 0
        """All tokens ever computed; tests compare it with what the engine says."""

    @property
    def info(self) -> ModelInfo:
        """What may be known of it."""
        return self._info

    def allocate(self, pages: int, block_size: int) -> None:
        """Make the pool, every slot marked as never written."""
        self._block_size = block_size
        slots = pages * block_size
        self._tokens = np.full(slots, -1, np.int64)
        self._positions = np.full(slots, -1, np.int64)
        self._hashes = np.zeros(slots, np.uint64)

    def forward(self, steps: Sequence[Step]) -> Logits:
        """Write each step's slots, then read each step's whole context back."""
        rows = [self._one(step) for step in steps]
        self.computed_tokens += sum(len(step.tokens) for step in steps)
        wanted = [row for row, step in zip(rows, steps, strict=True) if step.sample]
        return np.stack(wanted) if wanted else np.empty((0, self._info.vocabulary), np.float32)

    def _one(self, step: Step) -> Logits:
        end = step.start + len(step.tokens)
        slots = self._slots(step, end)
        context = slots[: step.start]
        assert np.array_equal(self._positions[context], np.arange(step.start)), (
            f"pages {step.pages.tolist()} do not hold positions 0..{step.start - 1}"
        )
        running = int(self._hashes[context[-1]]) if step.start else 0
        for slot, token in zip(slots[step.start :].tolist(), step.tokens.tolist(), strict=True):
            running = ((running ^ (token + 1)) * _MIX + 0x1234567) & _MASK
            running ^= running >> 29
            self._hashes[slot] = running
        self._tokens[slots[step.start :]] = step.tokens
        self._positions[slots[step.start :]] = np.arange(step.start, end)
        logits = np.random.Generator(np.random.Philox(key=self._digest(slots))).random(
            self._info.vocabulary, np.float32
        )
        return np.asarray(logits * 8, np.float32)

    def _digest(self, slots: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> int:
        # Every slot counts, so one foreign page anywhere in the table changes the answer.
        weights = np.arange(1, len(slots) + 1, dtype=np.uint64) * np.uint64(_MIX | 1)
        mixed = (self._tokens[slots].astype(np.uint64) + np.uint64(1)) * weights
        return int(mixed.sum(dtype=np.uint64)) ^ int(self._hashes[slots[-1]])

    def _slots(self, step: Step, end: int) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        positions = np.arange(end)
        pages = step.pages[positions // self._block_size].astype(np.int64)
        return pages * self._block_size + positions % self._block_size
