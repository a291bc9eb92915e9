"""`/metrics`: every figure of the engine's, and the sums that hold among them."""

import asyncio
import re
from typing import Any

import pytest

from stemcache.engine.stats import EngineStats
from stemcache.server.metrics import CONTENT_TYPE, Metrics
from tests.server.stage import Stage, play, samples

STATS = EngineStats(
    waiting=1,
    running=2,
    pages_total=100,
    pages_free=40,
    pages_owned=10,
    pages_indexed=50,
    pages_pinned=20,
    requests=3,
    prompt_tokens=400,
    cached_tokens=300,
    computed_tokens=100,
    recomputed_tokens=5,
    completion_tokens=60,
    preemptions=7,
    evicted_blocks=8,
    steps=90,
    failed_steps=11,
    cancelled=12,
    resets=13,
)


def metrics(stats: EngineStats = STATS) -> Metrics:
    """Metrics of an engine that stands still."""
    return Metrics(lambda: stats, pages=100, labels={"name": 'a "b"\n', "index": "hash"})


def test_every_figure_of_the_engines_is_shown() -> None:
    """Gauges by their name, counters with `_total`; none is left out."""
    found = samples(metrics().page())

    assert {
        "pages{free}": 40,
        "pages{owned}": 10,
        "pages{pinned}": 20,
        "pages{idle}": 30,
        "requests_running": 2,
        "requests_waiting": 1,
        "admitted_requests_total": 3,
        "prompt_tokens_total": 400,
        "cached_tokens_total": 300,
        "computed_tokens_total": 100,
        "recomputed_tokens_total": 5,
        "completion_tokens_total": 60,
        "preemptions_total": 7,
        "evicted_blocks_total": 8,
        "steps_total": 90,
        "failed_steps_total": 11,
        "cancelled_requests_total": 12,
        "prefix_cache_resets_total": 13,
        "pages_capacity": 100,
        'model_info{hash}{a "b"\n}': 1,
    } == {
        name: value
        for name, value in found.items()
        if "seconds" not in name and (not name.startswith("cached_share"))
    }


def test_figures_are_those_of_the_moment() -> None:
    """Each look reads the engine's latest snapshot, and no more than once."""
    looks: list[int] = []

    def stats() -> EngineStats:
        looks.append(1)
        return STATS

    one = Metrics(stats, pages=100, labels={})
    at_first = len(looks)
    one.page()
    one.page()

    assert 2 == len(looks) - at_first


def test_two_servers_in_one_process_do_not_share_metrics() -> None:
    """Each has a registry of its own."""
    one, other = metrics(), metrics()
    one.requests.labels("answered").inc()

    assert 1 == samples(one.page())["requests_total{answered}"]
    assert "requests_total{answered}" not in samples(other.page())


@pytest.mark.parametrize(
    ("name", "family", "value", "below", "above"),
    [
        ("first_token_s", "time_to_first_token_seconds", 0.3, 0.25, 0.5),
        ("first_token_s", "time_to_first_token_seconds", 299.0, 120.0, 300.0),
        ("inter_token_s", "inter_token_seconds", 0.015, 0.01, 0.02),
        ("request_s", "request_seconds", 400.0, 300.0, "+Inf"),
        ("cached_share", "cached_share", 0.97, 0.95, 1.0),
        ("cached_share", "cached_share", 0.01, 0.0, 0.1),
    ],
)
def test_what_is_observed_falls_between_its_bounds(
    name: str, family: str, value: float, below: float, above: object
) -> None:
    """Bounds are seconds, or shares; a share of nothing is told apart from a little."""
    one = metrics()
    getattr(one, name).observe(value)
    found = samples(one.page())

    assert 0 == found[f"{family}_bucket{{{below}}}"]
    assert 1 == found[f"{family}_bucket{{{above}}}"] == found[f"{family}_count"]
    assert value == found[f"{family}_sum"]


def test_the_page_is_prometheus_text() -> None:
    """Every name is ours, and every family says what it is."""
    page = metrics().page().decode()
    names = set(re.findall(r"^([a-z_]+)[ {]", page, re.MULTILINE))
    families = re.findall(r"^# TYPE (\w+) (\w+)$", page, re.MULTILINE)

    assert b"text/plain; version=0.0.4; charset=utf-8" == CONTENT_TYPE
    assert all(name.startswith("stemcache_") for name in names)
    assert {name for name, _ in families} == set(
        re.findall(r"^# HELP (\w+) \S.*\.$", page, re.MULTILINE)
    )


