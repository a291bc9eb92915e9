from dataclasses import replace
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.replay.compare import SHARE_FAILED, as_json, compare
from stemcache.replay.outcome import UNFINISHED, Outcome
from stemcache.replay.report import Report, without_columns
from stemcache.replay.run import Run
from stemcache.replay.summary import summarize
from tests.replay.made import outcome, setting


def report(outcomes: list[Outcome], path: str = "t.jsonl", **others: Any) -> Report:
    """Of a run with these outcomes."""
    run = Run(
        model="m",
        outcomes=tuple(outcomes),
        window_s=10.0,
        ended_by=None,
        reset_path=None,
        before=None,
        after=None,
        connections=1,
    )
    made = setting()
    return summarize(replace(run, **others), replace(made, trace=replace(made.trace, path=path)))


def served(slower: float = 0.0, cached: int = 2, count: int = 60) -> list[Outcome]:
    """Requests of very different lengths, all so much slower."""
    return [
        outcome(
            n,
            ttft=0.1 + 0.5 * (n * 0.618 % 1) + slower,
            e2e=1 + 3 * (n * 0.414 % 1) + slower,
            cached=cached,
        )
        for n in range(count)
    ]


def test_a_small_difference_of_every_request_is_found_in_pairs() -> None:
    """And the sentence is plain."""
    found = compare(report(served()), report(served(0.01, cached=4)), seed=1)
    lines = {line.name: line for line in found.lines}
    assert found.paired
    assert list(lines) == [
        "TTFT mean",
        "TTFT p50",
        "TTFT p95",
        "TTFT p99",
        "end to end mean",
        "end to end p50",
        "end to end p95",
        "end to end p99",
        "hit rate",
        "share failed",
    ]
    assert lines["TTFT mean"].difference.value == pytest.approx(0.01)
    assert {line.verdict for line in found.lines[:-1]} == {"higher"}
    assert lines["hit rate"].difference.value == pytest.approx(0.2)
    assert (lines["hit rate"].unit, lines["TTFT p50"].requests) == ("1", 60)


def test_equal_runs_are_within_noise() -> None:
    """Paired or not."""
    for paired in (True, False):
        found = compare(report(served()), report(served()), seed=1, paired=paired)
        assert {line.verdict for line in found.lines} == {"within noise"}


def test_only_what_both_runs_answered_is_paired() -> None:
    """A request that one run lost would tell of other requests."""
    some = [each for each in served() if each.number % 2]
    broken = [outcome(n, ttft=None, error="http_500") for n in range(0, 60, 2)]
    found = compare(report(served()), report(some + broken), seed=1)
    assert {line.requests for line in found.lines[:-1]} == {30}
    assert found.lines[-1].name == SHARE_FAILED
    assert (found.lines[-1].difference.a, found.lines[-1].difference.b) == (0.0, 0.5)
    assert (found.lines[-1].requests, found.lines[-1].verdict) == (60, "higher")
    assert "30 requests of the second run failed and are left out" in found.notes


def test_runs_of_different_traces_are_not_paired() -> None:
    """Unless told that they are the same; a directory makes no difference."""
    a, b = report(served(), "a/t.jsonl"), report(served(0.01), "b/t.jsonl")
    assert compare(a, b, seed=1).paired
    other = report(served(0.01), "u.jsonl")
    found = compare(a, other, seed=1)
    assert not found.paired
    assert {line.verdict for line in found.lines} == {"within noise"}
    assert any(note.startswith("requests are not paired") for note in found.notes)
    assert compare(a, other, seed=1, paired=True).paired


def test_what_weakens_a_comparison_is_said() -> None:
    """Few requests, a run that was cut short, another way of pacing."""
    cut = report(served(count=5), ended_by="^C")
    closed = replace(cut, load=replace(cut.load, mode="closed loop", concurrency=4))
    notes = compare(report(served(count=5)), closed, seed=1).notes
    assert "5 requests are too few for an interval to be trusted" in notes
    assert "the second run was ended early by ^C" in notes
    assert "the runs differ in pace: open loop and closed loop" in notes
    assert "the runs differ in sessions at once: None and 4" in notes
    assert notes[-1].startswith("0 of 10 figures differ at 95%; of as many that do not differ")


def test_hit_rates_that_are_unknown_are_not_compared() -> None:
    """The latencies still are."""
    silent = [replace(each, usage=replace(each.usage, cached_tokens=None)) for each in served()]
    found = compare(report(silent), report(served()), seed=1)
    assert "hit rate" not in {line.name for line in found.lines}
    assert len(found.lines) == 9


def test_runs_without_answers_or_columns_are_refused() -> None:
    """With the reason."""
    empty = report([outcome(0, ttft=None, error="refused")])
    with pytest.raises(UsageError, match="the two runs have no answered request to compare"):
        compare(empty, empty, seed=1)
    with pytest.raises(UsageError, match="the second report has no figures per request; give a"):
        compare(report(served()), without_columns(report(served())), seed=1)


def test_a_run_that_failed_as_a_whole_is_compared_by_that() -> None:
    """Nothing else is left; a request that was broken off did not fail."""
    broken = report([outcome(n, ttft=None, error="timeout") for n in range(60)])
    (line,) = compare(report(served()), broken, seed=1).lines
    assert (line.name, line.difference.a, line.difference.b) == (SHARE_FAILED, 0.0, 1.0)
    cut = report([*served(), outcome(60, ttft=None, error=UNFINISHED)])
    assert compare(cut, cut, seed=1).lines[-1].requests == 60


def test_a_comparison_is_plain_values_too() -> None:
    """With the interval and the verdict of each figure."""
    values = as_json(compare(report(served()), report(served(0.01)), seed=3))
    assert (values["kind"], values["paired"], values["seed"]) == ("stemcache compare", True, 3)
    figures = values["figures"]
    assert isinstance(figures, list)
    assert figures[0]["name"] == "TTFT mean"
    assert figures[0]["distinguishable"] is True
    assert figures[0]["low"] <= figures[0]["difference"] <= figures[0]["high"]
