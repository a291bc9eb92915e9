"""One replica in simulated time: a queue, one prefill at a time, and answers that are decoded.

```
    take ──► waiting ──begin──► prefill ──computed──► decoding ──finished──►
             first come,        overhead + what is     output tokens,
             first served       not cached, alone      side by side, in slots
```

What is cached is looked up when prefill begins, as in an engine, so of two that begin alike and
come together the second finds what the first has computed. Prefill waits while all slots are taken
or while what the running requests hold leaves no room. Decoding and prefill do not slow each other.
"""

from collections import deque
from dataclasses import dataclass

from stemcache.lab.fleet.cache import Entry, ReplicaCache
from stemcache.lab.fleet.job import Job
from stemcache.lab.fleet.setup import Speeds
from stemcache.policy.route.contract import Choice

__all__ = ["Replica", "Stay"]


@dataclass(slots=True)
class Stay:
    """A request at a replica. Times in seconds."""

    job: Job
    replica: int
    arrived_s: float
    choice: Choice
    predicted_blocks: int
    """What the router thought that it would find there."""
    begun_s: float = 0.0
    first_s: float = 0.0
    done_s: float = 0.0
    cached_blocks: int = 0
    entry: Entry | None = None

    @property
    def cached_tokens(self) -> int:
        """Prompt tokens that were found."""
        return self.job.tokens(self.cached_blocks)


class Replica:
    """The queue and what runs. Every method is told the time and returns what happens next."""

    def __init__(self, cache: ReplicaCache, speeds: Speeds) -> None:
        self.cache = cache
        self.busy_s = 0.0
        """Time spent on prefill."""
        self._speeds = speeds
        self._waiting: deque[Stay] = deque()
        self._computing = False
        self._running = 0

    def take(self, stay: Stay) -> None:
        """A request arrives."""
        self._waiting.append(stay)

    def begin(self, *, now_s: float) -> Stay | None:
        """Start the prefill of the next one, if it can start; its `first_s` says when it ends."""
        if self._computing or not self._waiting or self._running >= self._speeds.slots:
            return None
        stay = self._waiting[0]
        entry = self.cache.enter(stay.job, now_s=now_s, alone=not self._running)
        if entry is None:
            return None
        self._waiting.popleft()
        self._computing = True
        self._running += 1
        stay.entry, stay.cached_blocks, stay.begun_s = entry, entry.found, now_s
        computed = stay.job.visit.prompt_tokens - stay.cached_tokens
        took_s = self._speeds.prefill_s(computed)
        self.busy_s += took_s
        stay.first_s = now_s + took_s
        return stay

    def computed(self, stay: Stay) -> None:
        """Prefill has ended: others find it from now on. `done_s` says when its answer ends."""
        assert stay.entry is not None, "it has begun"
        self._computing = False
        self.cache.publish(stay.entry, now_s=stay.first_s)
        stay.done_s = stay.first_s + self._speeds.decode_s(stay.job.visit.output_tokens)

    def finished(self, stay: Stay) -> None:
        """The answer has ended; its slot and its blocks are free."""
        assert stay.entry is not None, "it has begun"
        self._running -= 1
        self.cache.leave(stay.entry)
        stay.entry = None
