"""A fake engine in time: one prefill after another, a number of slots, a pace of decoding.

```
submit ─► waiting ─(a slot, and the prefill before it has ended)─► prefill ─► decode ─► done
              FIFO        blocks are matched here      └ stored here, first token
```
No CPU is burnt: a prefill is a timer. Its end is reckoned from the end of the one before, not from
when the timer fired, so that coarse timers do not add up.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.route.cache import BlockCache

__all__ = ["Costs", "Counts", "Engine", "Job"]


@dataclass(frozen=True, slots=True)
class Costs:
    """How large and how fast a worker is."""

    capacity_blocks: int = 800
    slots: int = 256
    block_s: float = 0.0
    """Prefill of one block that is not cached."""
    base_s: float = 0.0
    """Prefill of any request, besides its blocks."""
    delay_s: float = 0.0
    """After the prefill, before the first token; many may wait so at once."""
    token_s: float = 0.0
    """Between two tokens of an answer; 0: the whole answer at once."""
    hold: bool = False
    """After the first token of a stream nothing comes until `release`."""


@dataclass(slots=True)
class Job:
    """One request. The callbacks write to its connection."""

    keys: Sequence[int]
    characters: int
    tokens: int
    """Of the answer."""
    stream: bool
    first: Callable[["Job"], None]
    token: Callable[["Job", int], None]
    """So many more tokens."""
    done: Callable[["Job"], None]
    cached_blocks: int = 0
    left: int = 0
    state: str = "waiting"
    came_s: float = 0.0


@dataclass(slots=True)
class Counts:
    """What was asked of a worker, and what it held of it."""

    requests: int = 0
    characters: int = 0
    cached_blocks: int = 0
    busy_s: float = 0.0
    cancelled: int = 0
    peak_running: int = 0
    peak_waiting: int = 0


@dataclass(slots=True)
class Engine:
    """One worker. `changed` is told which keys were stored behind how many, and which went."""

    costs: Costs
    now: Callable[[], float]
    call_at: Callable[..., object]
    changed: Callable[[Job, int, list[int]], None] | None = None
    counts: Counts = field(default_factory=Counts)
    cache: BlockCache = field(init=False)
    waiting: deque[Job] = field(default_factory=deque)
    running: int = 0
    _streams: list[Job] = field(default_factory=list)
    _free_s: float = 0.0
    _slot_s: float = 0.0
    """When a slot came free while there was none."""
    _prefilling: bool = False
    _ticking: bool = False
    _tick_s: float = 0.0
    """When all streams get their next token."""

    def __post_init__(self) -> None:
        self.cache = BlockCache(self.costs.capacity_blocks)

    def submit(self, job: Job) -> None:
        """Queue a request."""
        job.came_s = self.now()
        self.waiting.append(job)
        self._admit()
        self.counts.peak_waiting = max(self.counts.peak_waiting, len(self.waiting))

    def cancel(self, job: Job) -> None:
        """Its client has gone. A prefill that has begun is finished."""
        if job.state == "done":
            return
        self.counts.cancelled += 1
        if job.state == "waiting":
            self.waiting.remove(job)
        elif job.state in {"delay", "decode"}:
            self._end(job)
            self._admit()
        job.state = "done" if job.state != "prefill" else "left"

    def release(self) -> None:
        """End the streams that are held."""
        held, self._streams = self._streams, []
        for job in held:
            self._finish(job)
        self._admit()

    def _admit(self) -> None:
        costs = self.costs
        while self.waiting and self.running < costs.slots and not self._prefilling:
            job = self.waiting.popleft()
            self.running += 1
            self.counts.peak_running = max(self.counts.peak_running, self.running)
            job.state = "prefill"
            job.cached_blocks = self.cache.match(job.keys)
            self.counts.requests += 1
            self.counts.characters += job.characters
            self.counts.cached_blocks += job.cached_blocks
            cost_s = costs.base_s + (len(job.keys) - job.cached_blocks) * costs.block_s
            if cost_s:
                self.counts.busy_s += cost_s
                self._prefilling = True
                # Not from now on: the timer that brought us here was late.
                self._free_s = max(job.came_s, self._slot_s, self._free_s) + cost_s
                self.call_at(self._free_s, self._prefilled, job)
            else:
                self._prefilled(job)

    def _prefilled(self, job: Job) -> None:
        self._prefilling = False
        gone = self.cache.store(job.keys)
        if self.changed is not None:
            self.changed(job, job.cached_blocks, gone)
        if job.state == "left":
            self._end(job)
        elif self.costs.delay_s:
            job.state = "delay"
            self.call_at(self.now() + self.costs.delay_s, self._delayed, job)
        else:
            self._decode(job)
        self._admit()

    def _delayed(self, job: Job) -> None:
        if job.state == "delay":
            self._decode(job)
            self._admit()

    def _decode(self, job: Job) -> None:
        job.state = "decode"
        job.left = job.tokens
        if job.stream:
            job.left -= 1
            job.first(job)
        if self.costs.hold and job.stream:
            self._streams.append(job)
        elif self.costs.token_s == 0.0 or job.left <= 0:
            if job.stream and job.left > 0:
                job.token(job, job.left)
            self._finish(job)
        elif job.stream:
            self._streams.append(job)
            if not self._ticking:
                self._ticking = True
                self._tick_s = self.now() + self.costs.token_s
                self.call_at(self._tick_s, self._tick)
        else:
            self.call_at(self.now() + job.left * self.costs.token_s, self._whole, job)

    def _whole(self, job: Job) -> None:
        if job.state == "decode":
            self._finish(job)
            self._admit()

    def _tick(self) -> None:
        streams, self._streams = self._streams, []
        ended = False
        for job in streams:
            if job.state != "decode":
                continue
            job.left -= 1
            job.token(job, 1)
            if job.left > 0:
                self._streams.append(job)
            else:
                self._finish(job)
                ended = True
        self._ticking = bool(self._streams)
        if self._ticking:
            # Not from now on: late timers would add up to a slower worker.
            self._tick_s += self.costs.token_s
            self.call_at(self._tick_s, self._tick)
        if ended:
            self._admit()

    def _finish(self, job: Job) -> None:
        if job.state == "decode":
            self._end(job)
            job.done(job)

    def _end(self, job: Job) -> None:
        job.state = "done"
        if self.running == self.costs.slots:
            self._slot_s = self.now()
        self.running -= 1
