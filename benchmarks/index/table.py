"""The measured tables as Markdown, made from results.json, and put where documents quote them.

    python -m benchmarks.index.table                print all tables
    python -m benchmarks.index.table --write FILE   renew those that FILE quotes

A quoted table stands between `<!-- benchmarks.index: NAME -->` and `<!-- end -->`.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

__all__ = ["QUOTED", "quote", "tables"]

RESULTS = Path(__file__).with_name("results.json")
QUOTED = re.compile(r"(<!-- benchmarks\.index: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

Report = dict[str, Any]


def tables(report: Report) -> dict[str, str]:
    """Every table that a report has figures for, by name."""
    made = {
        "machine": _machine(report["machine"]),
        "keying": _keying(report["keying"]),
        "verbs": _verbs(report["verbs"]),
        "others": _others(report["verbs"]),
        "growth": _growth(report["growth"]),
        "room": _room(report["eviction"], report["memory"]),
    }
    if "requests" in report:
        made["requests"] = _requests(report["requests"])
    return made


def quote(document: str, made: dict[str, str]) -> str:
    """The document with its quoted tables renewed."""
    return QUOTED.sub(lambda found: found[1] + made[found[2]] + found[3], document)


def _rows(heads: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" + "---:|" * (len(heads) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def _time(entry: dict[str, float] | None) -> str:
    if entry is None:
        return "not asked"
    return f"{_ms(entry['median_ms'])} ({_ms(entry['p25_ms'])} to {_ms(entry['p75_ms'])})"


def _ms(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def _machine(machine: Report) -> str:
    return (
        f"{machine['cpu']}, {machine['cores']} cores; Python {machine['python']}, numpy "
        f"{machine['numpy']}; {machine['date']}, commit {machine['commit']}. Milliseconds of CPU "
        "time, median (quartiles).\n"
    )


def _keying(keying: Report) -> str:
    timings = keying["timings"]
    base = timings["sha256 of each block's message"]["median_ms"]
    return _rows(
        ["100,000 tokens, block 16", "ms", "of the limit"],
        [
            [name, _time(entry), f"{entry['median_ms'] / base:.2f}"]
            for name, entry in timings.items()
        ],
    )


def _verbs(rows: list[Report]) -> str:
    return _rows(
        ["form, block, prompt", "held beside", "match + insert", "match", "insert 1,008 behind"],
        [
            [
                f"{row['form']} {row['block_size']}, {row['tokens']:,}",
                f"{row['held_tokens']:,}",
                *(_time(row["timings"][name]) for name in ("cold", "warm", "behind")),
            ]
            for row in rows
        ],
    )


def _others(rows: list[Report]) -> str:
    return _rows(
        ["form, block, prompt", "make the chain", "match again", "pin", "release"],
        [
            [
                f"{row['form']} {row['block_size']}, {row['tokens']:,}",
                *(_time(row["timings"][name]) for name in ("chain", "again", "pin", "release")),
            ]
            for row in rows
            if not row["held_tokens"]
        ],
    )


def _growth(rows: list[Report]) -> str:
    return _rows(
        ["form, block", "exponent of match + insert", "match + insert", "match", "insert behind"],
        [
            [
                f"{row['form']} {row['block_size']}",
                f"{row['cold_slope']:.2f}",
                *(f"{row['held_over_empty'][name]:.2f}" for name in ("cold", "warm", "behind")),
            ]
            for row in rows
        ],
    )


def _room(eviction: list[Report], memory: list[Report]) -> str:
    def us(entry: dict[str, float]) -> str:
        return f"{entry['median']:.2f} ({entry['p25']:.2f} to {entry['p75']:.2f})"

    return _rows(
        ["form, block", "evict 1,000 a call, µs a block", "1 a call", "bytes a block", "a token"],
        [
            [
                f"{out['form']} {out['block_size']}",
                us(out["us_per_block"]["1000 a call"]),
                us(out["us_per_block"]["1 a call"]),
                f"{kept['bytes_per_block']:.0f}",
                f"{kept['bytes_per_token']:.1f}",
            ]
            for out, kept in zip(eviction, memory, strict=True)
        ],
    )


def _requests(rows: list[Report]) -> str:
    sizes = sorted({row["tokens"] for row in rows})
    names = list(dict.fromkeys((row["name"], row["version"], row["block_size"]) for row in rows))
    by = {(row["name"], row["block_size"], row["tokens"]): row["timings"] for row in rows}
    parts: list[str] = []
    for kind, title in (
        ("cold", "nothing cached"),
        ("warm", "all cached"),
        ("behind", "all cached, and 1,008 new"),
    ):
        lines = [
            [
                f"{name} ({version}), {block}",
                *(_time((by[name, block, size] or {kind: None})[kind]) for size in sizes),
            ]
            for name, version, block in names
        ]
        heads = [f"request: {title}", *(f"{size:,} tokens" for size in sizes)]
        parts.append(_rows(heads, lines))
    return "\n".join(parts)


def main() -> int:
    """Print the tables, or renew them in a document."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--write", type=Path, help="the document to renew")
    options = parser.parse_args()
    made = tables(json.loads(RESULTS.read_text(encoding="utf-8")))
    if options.write is None:
        for name, text in made.items():
            print(f"{name}\n\n{text}")
        return 0
    document: Path = options.write
    document.write_text(quote(document.read_text(encoding="utf-8"), made), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
