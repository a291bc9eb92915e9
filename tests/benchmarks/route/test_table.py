"""The comparison's tables."""

from typing import Any

from benchmarks.route.table import COLUMNS, tables

MACHINE = {
    "cpu": "some processor",
    "cores": 2,
    "python": "3.11.7",
    "date": "2026-11-30",
    "commit": "abc1234",
}


def _run(**more: Any) -> dict[str, Any]:
    run = {
        "hit_rate": 0.8,
        "requests": [3, 1],
        "max_over_mean": 1.5,
        "requests_per_s": 100.0,
        "ttft_mean_ms": 5.0,
        "ttft_p99_ms": 9.0,
        "total_p50_ms": 10.0,
        "total_p99_ms": 20.0,
        "gateway_us_per_request": 250.0,
        "load_and_workers_cores": 0.5,
        "failed": {},
        "upstream_connections": 7,
        "worker_requests": 4_000,
    }
    return {**run, **more}


def _scenario(*entries: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"entries": list(entries), "machine": MACHINE, "load_before": 0.1, **more}


def _entry(label: str, *runs: dict[str, Any]) -> dict[str, Any]:
    return {"label": label, "runs": list(runs)}


def test_a_median_has_its_range() -> None:
    """Where repeats differ; one figure stands alone."""
    entry = _entry("g", _run(hit_rate=0.7), _run(hit_rate=0.9), _run(hit_rate=0.8))
    made = tables({"scenarios": {"zipf": _scenario(entry)}})
    assert made["zipf"].splitlines()[2] == (
        "| g | 0.800 (0.700–0.900) | 1.50 | 100 | 10 | 20 | 250 | 0 |"  # noqa: RUF001
    )


def test_what_failed_is_told_by_kind() -> None:
    """All repeats together."""
    entry = _entry("g", _run(failed={"status 503": 2}), _run(failed={"cut": 1}))
    made = tables({"scenarios": {"zipf": _scenario(entry)}})
    assert made["zipf"].splitlines()[2].endswith("| 3 (cut, status 503) |")


def test_who_did_not_run_is_shown() -> None:
    """A gateway that failed to start keeps its row."""
    made = tables({"scenarios": {"paced": _scenario(_entry("g"))}})
    assert made["paced"].splitlines()[2].startswith("| g | did not run | did not run |")


def test_two_gateways_stand_beside_one() -> None:
    """The hit rate of one is that of the run with one."""
    found = {
        "zipf": _scenario(_entry("g", _run(hit_rate=0.87))),
        "two-gateways": _scenario(_entry("g", _run(hit_rate=0.77))),
    }
    made = tables({"scenarios": found})
    assert made["two_gateways"].splitlines()[2].startswith("| g | 0.870 | 0.770 |")


def test_two_gateways_through_redis_stand_beside_the_same_one() -> None:
    """One gateway has nobody to tell."""
    found = {
        "zipf": _scenario(_entry("g", _run(hit_rate=0.87))),
        "two-gateways": _scenario(_entry("g + redis", _run(hit_rate=0.77))),
    }
    made = tables({"scenarios": found})
    assert made["two_gateways"].splitlines()[2].startswith("| g + redis | 0.870 | 0.770 |")


def test_overhead_is_what_is_added_to_none() -> None:
    """Median against median; connections beside requests."""
    cells = {
        "plain-16": [
            _entry("none direct", _run(total_p50_ms=1.0, total_p99_ms=2.0)),
            _entry("g", _run(total_p50_ms=1.5, total_p99_ms=4.0)),
        ]
    }
    found = {"cells": cells, "machine": MACHINE, "load_before": 0.1}
    made = tables({"scenarios": {"overhead": found}})
    assert made["overhead"].splitlines()[2:] == [
        "| none direct | 250 / 1.0 / 2.0 |",
        "| g | 250 / +0.5 / +2.0 |",
    ]
    assert made["connections"].splitlines()[3] == "| g | 7 of 4,000 |"


def test_what_it_was_taken_on_is_said() -> None:
    """Machine, versions, the share of load and workers, and what one cache would find."""
    alone = {"prompts": 300, "one_cache": 0.74, "one_worker": 0.5, "ideal": 0.75}
    report = {
        "scenarios": {"zipf": _scenario(_entry("g", _run()), **alone)},
        "versions": {"smg": "1.13.0"},
    }
    said = tables(report)["zipf_machine"]
    assert "at abc1234, 2026-11-30" in said
    assert "at most 25% of the CPU; smg 1.13.0." in said
    assert "Of 300 requests one cache of all workers' size finds 0.740" in said


def test_every_table_has_columns() -> None:
    """Of each scenario that there is."""
    assert {"zipf", "paced", "hot", "conversation", "sessions", "rolling", "idle"} <= set(COLUMNS)
