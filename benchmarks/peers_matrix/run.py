"""Every pair through every linter, graded.

    python -m benchmarks.peers_matrix.run --peers DIR
    python -m benchmarks.peers_matrix.run --pairs FOLDER      only write the pairs there

DIR is a virtual environment that holds the linters of `PEERS`; `scripts/lint-matrix` makes one.
"""

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.peers_matrix.cases import CASES
from benchmarks.peers_matrix.peers.asked import Environment, Linter, one_a_line
from benchmarks.peers_matrix.peers.cachecanary import CacheCanary
from benchmarks.peers_matrix.peers.cachelint import CacheLint
from benchmarks.peers_matrix.peers.ctxdiff import CtxDiff
from benchmarks.peers_matrix.peers.kvlint import KvLint
from benchmarks.peers_matrix.peers.prefixguard import PrefixGuard
from benchmarks.peers_matrix.peers.promptcachelint import PromptCacheLint
from benchmarks.peers_matrix.peers.stemcache import Stemcache, exact
from benchmarks.peers_matrix.verdict import Answer, grade
from stemcache import __version__

__all__ = ["PEERS", "main"]

PEERS = (PromptCacheLint, CacheCanary, CacheLint, PrefixGuard, CtxDiff, KvLint)
RESULTS = Path(__file__).with_name("results.json")


def _column(linter: Linter, only: str) -> dict[str, Any]:
    """All answers of one linter, by the pair's id."""
    clean: dict[str, Answer] = {}
    column: dict[str, Any] = {}
    for case in CASES:
        if only not in case.id and case.name != "clean":
            continue
        with tempfile.TemporaryDirectory() as folder:
            answer = linter.ask(case, case.make(), Path(folder))
        if case.name == "clean":
            clean[case.form] = answer
        if isinstance(linter, Stemcache):
            earned = exact(answer, case.truth.kind)
        else:
            earned = grade(answer, case.truth, clean[case.form])
        column[case.id] = {
            "grade": earned,
            "said": [alarm.words for alarm in answer.alarms],
            **({"refused": answer.refused} if answer.refused is not None else {}),
        }
    grades = Counter(each["grade"] for each in column.values())
    print(f"{linter.name:16}", ", ".join(f"{n} {name}" for name, n in grades.most_common()))
    return column


def main() -> None:
    """Ask, print, and write what came out."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--peers", type=Path, help="virtual environment with the other linters")
    parser.add_argument("--pairs", type=Path, help="write the pairs there, and ask nobody")
    parser.add_argument("--linters", default="", help="renew only these columns; commas between")
    parser.add_argument("--only", default="", help="pairs whose name has this; writes no results")
    asked = parser.parse_args()
    if asked.pairs is not None:
        asked.pairs.mkdir(parents=True, exist_ok=True)
        for case in CASES:
            one_a_line(asked.pairs / f"{case.id}.jsonl", case.make())
        return
    chosen = set(asked.linters.split(",")) if asked.linters else None
    linters: list[Linter] = [Stemcache()] if chosen is None or "stemcache" in chosen else []
    versions = {"stemcache": __version__}
    if asked.peers is not None:
        environment = Environment(asked.peers.resolve())
        kinds = [kind for kind in PEERS if chosen is None or kind.name in chosen]
        versions |= {kind.name: environment.version(kind.name) for kind in kinds}
        linters += [kind(environment) for kind in kinds]
    columns = {linter.name: _column(linter, asked.only) for linter in linters}
    if asked.only:
        print(json.dumps(columns, indent=1))
    elif asked.peers is not None or chosen is not None:
        cases = [
            {"id": case.id, "form": case.form, "title": case.title, "kind": case.truth.kind}
            for case in CASES
        ]
        if chosen is not None:
            kept = json.loads(RESULTS.read_text(encoding="utf-8"))
            versions, columns = kept["versions"] | versions, kept["said"] | columns
        report = {"machine": machine(), "versions": versions, "cases": cases, "said": columns}
        RESULTS.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
