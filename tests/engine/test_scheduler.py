"""Who runs and what of each is computed, without a model: parts are marked computed by hand."""

import numpy as np

from stemcache.core.tokens import Chain
from stemcache.engine.config import EngineConfig
from stemcache.engine.kv_cache import KVCache
from stemcache.engine.request import GenerationRequest
from stemcache.engine.scheduler import Part, Scheduler
from stemcache.engine.sequence import Sequence

SIZE = 4


class Rig:
    """A scheduler, and a model that computes whatever it plans."""

    def __init__(
        self,
        *,
        pages: int = 100,
        chunk_tokens: int = 16,
        max_running: int = 64,
        schedule: str = "fcfs",
    ) -> None:
        config = EngineConfig(
            pages=pages,
            block_size=SIZE,
            chunk_tokens=chunk_tokens,
            max_running=max_running,
            schedule=schedule,
        )
        self.cache = KVCache(config)
        self.scheduler = Scheduler(config, self.cache)
        self.now = 0.0

    def wait(self, name: str, tokens: list[int], max_tokens: int = 8) -> Sequence:
        """Queue a request."""
        sequence = Sequence(
            request=GenerationRequest(name, np.array(tokens, np.int32), max_tokens),
            chain=Chain(tokens, block_size=SIZE, namespace=b"n"),
            arrived_s=self.now,
            epoch=0,
            seed=0,
        )
        self.scheduler.waiting.append(sequence)
        return sequence

    def plan(self) -> list[Part]:
        """Plan a step without computing it."""
        return self.scheduler.plan(now=self.now)

    def step(self) -> dict[str, int]:
        """Plan, compute, publish, and choose a token where a prompt is complete."""
        self.now += 1.0
        parts = self.plan()
        for part in parts:
            part.sequence.computed += part.tokens
            self.cache.publish(part.sequence, now=self.now)
        for part in parts:
            if not part.sequence.missing:
                part.sequence.chain.extend([200])
                part.sequence.generated += 1
                if not part.sequence.remaining:
                    self.scheduler.leave(part.sequence, now=self.now)
        self.cache.check(self.scheduler.running)
        return {part.sequence.request_id: part.tokens for part in parts}


def test_a_prompt_is_shared_out_in_chunks() -> None:
    """Forty tokens at sixteen a step: sixteen, sixteen, eight."""
    rig = Rig()
    rig.wait("a", list(range(40)))

    steps = [rig.step() for _ in range(4)]

    assert [{"a": 16}, {"a": 16}, {"a": 8}, {"a": 1}] == steps


def test_what_one_prompt_leaves_of_a_step_goes_to_the_next() -> None:
    """A short prompt and the beginning of a long one share a step."""
    rig = Rig()
    rig.wait("short", [1] * 6)
    rig.wait("long", [2] * 30)

    assert {"short": 6, "long": 10} == rig.step()


def test_decoding_goes_first_and_prompts_get_the_rest() -> None:
    """A decoding request takes one token of the budget."""
    rig = Rig(chunk_tokens=48)
    rig.wait("decodes", [1] * 3)
    rig.step()
    rig.wait("prompt", list(range(100)))

    assert {"decodes": 1, "prompt": 47} == rig.step()


def test_many_decoding_requests_do_not_starve_a_prompt() -> None:
    """However many decode, a prompt advances by thirty-two tokens a step."""
    rig = Rig(chunk_tokens=33, pages=1000)
    for number in range(40):
        rig.wait(f"d{number}", [number], max_tokens=50)
    rig.step()
    rig.step()
    rig.wait("prompt", list(range(100)))

    assert rig.step()["prompt"] == 32


def test_admission_keeps_room_for_those_who_run() -> None:
    """Pages that running answers will need are not given to a newcomer."""
    rig = Rig(pages=30, chunk_tokens=64)
    rig.wait("runs", [1] * 8, max_tokens=64)
    rig.step()
    rig.wait("comes", [2] * 24, max_tokens=64)

    # 6 pages of its own prompt are there, but not 16 more for each of the two.
    assert {"runs": 1} == rig.step()