def verify(found: dict[str, float]) -> None:
    """The sums that hold at any moment."""
    pages = [found[f"pages{{{state}}}"] for state in ("free", "owned", "pinned", "idle")]
    assert min(pages) >= 0
    assert sum(pages) == found["pages_capacity"]
    assert found["prompt_tokens_total"] == (
        found["cached_tokens_total"] + found["computed_tokens_total"]
    )


@pytest.mark.parametrize("index", ["hash", "radix"])
def test_the_sums_hold_during_and_after_a_mixed_load(index: str) -> None:
    """Streams, choices, refusals, clients that leave, and a pool too small for all at once."""

    async def body(stage: Stage) -> None:
        leave = asyncio.Event()
        given: dict[str, Any] = {"model": "toy", "max_tokens": 20, "ignore_eos": True}
        stem = list(b"shared by all of them. " * 4)
        asks = [
            stage.complete(prompt=[*stem, 65 + i], stream=i % 2 == 0, n=1 + i % 3, max_tokens=20)
            for i in range(24)
        ]
        wrong: list[dict[str, Any]] = [
            {"n": 0}, {"model": "other"}, {"prompt": [300]}, {"prompt": [1] * 5000}, {"stop": ""},
        ]  # fmt: skip
        refused = [stage.complete(**fields) for fields in wrong]
        leaving = [
            stage.ask(
                "POST",
                "/v1/completions",
                {**given, "prompt": [*stem, 97 + i], "max_tokens": 1500},
                leave=leave,
            )
            for i in range(3)
        ]
        tasks = [asyncio.create_task(ask) for ask in (*leaving, *asks, *refused)]
        looks = 0
        while not all(task.done() for task in tasks):
            verify(stage.metrics())
            looks += 1
            if sum(task.done() for task in tasks) >= 15:
                leave.set()
            await asyncio.wait(tasks, timeout=0.005)
        await stage.settle()
        after = stage.metrics()
        verify(after)
        lines = stage.lines()
        good = [line for line in lines if line["status"] == 200]

        assert looks > 1
        assert {"answered": 24, "invalid": 5, "client_left": 3} == {
            name.removeprefix("requests_total{").removesuffix("}"): value
            for name, value in after.items()
            if name.startswith("requests_total{")
        }
        assert 24 * 2 <= after["admitted_requests_total"] <= 24 * 2 + 3
        assert 3 == after["cancelled_requests_total"]
        assert 24 == after["request_seconds_count"] == len(good)
        assert 24 * 2 * 20 == sum(line["completion_tokens"] for line in good)
        assert after["completion_tokens_total"] >= 24 * 2 * 20
        assert 24 <= after["time_to_first_token_seconds_count"] <= 24 + 3
        assert 24 <= after["cached_share_count"] <= 24 + 3
        assert after["inter_token_seconds_count"] >= 24 * 2 * 19
        assert after["failed_steps_total"] == after["requests_running"] == 0
        assert 0 == after["requests_waiting"] == after["pages{owned}"] == after["pages{pinned}"]
        # Choices of one prompt find what the first of them computed, so more was found than told.
        assert sum(line["cached_tokens"] for line in good) <= after["cached_tokens_total"]

    block = 16 if index == "hash" else 1
    play(body, index=index, block_size=block, kv_memory_bytes=2000 * 24, chunk_tokens=64)


def test_a_reset_is_counted_and_empties_what_is_idle() -> None:
    """The pages that were idle are free."""

    async def body(stage: Stage) -> None:
        await stage.complete(prompt=[65] * 160)
        before = stage.metrics()
        answered = await stage.ask("POST", "/reset_prefix_cache")
        after = stage.metrics()

        assert {"success": True, "dropped_blocks": 10} == answered.json()
        assert (10, 0) == (before["pages{idle}"], after["pages{idle}"])
        assert after["pages_capacity"] == after["pages{free}"]
        assert 1 == after["prefix_cache_resets_total"]

    play(body)
