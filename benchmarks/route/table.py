"""The measured tables as Markdown, made from results.json, and put where documents quote them.

    python -m benchmarks.route.table                print all tables
    python -m benchmarks.route.table --write FILE   renew those that FILE quotes

A quoted table stands between `<!-- benchmarks.route: NAME -->` and `<!-- end -->`. Figures are
medians of the repeats, the lowest and highest in brackets.
"""

import itertools
import json
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers_matrix.table import show

__all__ = ["tables"]

RESULTS = Path(__file__).with_name("results.json")

Entry = dict[str, Any]
Column = tuple[str, Callable[[Entry], str]]


def tables(report: Entry) -> dict[str, str]:
    """Every table by name, and what each was taken on; those without results say so."""
    made = dict.fromkeys((*COLUMNS, "overhead", "connections"), "Not measured.\n")
    made |= {f"{name} machine": text for name, text in made.items()}
    for name, found in report["scenarios"].items():
        if name == "overhead":
            made[name] = _overhead(found)
            made["connections"] = _connections(found)
        elif name == "two-gateways":
            made[name] = _two(found, report["scenarios"].get("zipf", {"entries": []}))
        else:
            made[name] = _rows(
                ["gateway", *(head for head, _ in COLUMNS[name])], _lines(name, found)
            )
        made[f"{name} machine"] = _machine(found, report.get("versions", {}))
    return {name.replace("-", "_").replace(" ", "_"): text for name, text in made.items()}