def test_a_request_alone_is_admitted_whatever_it_may_need_later() -> None:
    """Nobody runs, so nobody needs room."""
    rig = Rig(pages=10)
    rig.wait("a", [1] * 36, max_tokens=4)

    assert {"a": 16} == rig.step()


def test_what_does_not_fit_blocks_those_behind_it() -> None:
    """A large request is not starved by small ones that would fit."""
    rig = Rig(pages=40, chunk_tokens=64)
    rig.wait("runs", [1] * 60, max_tokens=8)
    rig.step()
    rig.wait("large", [2] * 120, max_tokens=4)
    rig.wait("small", [3] * 4, max_tokens=4)

    assert {"runs": 1} == rig.step()


def test_the_youngest_is_preempted_and_comes_back_first() -> None:
    """Its pages go to the oldest; it waits before all others, with what it chose."""
    rig = Rig(pages=50, chunk_tokens=64)
    rig.wait("old", [1] * 20, max_tokens=140)
    rig.wait("young", [2] * 20, max_tokens=140)
    for _ in range(140):
        rig.step()
        if rig.scheduler.preemptions:
            break
    rig.wait("newcomer", [3] * 4)

    assert ["old"] == [each.request_id for each in rig.scheduler.running]
    assert ["young", "newcomer"] == [each.request_id for each in rig.scheduler.waiting]
    assert rig.scheduler.waiting[0].generated > 0


def test_the_oldest_always_advances() -> None:
    """In every step of a pool too small for two answers, the first gets its token."""
    rig = Rig(pages=50, chunk_tokens=64)
    oldest = rig.wait("old", [1] * 20, max_tokens=130)
    rig.wait("young", [2] * 20, max_tokens=130)

    for _ in range(131):
        before = oldest.generated
        rig.step()
        assert oldest.generated == before + 1 or not oldest.remaining
    assert rig.scheduler.preemptions > 0


def test_a_request_waits_while_another_computes_its_prefix() -> None:
    """It is admitted in the step after the shared blocks were published, and finds them."""
    rig = Rig(chunk_tokens=16)
    rig.wait("first", list(range(40)))
    follower = rig.wait("second", [*range(32), 99, 98])

    steps = [rig.step() for _ in range(3)]

    assert ["second" in step for step in steps] == [False, False, True]
    assert steps[2]["second"] == 2
    assert follower.leased_blocks >= 8


def test_what_is_shorter_than_a_block_is_not_waited_for() -> None:
    """Three common tokens cannot be shared, so nobody waits for them."""
    rig = Rig(chunk_tokens=16)
    rig.wait("first", [1, 2, 3, *range(10, 40)])
    rig.wait("second", [1, 2, 3, 77, 78])

    rig.step()
    rig.step()

    assert "second" in rig.step()


def test_nobody_waits_across_namespaces() -> None:
    """Equal tokens under another salt will not be shared, so waiting would be for nothing."""
    rig = Rig(chunk_tokens=32)
    rig.wait("first", list(range(28)))
    other = rig.wait("other", list(range(28)))
    other.chain = Chain(list(range(28)), block_size=SIZE, namespace=b"another tenant")

    assert {"first": 28, "other": 4} == rig.step()


def test_no_more_run_than_may() -> None:
    """`max_running` bounds admission, not the queue."""
    rig = Rig(max_running=2)
    for number in range(5):
        rig.wait(f"r{number}", [number])

    rig.plan()

    assert (2, 3) == (len(rig.scheduler.running), len(rig.scheduler.waiting))


def test_planning_twice_admits_nobody_twice() -> None:
    """A request stands in one queue."""
    rig = Rig()
    rig.wait("a", [1, 2, 3])

    rig.plan()
    again = rig.plan()

    assert [3] == [part.tokens for part in again]
    assert not rig.scheduler.waiting
