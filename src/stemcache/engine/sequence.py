"""One live request: what it has, what it still needs.

```
    tokens    p0 p1 ......... p(n-1) | g0 g1 g2           chain: prompt, then what was chosen
    KV        ├── leased ──┤├─ owned ─┤   · ·             pages: shared by lease, then its own
              0            lease.blocks   computed
```

`computed` positions have KV; the step computes from there. What is chosen is appended at once, so
a decoding request always lacks exactly the KV of its last token.
"""

from dataclasses import dataclass, field

from stemcache.core.index import Lease
from stemcache.core.tokens import Chain
from stemcache.engine.pages import PageTable
from stemcache.engine.request import GenerationRequest, Usage

__all__ = ["Sequence"]


@dataclass(slots=True, eq=False)
class Sequence:
    """A request that waits or runs. Mutable; the engine's own."""

    request: GenerationRequest
    chain: Chain
    arrived_s: float
    epoch: int
    seed: int
    lease: Lease[int] | None = None
    pages: PageTable = field(default_factory=PageTable)
    computed: int = 0
    """Positions whose KV is in `pages`."""
    generated: int = 0
    cached_tokens: int | None = None
    """Found at the first admission; None before."""
    reached: int = 0
    """The most positions ever computed; below it, computing is recomputing."""
    recomputed_tokens: int = 0

    @property
    def request_id(self) -> str:
        """The caller's name for it."""
        return self.request.request_id

    @property
    def missing(self) -> int:
        """Tokens to compute before the next can be chosen; 1 when decoding."""
        return len(self.chain) - self.computed

    @property
    def remaining(self) -> int:
        """Tokens it may still generate."""
        return self.request.max_tokens - self.generated

    @property
    def leased_blocks(self) -> int:
        """Leading pages that belong to the index."""
        return self.lease.blocks if self.lease else 0

    @property
    def owned_pages(self) -> int:
        """Pages that are its alone."""
        return len(self.pages) - self.leased_blocks

    @property
    def usage(self) -> Usage:
        """As counted so far."""
        return Usage(
            prompt_tokens=len(self.request.prompt),
            cached_tokens=self.cached_tokens or 0,
            completion_tokens=self.generated,
            recomputed_tokens=self.recomputed_tokens,
        )
