"""What one engine does for one or a few requests."""

from collections.abc import Iterator

import numpy as np
import pytest

from stemcache.engine.config import EngineConfig, IndexForm
from stemcache.engine.request import FinishReason, GenerationRequest, Sampling, Usage
from stemcache.engine.sampling import Row, greedy
from stemcache.engine.toy import ToyModel
from stemcache.errors import ContextOverflowError, QueueFullError, RequestError, UsageError
from tests.engine.harness import GREEDY, Harness, uncached

FORMS: list[tuple[IndexForm, int]] = [("hash", 16), ("hash", 4), ("radix", 1), ("radix", 16)]
PROMPT = [7 * n % 251 for n in range(100)]


@pytest.fixture(params=FORMS, ids=[f"{form}-{size}" for form, size in FORMS])
def harness(request: pytest.FixtureRequest) -> Harness:
    """An engine of each form, with room for 640 tokens."""
    form, size = request.param
    return Harness(index=form, block_size=size, pages=640 // size)


def test_the_second_request_reuses_what_the_first_computed(harness: Harness) -> None:
    """A repeated prefix is cached up to the last full block before the difference."""
    harness.ask("first", [*PROMPT, 1, 2, 3])

    second = harness.ask("second", [*PROMPT, 9, 9])

    size = harness.engine._config.block_size
    expected = len(PROMPT) // size * size
    assert second.usage == Usage(102, expected, 4, 0)


def test_an_identical_prompt_computes_at_least_its_last_token(harness: Harness) -> None:
    """One token is always computed, because its logits are wanted."""
    harness.ask("first", PROMPT[:64], 1)

    again = harness.ask("again", PROMPT[:64], 1)

    size = harness.engine._config.block_size
    assert again.usage is not None
    assert 63 // size * size == again.usage.cached_tokens


def test_answers_do_not_depend_on_the_cache(harness: Harness) -> None:
    """A warm answer is the cold one."""
    cold = harness.ask("cold", PROMPT, 20)

    warm = harness.ask("warm", PROMPT, 20)

    assert uncached(PROMPT, 20) == cold.tokens == warm.tokens


def test_a_conversation_reuses_its_own_answers(harness: Harness) -> None:
    """What was generated is cached too: the next turn computes only what is new."""
    first = harness.ask("turn 1", PROMPT, 20)
    history = [*PROMPT, *first.tokens]

    second = harness.ask("turn 2", [*history, 1, 2, 3])

    size = harness.engine._config.block_size
    assert second.usage is not None
    # The last chosen token was never fed back, so its KV does not exist.
    assert (len(history) - 1) // size * size == second.usage.cached_tokens


def test_nothing_is_shared_with_caching_off() -> None:
    """`prefix_caching=False` computes every prompt whole and keeps no page."""
    harness = Harness(prefix_caching=False, pages=640 // 4)
    harness.ask("first", PROMPT)

    second = harness.ask("second", PROMPT)

    assert second.usage == Usage(100, 0, 4, 0)
    assert harness.engine.stats().pages_free == 160


def test_a_salt_separates_tenants(harness: Harness) -> None:
    """Equal prompts with different salts share nothing; with one salt they share."""
    harness.ask("a", PROMPT, salt="tenant a")

    other = harness.ask("b", PROMPT, salt="tenant b")
    bare = harness.ask("none", PROMPT)
    same = harness.ask("a again", PROMPT, salt="tenant a")

    assert other.usage is not None and other.usage.cached_tokens == 0
    assert bare.usage is not None and bare.usage.cached_tokens == 0
    assert same.usage is not None and same.usage.cached_tokens > 90 - 16


def test_concurrent_requests_wait_for_a_prefix_instead_of_computing_it_twice(
    harness: Harness,
) -> None:
    """Requests that arrive together share the prefix that the first of them computes."""
    for number in range(5):
        harness.submit(f"r{number}", [*PROMPT, number])

    harness.drain()

    size = harness.engine._config.block_size
    shared = 100 // size * size
    cached = [answer.usage.cached_tokens for answer in harness.answers.values() if answer.usage]
    assert [0, *[shared] * 4] == cached
    for number in range(5):
        assert uncached([*PROMPT, number], 4) == harness.answers[f"r{number}"].tokens


def test_unrelated_requests_pass_one_that_waits_for_a_prefix() -> None:
    """Waiting for another's prefix blocks nobody else."""
    harness = Harness(chunk_tokens=48, pages=200)
    harness.submit("computes", PROMPT)
    harness.submit("waits", [*PROMPT, 1])
    harness.submit("passes", [5] * 20)

    harness.step()
    harness.step()
    harness.step()

    assert harness.answers["waits"].usage is None
    assert harness.answers["passes"].usage is not None


def test_hundred_requests_hold_one_copy_of_a_shared_prefix(harness: Harness) -> None:
    """Pages in use are the shared blocks once, plus each request's own."""
    size = harness.engine._config.block_size
    prefix = [n % 250 for n in range(2000)]
    wide = Harness(
        index=harness.engine._config.index,
        block_size=size,
        pages=8000 // size,
        chunk_tokens=512,
    )
    for number in range(100):
        wide.submit(f"r{number}", [*prefix, number, 1, 2], max_tokens=20)
    while wide.engine.stats().running < 100 or wide.engine._scheduler.running[-1].missing > 1:
        wide.step()

    stats = wide.engine.stats()

    shared = 2000 // size
    own = sum(-(-running.computed // size) - shared for running in wide.engine._scheduler.running)
    assert shared + own == stats.pages_pinned + stats.pages_owned
    wide.drain()
    assert wide.engine.stats().cached_tokens == 99 * shared * size


def test_long_prompts_are_computed_in_chunks() -> None:
    """No step computes more than `chunk_tokens`, and the answer is the same."""
    harness = Harness(chunk_tokens=16, pages=100)

    answer = harness.ask("long", PROMPT)

    assert uncached(PROMPT, 4) == answer.tokens
    assert harness.engine.stats().steps == 7 + 3


def test_prompts_go_on_while_others_decode() -> None:
    """A decoding request gets a token in every step, however long another's prompt is."""
    harness = Harness(chunk_tokens=33, pages=400)
    harness.submit("decodes", [1, 2, 3], 100)
    harness.step()
    harness.submit("prefills", PROMPT * 4)

    told = [harness.step() for _ in range(6)]

    assert all("decodes" in [progress.request_id for progress in step] for step in told)


def test_a_stop_token_ends_the_answer_and_is_not_part_of_it() -> None:
    """The model's stop tokens and the request's end an answer."""
    full = uncached(PROMPT, 10)
    model_stop = Harness(toy=ToyModel(stop_tokens=frozenset({full[3]})), pages=100)
    own_stop = Harness(pages=100)
    own_stop.engine.submit(
        GenerationRequest("r", np.array(PROMPT, np.int32), 10, GREEDY, frozenset({full[5]}))
    )

    first = model_stop.ask("r", PROMPT, 10)
    while not own_stop.engine.idle:
        told = own_stop.engine.step()

    assert (full[:3], FinishReason.STOP) == (first.tokens, first.finish)
    assert told[-1].finish is FinishReason.STOP
    assert told[-1].usage.completion_tokens == 5


def test_a_benchmark_can_ignore_the_models_stop_tokens() -> None:
    """`ignore_model_stop` goes on to `max_tokens`."""
    full = uncached(PROMPT, 10)
    harness = Harness(toy=ToyModel(stop_tokens=frozenset({full[3]})), pages=100)
    harness.engine.submit(
        GenerationRequest("r", np.array(PROMPT, np.int32), 10, GREEDY, ignore_model_stop=True)
    )

    steps = [harness.engine.step() for _ in range(11)]

    tokens = [token for step in steps for progress in step for token in progress.tokens]
    assert full == tokens


def test_a_seed_fixes_the_answer_whatever_else_runs(harness: Harness) -> None:
    """Same seed, same answer: alone or in company, cold or warm."""
    sampling = Sampling(temperature=1.0, seed=42)
    alone = uncached(PROMPT, 12, sampling)
    for number in range(4):
        harness.submit(f"company {number}", PROMPT[: 20 * number + 5], 6)

    answer = harness.ask("seeded", PROMPT, 12, sampling=sampling)
    warm = harness.ask("warm", PROMPT, 12, sampling=sampling)

    assert alone == answer.tokens == warm.tokens
    assert alone != uncached(PROMPT, 12, Sampling(temperature=1.0, seed=43))


def test_logprobs_are_reported_when_asked_for() -> None:
    """The chosen token and as many alternatives as wanted, most probable first."""
    harness = Harness()
    harness.submit("r", PROMPT, 2, sampling=Sampling(temperature=0, logprobs=3))

    told = [progress for _ in range(4) for progress in harness.step()]

    shown = [entry for progress in told for entry in progress.logprobs]
    assert [3, 3] == [len(entry.top) for entry in shown]
    for progress, entry in zip(told, shown, strict=False):
        assert entry.top[0] == (progress.tokens[0], entry.chosen)
        assert entry.chosen < 0


def test_a_small_pool_preempts_the_youngest_and_everyone_finishes(harness: Harness) -> None:
    """When answers outgrow the pool, the oldest goes on; nobody's answer changes."""
    size = harness.engine._config.block_size
    small = Harness(index=harness.engine._config.index, block_size=size, pages=320 // size)
    prompts = {f"r{n}": [n] * 40 for n in range(4)}
    for name, prompt in prompts.items():
        small.submit(name, prompt, 150)

    small.drain()

    stats = small.engine.stats()
    assert stats.preemptions > 0
    for name, prompt in prompts.items():
        answer = small.answers[name]
        assert uncached(prompt, 150) == answer.tokens
        assert answer.usage is not None
        assert (answer.usage.prompt_tokens, answer.usage.cached_tokens) == (40, 0)


def test_recomputed_tokens_are_neither_cached_nor_computed() -> None:
    """What a preemption lost is counted apart, and the model's own count agrees."""
    harness = Harness(pages=80)
    for number in range(4):
        harness.submit(f"r{number}", [number] * 40, 150)

    harness.drain()

    stats = harness.engine.stats()
    assert stats.preemptions > 0
    assert stats.recomputed_tokens > 0
    assert stats.prompt_tokens == stats.cached_tokens + stats.computed_tokens == 160
    fed = stats.computed_tokens + stats.recomputed_tokens + stats.completion_tokens - 4
    assert fed == harness.toy.computed_tokens


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 9])
def test_a_request_can_be_cancelled_at_every_point(harness: Harness, steps: int) -> None:
    """Waiting, in its prompt, decoding: it ends, its pages return, its neighbour goes on."""
    harness.submit("goes on", PROMPT[:50], 12)
    harness.submit("cancelled", [*PROMPT, *PROMPT], 12)
    for _ in range(steps):
        harness.step()

    harness.engine.cancel("cancelled")
    harness.engine.cancel("cancelled")
    harness.engine.cancel("unknown")
    harness.drain()

    assert harness.answers["cancelled"].finish is FinishReason.CANCELLED
    assert uncached(PROMPT[:50], 12) == harness.answers["goes on"].tokens
    stats = harness.engine.stats()
    assert (0, 0, 1) == (stats.pages_owned, stats.pages_pinned, stats.cancelled)


def test_what_a_cancelled_request_computed_stays_valid(harness: Harness) -> None:
    """Cancelling a prompt half way publishes the computed half, and only that."""
    harness.submit("cancelled", PROMPT + PROMPT[::-1], 12)
    harness.step()
    harness.engine.cancel("cancelled")
    harness.drain()

    after = harness.ask("after", PROMPT + PROMPT[::-1], 5)

    assert after.usage is not None
    assert after.usage.cached_tokens == 64
    assert uncached(PROMPT + PROMPT[::-1], 5) == after.tokens


@pytest.mark.parametrize("how", ["raise", "nan"])
def test_a_failing_step_publishes_nothing_and_ends_its_requests(how: str) -> None:
    """After a failure the engine serves on, with nothing left of the failed step."""
    fate: Iterator[str | None] = iter([how])
    harness = Harness(fails=lambda: next(fate, None), pages=100)

    failed = harness.ask("failed", PROMPT[:30])
    after = harness.ask("after", PROMPT[:30])

    assert failed.finish is FinishReason.ERROR
    assert failed.error in {
        "RuntimeError: out of luck",
        "the model gave logits that are not numbers",
    }
    assert after.usage == Usage(30, 0, 4, 0)
    assert uncached(PROMPT[:30], 4) == after.tokens
    assert harness.engine.stats().failed_steps == 1


def test_a_row_that_cannot_be_sampled_ends_its_own_request_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever goes wrong in choosing a token, the others in the step go on."""
    harness = Harness(pages=100)

    def choose(logits: Row, sampling: Sampling, *, seed: int, number: int) -> int:
        del sampling, number
        if seed == 13:
            raise IndexError("no such token")
        return greedy(logits)

    monkeypatch.setattr("stemcache.engine.engine.choose", choose)
    harness.submit("unlucky", PROMPT[:30], 4, sampling=Sampling(seed=13))
    harness.submit("well", PROMPT[30:60], 4, sampling=Sampling(seed=14))

    harness.drain()

    unlucky, well = harness.answers["unlucky"], harness.answers["well"]
    assert (unlucky.finish, unlucky.error) == (FinishReason.ERROR, "IndexError: no such token")
    assert (well.finish, len(well.tokens)) == (FinishReason.LENGTH, 4)


def test_a_reset_forgets_everything_published_before(harness: Harness) -> None:
    """After a reset the same prompt is cold, and its pages were freed."""
    harness.ask("before", PROMPT)
    size = harness.engine._config.block_size

    dropped = harness.engine.reset()
    free = harness.engine.stats().pages_free
    after = harness.ask("after", PROMPT)

    assert 103 // size == dropped
    assert free == harness.engine.stats().pages_total
    assert after.usage == Usage(100, 0, 4, 0)


def test_a_reset_while_requests_run_hides_what_they_hold(harness: Harness) -> None:
    """Running requests finish, but nobody later is served what was computed before the reset."""
    harness.submit("running", PROMPT, 20)
    harness.submit("sharing", [*PROMPT, 3], 6)
    for _ in range(4):
        harness.step()

    harness.engine.reset()
    harness.submit("later", PROMPT, 4)
    harness.drain()

    later = harness.answers["later"]
    assert later.usage == Usage(100, 0, 4, 0)
    assert uncached(PROMPT, 20) == harness.answers["running"].tokens
    size = harness.engine._config.block_size
    assert harness.engine.stats().pages_indexed == 103 // size


def test_a_reset_with_short_requests_running_drops_nothing_of_later_ones(harness: Harness) -> None:
    """A request shorter than a block leaves no trace, and takes nothing with it."""
    harness.submit("short", [1], 8)
    harness.step()
    harness.engine.reset()
    harness.ask("later", PROMPT, 1)

    again = harness.ask("again", PROMPT, 1)

    assert again.usage is not None
    assert again.usage.cached_tokens > 0


def test_lpm_admits_the_longest_cached_prefix_first() -> None:
    """With one place free, the request that matches most goes first; fcfs keeps the order."""
    firsts = {}
    for schedule in ("lpm", "fcfs"):
        harness = Harness(schedule=schedule, max_running=1, pages=200)
        harness.ask("warm", PROMPT)
        harness.submit("cold", [9] * 50, 2)
        harness.submit("half", PROMPT[:50] + [3] * 50, 2)
        harness.submit("full", [*PROMPT, 1], 2)
        order = []
        while not harness.engine.idle:
            order += [progress.request_id for progress in harness.step() if progress.finish]
        firsts[schedule] = order

    assert firsts == {"lpm": ["full", "half", "cold"], "fcfs": ["cold", "half", "full"]}


def test_lpm_does_not_starve_a_request_that_matches_nothing() -> None:
    """Who has waited long enough goes first, however much others match."""
    harness = Harness(schedule="lpm", max_running=1, pages=200)
    harness.ask("warm", PROMPT)
    harness.submit("cold", [9] * 50, 2)
    harness.clock.advance(60)
    harness.submit("full", [*PROMPT, 1], 2)

    order = []
    while not harness.engine.idle:
        order += [progress.request_id for progress in harness.step() if progress.finish]

    assert ["cold", "full"] == order


def test_refused_requests_leave_no_trace() -> None:
    """Every refusal says what, which value and what to do, and changes nothing."""
    harness = Harness(pages=16, max_waiting=1)
    cases: list[tuple[list[int], int, type[Exception], str]] = [
        ([], 1, RequestError, "the prompt is empty; send at least one token"),
        ([1], 0, RequestError, "max_tokens is 0; use 1 or more"),
        (
            [1, 256],
            1,
            RequestError,
            "token id 256 in the prompt is outside the vocabulary; use 0 to 255",
        ),
        (
            [-1],
            1,
            RequestError,
            "token id -1 in the prompt is outside the vocabulary; use 0 to 255",
        ),
        (
            [1] * 60,
            5,
            ContextOverflowError,
            "60 prompt tokens and max_tokens 5 are 65, over the limit of 64; shorten one of them",
        ),
    ]
    for prompt, max_tokens, kind, text in cases:
        with pytest.raises(kind) as caught:
            harness.submit("r", prompt, max_tokens)
        assert text == str(caught.value)
    harness.submit("waits", [1], 1)
    with pytest.raises(RequestError) as twice:
        harness.submit("waits", [1], 1)
    assert str(twice.value) == "request id 'waits' is in use; choose another"
    with pytest.raises(QueueFullError) as full:
        harness.submit("one more", [1], 1)
    assert str(full.value) == "1 requests wait already; try again later"
    assert full.value.retry_after_s > 0

    harness.drain()

    assert harness.engine.stats().requests == 1


def test_a_request_that_fits_only_alone_is_served() -> None:
    """A prompt as large as the pool evicts all else and runs."""
    harness = Harness(pages=16)
    harness.ask("small", [1] * 20, 4)

    answer = harness.ask("whole pool", PROMPT[:60], 4)

    assert uncached(PROMPT[:60], 4) == answer.tokens


def test_dials_are_checked() -> None:
    """A figure that cannot work is refused by name."""
    with pytest.raises(UsageError) as caught:
        EngineConfig(pages=0)
    assert str(caught.value) == "pages is 0; use 1 or more"
    for wrong, text in [
        ({"schedule": "lmp"}, "unknown schedule 'lmp' from --schedule; did you mean 'lpm'?"),
        ({"eviction": "lruu"}, "unknown policy 'lruu' from --eviction; did you mean 'lru'?"),
    ]:
        with pytest.raises(UsageError, match=text[:30]):
            Harness(**wrong)  # type: ignore[arg-type]
