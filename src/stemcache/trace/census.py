"""How many different blocks and prompts a trace has, a batch of requests at a time.

```
requests ─► what is new beside the one before in its place ─► batch ─► hashes ─► Distinct
            one comparison a request                           vectorised
```
"""

import numpy as np

from stemcache.trace.distinct import Distinct, name_hash
from stemcache.trace.ids import mixed
from stemcache.trace.recent import Recent, common_blocks
from stemcache.trace.record import BlockIds, TraceRequest

__all__ = ["Census"]

_BATCH_BLOCKS = 2**16
_BATCH_REQUESTS = 2**12
_NO_BLOCK = 0x6A09E667F3BCC908  # stands for the last block of a prompt that has none


class Census:
    """Feed it all requests; what it counts is complete after `flush`."""

    def __init__(self) -> None:
        self.blocks = Distinct()
        self.prompts = Distinct()
        self._recent: Recent[int] = Recent()
        self._runs: list[BlockIds] = []
        self._follows: list[bool] = []  # the run's first id is known, and only stands before
        self._scopes: list[int] = []
        self._last: list[int] = []
        self._lengths: list[int] = []
        self._held = 0

    def add(self, request: TraceRequest) -> None:
        """Take in a request. O(blocks), of which few are looked at one by one."""
        seen = self._recent.take(request)
        scope = name_hash(request.scope) if seen is None else seen.made
        ids = request.block_ids
        shared = 0 if seen is None else common_blocks(ids, seen.ids)
        self._recent.put(request, scope)
        run = ids[max(0, shared - 1) :]
        self._runs.append(run)
        self._follows.append(shared > 0)
        self._scopes.append(scope)
        self._last.append(int(ids[-1]) % 2**64 if len(ids) else _NO_BLOCK)
        self._lengths.append(request.prompt_tokens)
        self._held += len(run)
        if self._held >= _BATCH_BLOCKS or len(self._runs) >= _BATCH_REQUESTS:
            self.flush()

    def flush(self) -> None:
        """Count what was taken in."""
        if not self._runs:
            return
        scopes = np.array(self._scopes, np.uint64)
        sizes = np.array([len(run) for run in self._runs])
        ids = np.concatenate(self._runs).view(np.uint64)
        hashes = mixed(ids ^ np.repeat(scopes, sizes))
        before = np.zeros_like(hashes)
        before[1:] = hashes[:-1]
        follows = np.array(self._follows)
        firsts = np.cumsum(sizes) - sizes
        before[firsts[(sizes > 0) & ~follows]] = 0
        new = np.ones(len(hashes), np.bool_)
        new[firsts[follows]] = False
        self.blocks.add(hashes[new], before[new])
        last = np.array(self._last, np.uint64)
        lengths = np.array(self._lengths, np.uint64)
        self.prompts.add(mixed(mixed(last ^ scopes) + mixed(lengths)))
        for held in (self._runs, self._follows, self._scopes, self._last, self._lengths):
            held.clear()
        self._held = 0
