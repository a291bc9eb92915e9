"""The matrix as Markdown, made from results.json, and put where documents quote it.

    python -m benchmarks.peers_matrix.table                print all tables
    python -m benchmarks.peers_matrix.table --write FILE   renew those that FILE quotes

A quoted table stands between `<!-- benchmarks.peers_matrix: NAME -->` and `<!-- end -->`.
"""

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

__all__ = ["quote", "show", "tables"]

RESULTS = Path(__file__).with_name("results.json")
_SIGNS = {
    "named": "✓",
    "placed": "place",
    "seen": "~",
    "same": "=",
    "missed": "✗",
    "false alarm": "F",
    "cannot say": "n/a",
}
_HEADS = {
    "anthropic": "Claude API, claude-opus-5",
    "bedrock": "Bedrock",
    "openai": "OpenAI before 5.6",
    "openai-5.6": "OpenAI from 5.6",
}

Report = dict[str, Any]


def tables(report: Report) -> dict[str, str]:
    """The matrix, its sums, what it was made with, and stemcache's own misses."""
    return {
        "matrix": _matrix(report),
        "sums": _sums(report),
        "machine": _machine(report),
        "wrong": _wrong(report),
    }


def quote(document: str, module: str, made: dict[str, str]) -> str:
    """The document with the tables renewed that it quotes of a module."""
    quoted = re.compile(rf"(<!-- {re.escape(module)}: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
    return quoted.sub(lambda found: found[1] + made[found[2]] + found[3], document)


def _rows(heads: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def _matrix(report: Report) -> str:
    names = list(report["said"])
    rows = []
    form = None
    for case in report["cases"]:
        if case["form"] != form:
            form = case["form"]
            rows.append([f"**{_HEADS[form]}**", "", *("" for _ in names)])
        signs = [_SIGNS[report["said"][name][case["id"]]["grade"]] for name in names]
        kind = case["kind"]
        rows.append([case["title"], f"`{kind}`" if kind else "nothing", *signs])
    return _rows(["pair", "what is wrong", *names], rows)


def _sums(report: Report) -> str:
    rows = []
    for name, said in report["said"].items():
        counts = Counter(each["grade"] for each in said.values())
        asked = sum(counts.values()) - counts["cannot say"]
        version = report["versions"][name]
        rows.append(
            [f"{name} {version}", str(asked), *(str(counts[grade]) for grade in list(_SIGNS)[:-1])]
        )
    heads = ["", "pairs it reads", "cause named", "place only", "break only", "as on clean pair"]
    return _rows([*heads, "missed", "false alarm"], rows)


def _machine(report: Report) -> str:
    made = report["machine"]
    return (
        f"`scripts/lint-matrix` at {made['commit']}, {made['date']}, Python {made['python']}: "
        f"{len(report['cases'])} pairs.\n"
    )


def _wrong(report: Report) -> str:
    rows = [
        f"- {case['form']}, {case['title']}: should be {case['kind'] or 'silent'}, "
        f"said {'; '.join(said['said']) or 'nothing'}"
        for case in report["cases"]
        if (said := report["said"]["stemcache"][case["id"]])["grade"] != "named"
    ]
    return ("\n".join(rows) or "None of its own column is wrong.") + "\n"


def show(module: str, made: dict[str, str]) -> None:
    """Print a module's tables, or renew them in a document where the command line names one."""
    parser = argparse.ArgumentParser(description="The tables of a benchmark's results.")
    parser.add_argument("--write", type=Path, help="the document to renew")
    document: Path | None = parser.parse_args().write
    if document is None:
        for name, text in made.items():
            print(f"{name}\n\n{text}")
        return
    renewed = quote(document.read_text(encoding="utf-8"), module, made)
    document.write_text(renewed, encoding="utf-8")


if __name__ == "__main__":
    show("benchmarks.peers_matrix", tables(json.loads(RESULTS.read_text(encoding="utf-8"))))