def _rows(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    shown = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    return "\n".join(shown + ["| " + " | ".join(line) + " |" for line in lines]) + "\n"


def _lines(name: str, found: Entry) -> list[list[str]]:
    return [
        [entry["label"], *(_cell(show_of, entry) for _, show_of in COLUMNS[name])]
        for entry in found["entries"]
    ]


def _two(found: Entry, alone: Entry) -> str:
    """Two gateways, with the hit rate of one beside theirs."""
    one = {entry["label"]: _cell(HIT[1], entry) for entry in alone["entries"]}
    heads = ["gateway", "hit rate of one", *(head for head, _ in COLUMNS["two-gateways"])]
    lines = [
        [label, one.get(label.removesuffix(" + redis"), ""), *rest]  # one tells nobody
        for label, *rest in _lines("two-gateways", found)
    ]
    return _rows(heads, lines)


def _cell(show_of: Callable[[Entry], str], entry: Entry) -> str:
    return show_of(entry) if entry["runs"] else "did not run"


def _number(key: str, form: str = "{:.3f}", scale: float = 1.0) -> Callable[[Entry], str]:
    def shown(entry: Entry) -> str:
        values = [run[key] * scale for run in entry["runs"] if run.get(key) is not None]
        if not values:
            return "never"
        middle = form.format(statistics.median(values))
        low, high = form.format(min(values)), form.format(max(values))
        return middle if low == high else f"{middle} ({low}–{high})"  # noqa: RUF001  # a range

    return shown


def _failed(entry: Entry) -> str:
    runs = entry["runs"]
    total = sum(sum(run["failed"].values()) for run in runs)
    kinds = sorted({kind for run in runs for kind in run["failed"]})
    return f"{total} ({', '.join(kinds)})" if total else "0"


def _spread(entry: Entry) -> str:
    return " / ".join(str(each) for each in entry["runs"][0]["requests"])


HIT: Column = ("hit rate", _number("hit_rate"))
LOAD: Column = ("max / mean load", _number("max_over_mean", "{:.2f}"))
RATE: Column = ("requests/s", _number("requests_per_s", "{:.0f}"))
TTFT: list[Column] = [
    ("TTFT mean, ms", _number("ttft_mean_ms", "{:.0f}")),
    ("p99", _number("ttft_p99_ms", "{:.0f}")),
]
TOTAL: list[Column] = [
    ("answer p50, ms", _number("total_p50_ms", "{:.0f}")),
    ("p99", _number("total_p99_ms", "{:.0f}")),
]
CPU: Column = ("CPU, us a request", _number("gateway_us_per_request", "{:.0f}"))
FAILED: Column = ("failed", _failed)
COLUMNS: dict[str, list[Column]] = {
    "zipf": [HIT, LOAD, RATE, *TOTAL, CPU, FAILED],
    "zipf-stream": [HIT, LOAD, RATE, *TTFT, CPU, FAILED],
    "paced": [HIT, LOAD, ("requests of the first run", _spread), *TOTAL, FAILED],
    "paced-stream": [HIT, LOAD, ("requests of the first run", _spread), *TTFT, FAILED],
    "hot": [HIT, LOAD, RATE, *TOTAL, FAILED],
    "hot-stream": [HIT, LOAD, RATE, *TTFT, FAILED],
    "conversation": [HIT, LOAD, *TTFT, CPU, FAILED],
    "sessions": [HIT, LOAD, *TTFT, CPU, FAILED],
    "two-gateways": [HIT, LOAD, RATE, *TOTAL, FAILED],
    "kill": [FAILED, ("slowest, s", _number("slowest_s", "{:.2f}")), HIT],
    "kill-midstream": [
        ("cut off", lambda entry: _outcome(entry, "cut")),
        ("told by an event", lambda entry: _outcome(entry, "error")),
        ("refused or status", lambda entry: _outcome(entry, "refused", "status")),
    ],
    "rolling": [
        FAILED,
        ("hit rate before", _number("usual_hit_rate")),
        ("lowest", _number("lowest_hit_rate")),
        ("back after the last, s", _number("recovered_s", "{:.2f}")),
        ("slowest answer p99, ms", _number("total_p99_ms", "{:.0f}")),
    ],
    "idle": [
        ("held", _number("held", "{:,.0f}")),
        ("KiB a stream", _number("kib_per_stream", "{:.1f}")),
        ("resident before, MB", _number("rss_before_mb", "{:.0f}")),
        ("held", _number("rss_held_mb", "{:.0f}")),
        ("after", _number("rss_after_mb", "{:.0f}")),
        ("cores while idle", _number("cores_while_idle", "{:.3f}")),
    ],
}
COLUMNS["rolling-stream"] = COLUMNS["rolling"]


def _outcome(entry: Entry, *kinds: str) -> str:
    return " / ".join(
        str(sum(n for kind, n in run["failed"].items() if kind.startswith(kinds)))
        for run in entry["runs"]
    )


def _overhead(found: Entry) -> str:
    """For every cell: CPU a request, and what the gateway adds at p50 and p99 to no gateway."""
    heads = ["gateway", *(f"{cell}: CPU us / p50 ms / p99 ms" for cell in found["cells"])]
    labels = [entry["label"] for entry in next(iter(found["cells"].values()))]
    lines = [
        [label, *(_added(rows, label) for rows in found["cells"].values())] for label in labels
    ]
    return _rows(heads, lines)


def _connections(found: Entry) -> str:
    """Connections that workers took in all of a cell's requests."""
    heads = ["gateway", *found["cells"]]
    labels = [entry["label"] for entry in next(iter(found["cells"].values()))]
    lines = []
    for label in labels:
        runs = [
            run
            for rows in found["cells"].values()
            for run in next(entry["runs"][:1] for entry in rows if entry["label"] == label)
        ]
        cells = [f"{run['upstream_connections']:,} of {run['worker_requests']:,}" for run in runs]
        lines.append([label, *cells])
    return _rows(heads, lines)


def _added(rows: list[Entry], label: str) -> str:
    by_label = {entry["label"]: entry for entry in rows}
    entry, direct = by_label[label], by_label["none direct"]
    if not entry["runs"]:
        return "did not run"
    shown = [f"{statistics.median(run['gateway_us_per_request'] for run in entry['runs']):.0f}"]
    for key in ("total_p50_ms", "total_p99_ms"):
        mine, base = (
            statistics.median(run[key] for run in each["runs"]) for each in (entry, direct)
        )
        shown.append(f"{mine:.1f}" if entry is direct else f"+{mine - base:.1f}")
    return " / ".join(shown)


def _machine(found: Entry, versions: dict[str, str]) -> str:
    made = found["machine"]
    seen = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    rows = [*found.get("entries", []), *itertools.chain(*found.get("cells", {}).values())]
    cores = [
        run["load_and_workers_cores"]
        for entry in rows
        for run in entry["runs"]
        if "load_and_workers_cores" in run
    ]
    share = ""
    if cores:
        share = f"; workers and load took at most {max(cores) / made['cores']:.0%} of the CPU"
    alone = (
        f" Of {found['prompts']:,} requests one cache of all workers' size finds "
        f"{found['one_cache']:.3f}, one worker's {found['one_worker']:.3f}, one without end "
        f"{found['ideal']:.3f}."
        if "one_cache" in found
        else ""
    )
    return (
        f"`scripts/bench-route` at {made['commit']}, {made['date']}, {made['cpu']}, "
        f"{made['cores']} cores, Python {made['python']}, load {found['load_before']} before"
        f"{share}; {seen}.{alone}\n"
    )


if __name__ == "__main__":
    show("benchmarks.route", tables(json.loads(RESULTS.read_text(encoding="utf-8"))))
