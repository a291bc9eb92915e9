"""A request of a trace with smaller blocks: a small model can be asked what a large one was.

```
    before, 512 a block:  | 512 | 512 | 76 |      1,100 tokens
    after,   32 a block:  |  32 |  32 |  5 |         69 tokens: 76 * 32 / 512, rounded up
```
Who shares what with whom does not change: ids stay, and a block of the same id stays as long as
another of the same id.
"""

from dataclasses import replace

from stemcache.trace.record import TraceRequest

__all__ = ["shrunk"]


def shrunk(request: TraceRequest, tokens_per_block: int) -> TraceRequest:
    """The request with `tokens_per_block` tokens in a full block. Shares its ids.

    A partial block keeps at least one token. Tokens after the last block are rounded down, so
    that they stay fewer than a block.
    """
    before, after = request.block_tokens, tokens_per_block
    covered = request.covered_tokens
    full, partial = divmod(covered, before)
    rest = request.prompt_tokens - covered
    return replace(
        request,
        block_ids=request.block_ids[: full + (partial > 0)],
        block_tokens=after,
        prompt_tokens=full * after + -(-partial * after // before) + rest * after // before,
    )
