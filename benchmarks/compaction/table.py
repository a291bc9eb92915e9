"""The measured tables as Markdown, made from results.json, and put where documents quote them.

    python -m benchmarks.compaction.table                print all tables
    python -m benchmarks.compaction.table --write FILE   renew those that FILE quotes

A quoted table stands between `<!-- benchmarks.compaction: NAME -->` and `<!-- end -->`.
"""

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["QUOTED", "quote", "tables"]

RESULTS = Path(__file__).with_name("results.json")
QUOTED = re.compile(r"(<!-- benchmarks\.compaction: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_ENDS = {"as stated": "", "at the minimum": ", gone at 30 min", "never": ", never gone"}

Report = dict[str, Any]
Scene = dict[str, Any]


def tables(report: Report) -> dict[str, str]:
    """Every table, by name."""
    return {
        "pings": _pings(report["keepalive"]) + _foot(report),
        "worst": _worst(report["keepalive"]) + _foot(report),
        "money": _money(report["keepalive"]) + _foot(report),
        "strategies": _strategies(report["histories"][0]) + _foot(report),
        "models": _models(report["histories"]) + _foot(report),
    }


def quote(document: str, made: dict[str, str]) -> str:
    """The document with its quoted tables renewed."""
    return QUOTED.sub(lambda part: part[1] + made[part[2]] + part[3], document)


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def _name(scene: Scene) -> str:
    return f"{scene['model']}{_ENDS[scene['ends']]}"


def _names(scenes: Sequence[Scene]) -> list[str]:
    """Names of rows that have figures, in the order in which they are first met."""
    names = {row["name"]: None for scene in scenes for row in scene["rows"] if "usd" in row}
    return list(names)


def _cell(scene: Scene, name: str, key: str) -> Any:
    return next((row[key] for row in scene["rows"] if row["name"] == name and key in row), None)


def _percent(part: float | None) -> str:
    return "·" if part is None else f"{part:+.1%}"


def _pings(scenes: Sequence[Scene]) -> str:
    rows = [
        [name, *(_percent(_cell(scene, name, "beside_nothing")) for scene in scenes)]
        for name in _names(scenes)
        if name != "nothing"
    ]
    rows.append(
        ["chosen beforehand", *(_cell(scene, "chosen beforehand", "ttl") for scene in scenes)]
    )
    return _grid(["money beside doing nothing", *map(_name, scenes)], rows)


def _worst(scenes: Sequence[Scene]) -> str:
    rows = [
        [name, *(_percent(_cell(scene, name, "worst_session")) for scene in scenes)]
        for name in _names(scenes)
        if name != "nothing"
    ]
    return _grid(["the session that lost most", *map(_name, scenes)], rows)


def _money(scenes: Sequence[Scene]) -> str:
    rows = []
    for name in _names(scenes):
        cells = [name]
        for scene in scenes:
            usd, pings = _cell(scene, name, "usd"), _cell(scene, name, "pings")
            cells.append("·" if usd is None else f"{usd:,.0f} ({pings:,})")
        rows.append(cells)
    return _grid(["USD in all (pings)", *map(_name, scenes)], rows)


def _strategies(scene: Scene) -> str:
    rows = []
    for row in scene["rows"]:
        what = row["name"]
        if row["high_tokens"] is not None and what != "rolling":
            what += f", {row['high_tokens']:,} → {row['low_tokens']:,}"
            what += f" with a summary of {row['summary_tokens']:,}" if row["summary_tokens"] else ""
            what += " (best mark)" if row["best_high"] else ""
        if row["window_tokens"] is not None:
            what += f", {row['window_tokens']:,}"
        rows.append(
            [
                what,
                f"{row['retained_tokens']:,}",
                f"{row['hit_rate']:.1%}",
                f"{row['usd']:,.0f}",
                _percent(row["beside_nothing"]),
                _percent(row["worst_session"]),
                f"{row['compactions']:,}",
            ]
        )
    heads = ["strategy", "retained", "hit rate", "USD", "beside none", "worst session", "times"]
    return f"{scene['model']}:\n\n" + _grid(heads, rows)


def _models(scenes: Sequence[Scene]) -> str:
    rows = []
    for scene in scenes:
        pairs = [row for row in scene["rows"] if row["name"] in {"watermark", "rolling"}]
        for marks, rolling in zip(pairs[::2], pairs[1::2], strict=True):
            rows.append(
                [
                    f"{scene['model']}, {marks['high_tokens']:,} → {marks['low_tokens']:,}"
                    + (" (best mark)" if marks["best_high"] else ""),
                    f"{marks['retained_tokens']:,} / {rolling['retained_tokens']:,}",
                    f"{marks['hit_rate']:.1%} / {rolling['hit_rate']:.1%}",
                    f"{marks['usd']:,.0f} / {rolling['usd']:,.0f}",
                    _percent(marks["usd"] / rolling["usd"] - 1),
                ]
            )
    heads = ["watermark / rolling", "retained", "hit rate", "USD", "watermark beside rolling"]
    return _grid(heads, rows)


def _foot(report: Report) -> str:
    machine = report["machine"]
    return (
        f"\n{report['sessions']['later']} later sessions, {report['requests']['later']:,} "
        f"requests; learned from {report['sessions']['earlier']} earlier ones. "
        f"`python -m benchmarks.compaction.run --traces DIR` at {machine['commit']}, "
        f"{machine['date']}.\n"
    )


def main() -> None:
    """Print, or write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--write", type=Path)
    chosen = parser.parse_args()
    made = tables(json.loads(RESULTS.read_text(encoding="utf-8")))
    if chosen.write is None:
        for name, table in made.items():
            print(f"{name}\n\n{table}")
    else:
        document = chosen.write.read_text(encoding="utf-8")
        chosen.write.write_text(quote(document, made), encoding="utf-8")


if __name__ == "__main__":
    main()
