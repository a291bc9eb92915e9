"""Random lives of an engine: every page has one owner at every step, and no answer ever changes."""

import os
from random import Random

import pytest

from stemcache.engine.config import IndexForm
from stemcache.engine.request import FinishReason, Sampling
from stemcache.errors import ContextOverflowError
from stemcache.policy import evict, schedule
from tests.engine.harness import Harness, uncached

LIVES = int(os.environ.get("STEMCACHE_LIVES", "64"))
STEPS = 120
FORMS: list[tuple[IndexForm, int]] = [("hash", 4), ("hash", 16), ("radix", 1), ("radix", 4)]


def live(form: IndexForm, size: int, random: Random, *, failing: float) -> Harness:
    """Submit, step, cancel, reset and fail at random, then drain; the harness checks each step."""
    harness = Harness(
        pages=random.choice([160, 240]) // size,
        block_size=size,
        index=form,
        chunk_tokens=random.choice([1, 16, 64]),
        max_running=random.choice([1, 3, 16]),
        schedule=random.choice(schedule.NAMES),
        eviction=random.choice(evict.NAMES),
        fails=lambda: random.choice(["raise", "nan"]) if random.random() < failing else None,
    )
    prompts: dict[str, tuple[list[int], int, Sampling]] = {}
    pool: list[list[int]] = [[]]
    for number in range(STEPS):
        action = random.random()
        if action < 0.25:
            stem = random.choice(pool)
            prompt = stem[: random.randint(0, len(stem))]
            prompt += [random.randint(0, 2) for _ in range(random.randint(1, 40))]
            sampling = random.choice([Sampling(temperature=0), Sampling(seed=number)])
            length = random.randint(1, 20) if random.random() < 0.6 else random.randint(80, 130)
            case = (prompt, length, sampling)
            salt = random.choice([None, None, "tenant"])
            try:
                harness.submit(
                    f"r{number}", *case[:2], sampling=sampling, salt=salt, priority=number % 3
                )
            except ContextOverflowError:
                continue
            prompts[f"r{number}"] = case
            pool.append(prompt)
        elif action < 0.32 and prompts:
            harness.engine.cancel(random.choice(sorted(prompts)))
        elif action < 0.33:
            harness.engine.reset()
        else:
            harness.step()
    harness.drain()
    for name, (prompt, max_tokens, sampling) in prompts.items():
        answer = harness.answers[name]
        if answer.finish is FinishReason.LENGTH:
            assert uncached(prompt, max_tokens, sampling) == answer.tokens
            assert answer.usage is not None
            assert len(prompt) == answer.usage.prompt_tokens > answer.usage.cached_tokens
        else:
            assert answer.finish in {FinishReason.CANCELLED, FinishReason.ERROR}
            assert failing or answer.finish is FinishReason.CANCELLED, answer.error
    return harness


@pytest.mark.parametrize(("form", "size"), FORMS)
@pytest.mark.parametrize("failing", [0.0, 0.01], ids=["sound", "failing"])
def test_pages_are_conserved_and_answers_unchanged(
    form: IndexForm, size: int, failing: float
) -> None:
    """Pages are free, owned or indexed at every step; answers are the uncached ones."""
    preemptions = evicted = cached = 0
    for number in range(LIVES // len(FORMS) // 2):
        harness = live(form, size, Random(f"{form} {size} {failing} {number}"), failing=failing)

        stats = harness.engine.stats()

        assert (0, 0) == (stats.pages_owned, stats.pages_pinned)
        assert stats.pages_free + stats.pages_indexed == stats.pages_total
        preemptions += stats.preemptions
        evicted += stats.evicted_blocks
        cached += stats.cached_tokens
    # Lives that never hit, evicted or preempted would show nothing.
    assert min(preemptions, evicted, cached) > 0
