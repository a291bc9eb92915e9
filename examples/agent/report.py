"""The figures of a comparison as tables."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["endpoint_table", "report", "rule_table"]

_TIMES = 1_000
"""Money is told of so many runs of the script."""


def report(figures: Mapping[str, Any]) -> str:
    """All tables, in Markdown."""
    served = figures["endpoint"]
    head = f"`stemcache serve`, {served['model']}, {served['requests']} requests"
    parts = [f"{head}; attainable {served['attainable']:.1%}", endpoint_table(figures)]
    for model, found in figures["rules"].items():
        most, any_order = found["attainable"], found["any_order"]
        head = f"{model}; attainable {most:.1%}, in any order of the same blocks {any_order:.1%}"
        parts += [head, rule_table(figures, model)]
    return "\n\n".join(parts)


def endpoint_table(figures: Mapping[str, Any]) -> str:
    """What the server reported, and the times that were taken."""
    served = figures["endpoint"]
    rows = []
    for name, agent in served["agents"].items():
        rate = agent["cached_tokens"] / agent["prompt_tokens"]
        rows.append(
            [
                name,
                f"{agent['prompt_tokens']:,}",
                f"{rate:.1%}",
                f"{rate / served['attainable']:.1%}",
                f"{agent['ttft_ms']:,.0f}",
            ]
        )
    return _table(["agent", "prompt tokens", "hit rate", "of attainable", "TTFT, ms"], rows)


def rule_table(figures: Mapping[str, Any], model: str) -> str:
    """What a provider's rule predicts, and what it costs by the list."""
    found = figures["rules"][model]
    rows = []
    for name, agent in found["agents"].items():
        rate = agent["read_tokens"] / agent["prompt_tokens"]
        rows.append(
            [
                name,
                f"{agent['prompt_tokens']:,}",
                f"{rate:.1%}",
                f"{rate / found['attainable']:.1%}",
                f"{_TIMES * agent['input_usd']:,.2f}",
            ]
        )
    head = ["agent", "prompt tokens", "hit rate", "of attainable", f"$ for {_TIMES:,} runs"]
    return _table(head, rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
