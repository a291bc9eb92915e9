"""The measured tables as Markdown, made from results.json, and put where documents quote them.

    python -m benchmarks.policy.table                print all tables
    python -m benchmarks.policy.table --write FILE   renew those that FILE quotes

A quoted table stands between `<!-- benchmarks.policy: NAME -->` and `<!-- end -->`.
"""

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

__all__ = ["QUOTED", "quote", "tables"]

RESULTS = Path(__file__).with_name("results.json")
QUOTED = re.compile(r"(<!-- benchmarks\.policy: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

Report = dict[str, Any]


def tables(report: Report) -> dict[str, str]:
    """Every table that a report has figures for, by name."""
    made = {
        "machine": _machine(report),
        "conversation": _conversation(report["conversation"]),
        "sessions": _sessions(report["sessions"]),
        "cost": _cost(report["cost"]),
    }
    if "ablations" in report:
        made["ablations"] = _ablations(report["ablations"])
    return made


def quote(document: str, made: dict[str, str]) -> str:
    """The document with its quoted tables renewed."""
    return QUOTED.sub(lambda part: part[1] + made[part[2]] + part[3], document)


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def _rates(values: Sequence[float]) -> list[str]:
    return [f"{value:.4f}".removeprefix("0") for value in values]


def _share(part: float | None) -> str:
    return "·" if part is None else f"{part:.0%}"


def _machine(report: Report) -> str:
    return (
        f"`python -m benchmarks.policy.run --traces DIR`, {report['date']}, {report['machine']}, "
        f"Python {report['python']}, commit {report['commit']}.\n"
    )


def _conversation(part: Report) -> str:
    rows = [[name, *_rates(values)] for name, values in part["block_hit_rate"].items()]
    rows.append(["odds, answers' lengths untold", *_rates(part["odds_without_output_lengths"])])
    shares = part["share_of_gap"]["odds"]
    rows.append(["*share of lru to min*", *(_share(share) for share in shares)])
    return _grid(["blocks", *(f"{size:,}" for size in part["capacity_blocks"])], rows)


def _sessions(part: Report) -> str:
    rows: list[list[str]] = []
    seeds = part["seeds"]
    for policy in ("lru", "odds", "min"):
        by_size = zip(*(seed["block_hit_rate"][policy] for seed in seeds), strict=True)
        rows.append([f"{policy}, mean", *_rates([mean(values) for values in by_size])])
    gains = [
        [
            ours - lru
            for ours, lru in zip(
                seed["block_hit_rate"]["odds"], seed["block_hit_rate"]["lru"], strict=True
            )
        ]
        for seed in seeds
    ]
    for name, pick in (("least", min), ("most", max)):
        picked = [pick(values) for values in zip(*gains, strict=True)]
        rows.append([f"odds over lru, {name}", *(f"{gain:+.4f}" for gain in picked)])
    shares = [
        mean(value for value in values if value is not None)
        for values in zip(*(seed["share_of_gap"] for seed in seeds), strict=True)
    ]
    rows.append(["*share of lru to min, mean*", *(_share(share) for share in shares)])
    untold = part["odds_without_output_lengths_seed_0"]
    rows.append(["seed 0: lru", *_rates(seeds[0]["block_hit_rate"]["lru"])])
    rows.append(["seed 0: odds", *_rates(seeds[0]["block_hit_rate"]["odds"])])
    rows.append(["seed 0: odds, answers' lengths untold", *_rates(untold)])
    return _grid(["tokens", *part["capacity"]], rows)


def _ablations(part: Report) -> str:
    chat, mixed = part["conversation"], part["sessions, seed 0"]
    heads = ["odds knows", "1k blocks", "10k", "50k", "100k", "0.5 Mtok", "2 Mtok", "8 Mtok", "16"]
    rows = [
        [
            name,
            *_rates([chat[name][at] for at in (0, 2, 4, 5)]),
            *_rates([mixed[name][at] for at in (0, 2, 4, 5)]),
        ]
        for name in chat
    ]
    return _grid(heads, rows)


def _cost(part: dict[str, Any]) -> str:
    rows = [
        [name, f"{row['mean_us']:,.0f}", f"{row['p99_us']:,.0f}", f"{row['max_us']:,.0f}"]
        for name, row in part.items()
        if name != "commit"
    ]
    head = f"µs of processor time a request, commit {part['commit']['id']}"
    return _grid([head, "mean", "p99", "longest"], rows)


def main() -> None:
    """Print, or write into a document."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    made = tables(json.loads(RESULTS.read_text(encoding="utf-8")))
    if asked.write is None:
        print("\n".join(f"{name}\n\n{text}" for name, text in made.items()))
    else:
        document = asked.write.read_text(encoding="utf-8")
        asked.write.write_text(quote(document, made), encoding="utf-8")


if __name__ == "__main__":
    main()
