"""Who runs, and what of each is computed in this step.

```
    waiting ──admit──► running (in order of admission) ──plan──► [(sequence, tokens), ...]
       ▲                  │
       └──── preempt ─────┘      the youngest; what it computed stays published
```

- Decoding requests go first, one token each; what is left of `chunk_tokens` goes to prompts, in
  order of admission, and never less than `_PREFILL_FLOOR`.
- A request is admitted only with pages for its whole prompt, and while every running one keeps
  room to grow. Should growth fail all the same, the youngest is preempted, never the oldest: the
  oldest always advances, so everyone does in the end.
- A request whose next blocks another one is computing waits for them; others may pass it.
- A request that does not fit blocks those behind it, so that large ones are not starved.
"""

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from stemcache.core.tokens import common_prefix
from stemcache.engine.config import EngineConfig
from stemcache.engine.kv_cache import KVCache
from stemcache.engine.sequence import Sequence
from stemcache.policy import schedule

__all__ = ["Part", "Scheduler"]

_PREFILL_FLOOR = 32  # prompt tokens that a step computes however many requests decode
_GROWTH_TOKENS = 64  # room kept for each running request before another is admitted
_LOOK_AHEAD = 128  # waiting requests that one admission looks at


class Part(NamedTuple):
    """One request's share of a step."""

    sequence: Sequence
    tokens: int


class Scheduler:
    """The two queues and the choice between them. **Not** thread-safe."""

    def __init__(self, config: EngineConfig, cache: KVCache) -> None:
        self._config = config
        self._cache = cache
        self._order = schedule.order(config.schedule)
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        self.preemptions = 0

    def plan(self, *, now: float) -> list[Part]:
        """Admit whom there is room for, and share out one step."""
        parts = [Part(each, 1) for each in self._decoding(now)]
        budget = max(self._config.chunk_tokens - len(parts), _PREFILL_FLOOR)
        budget = min(budget, self._config.chunk_tokens)
        for each in self.running:
            if budget and each.missing > 1:
                parts.append(Part(each, min(each.missing, budget)))
                budget -= parts[-1].tokens
        for each in self._admit(now) if budget else ():
            parts.append(Part(each, min(each.missing, budget)))
            budget -= parts[-1].tokens
            if not budget:
                break
        return parts

    def leave(self, sequence: Sequence, *, now: float) -> None:
        """A running request ends: publish what it computed, give up the rest."""
        self.running.remove(sequence)
        self._cache.publish(sequence, now=now)
        self._cache.leave(sequence)

    def _decoding(self, now: float) -> list[Sequence]:
        """Decoding requests, each with a page for its next token, oldest first."""
        ready: list[Sequence] = []
        for each in list(self.running):
            if each.missing != 1 or each not in self.running:
                continue
            while not self._fits_next(each):
                youngest = self.running[-1]
                self._preempt(youngest, now)
                if youngest is each:
                    break
            else:
                ready.append(each)
        return ready

    def _fits_next(self, sequence: Sequence) -> bool:
        covered = len(sequence.pages) * self._config.block_size
        return sequence.computed < covered or self._cache.grow(sequence, 1)

    def _preempt(self, sequence: Sequence, now: float) -> None:
        # Published first: on its return it finds its own blocks, unless they had to go.
        self.leave(sequence, now=now)
        self.waiting.appendleft(sequence)
        self.preemptions += 1

    def _admit(self, now: float) -> Iterator[Sequence]:
        """Admit one at a time, as long as the caller asks for more and there is room."""
        if not self.waiting or len(self.running) >= self._config.max_running:
            return
        head = list(islice(self.waiting, _LOOK_AHEAD))
        queue = [
            schedule.Waiting(at, now - each.arrived_s, self._matched(each))
            for at, each in enumerate(head)
        ]
        for at in self._order(queue):
            if len(self.running) >= self._config.max_running:
                return
            chosen = head[at]
            # Matched anew: admitting those before it may have evicted what it would have used.
            match = self._cache.match(chosen)
            if self._in_flight(chosen, match.tokens):
                continue
            if self._cache.needed(chosen, match) + self._growth(chosen) > self._cache.available:
                return
            self.waiting.remove(chosen)
            self._cache.admit(chosen, now=now)
            self.running.append(chosen)
            yield chosen

    def _matched(self, sequence: Sequence) -> int:
        if self._config.schedule not in schedule.LOOKS_AT_MATCHES:
            return 0
        return self._cache.match(sequence).tokens

    def _growth(self, newcomer: Sequence) -> int:
        """Pages kept back so that everyone can go on; none for a request that runs alone."""
        if not self.running:
            return 0
        size = self._config.block_size
        return sum(
            -(-min(each.remaining, _GROWTH_TOKENS) // size) for each in (*self.running, newcomer)
        )

    def _in_flight(self, sequence: Sequence, cached_tokens: int) -> bool:
        """Whether a running request is about to publish blocks that this one could share."""
        if not self._config.prefix_caching:
            return False
        size = self._config.block_size
        ours = sequence.chain
        for other in self.running:
            theirs = other.chain
            if other.missing <= 1 or theirs.extra(0) != ours.extra(0):
                continue
            common = common_prefix(ours.tokens(), theirs.tokens())
            shareable = min(common, len(ours) - 1) // size * size
            if shareable > max(cached_tokens, other.computed):
                return True
        return False
