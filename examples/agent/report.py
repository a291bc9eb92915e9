"""The figures of a comparison as tables, and put where the guide quotes them.

A quoted table stands between `<!-- examples.agent: NAME -->` and `<!-- end -->`.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["GUIDE", "QUOTED", "RESULTS", "quote", "quoted_tables", "report"]

RESULTS = Path(__file__).with_name("results.json")
GUIDE = Path(__file__).parents[2] / "docs" / "prompt.md"
QUOTED = re.compile(r"(<!-- examples\.agent: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_RUNS = 1_000
"""Of the script, that money is told of."""

Figures = Mapping[str, Any]


def report(figures: Figures) -> str:
    """All figures, for whoever ran the comparison."""
    served = figures["endpoint"]
    head = f"stemcache serve, {served['model']}, {served['requests']} requests"
    parts = [f"{head}; attainable {served['attainable']:.1%}", _endpoint(served)]
    for model, found in figures["rules"].items():
        most, any_order = found["attainable"], found["any_order"]
        head = f"{model}; attainable {most:.1%}, in any order of the same blocks {any_order:.1%}"
        parts += [head, _rule(found)]
    return "\n\n".join(parts)


def quoted_tables(figures: Figures) -> dict[str, str]:
    """Those of the guide, by name, each with where it is from."""
    served, machine = figures["endpoint"], figures["machine"]
    foot = (
        f"\n\n`python -m examples.agent.compare` at {machine['commit']}, {machine['date']}, "
        f"{machine['cpu']}, {machine['cores']} cores, no GPU. "
    )
    endpoint = (
        f"{served['requests']} requests to {served['model']}; attainable are "
        f"{served['attainable']:.1%}; TTFT is the median, with other work on the machine "
        f"(load {served['load']:.1f}).\n"
    )
    most = ", ".join(f"{model} {one['attainable']:.1%}" for model, one in figures["rules"].items())
    return {
        "endpoint": _endpoint(served) + foot + endpoint,
        "rules": _rules(figures["rules"]) + foot + f"Attainable: {most}.\n",
    }


def quote(document: str, tables: Mapping[str, str]) -> str:
    """The document with its quoted tables renewed."""
    return QUOTED.sub(lambda part: part[1] + tables[part[2]] + part[3], document)


def _endpoint(served: Figures) -> str:
    head = ["agent", "prompt tokens", "hit rate", "of attainable", "TTFT, ms"]
    rows = []
    for name, agent in served["agents"].items():
        rate = agent["cached_tokens"] / agent["prompt_tokens"]
        share = rate / served["attainable"]
        tokens, ttft = f"{agent['prompt_tokens']:,}", f"{agent['ttft_ms']:,.0f}"
        rows.append([name, tokens, f"{rate:.1%}", f"{share:.1%}", ttft])
    return _table(head, rows)


def _rule(found: Figures) -> str:
    head = ["agent", "prompt tokens", "hit rate", "of attainable", f"$ for {_RUNS:,} runs"]
    rows = []
    for name, agent in found["agents"].items():
        rate = agent["read_tokens"] / agent["prompt_tokens"]
        rows.append([name, f"{agent['prompt_tokens']:,}", f"{rate:.1%}", *_short(found, agent)])
    return _table(head, rows)


def _rules(rules: Figures) -> str:
    head = ["agent", *(cell for model in rules for cell in (model, f"$ for {_RUNS:,} runs"))]
    names: Sequence[str] = list(next(iter(rules.values()))["agents"])
    rows = [
        [name, *(cell for one in rules.values() for cell in _short(one, one["agents"][name]))]
        for name in names
    ]
    return _table(head, rows)


def _short(found: Figures, agent: Figures) -> tuple[str, str]:
    """Share of what is attainable, and money."""
    rate = agent["read_tokens"] / agent["prompt_tokens"]
    return f"{rate / found['attainable']:.1%}", f"{_RUNS * agent['input_usd']:,.2f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
