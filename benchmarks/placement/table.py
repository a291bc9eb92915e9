"""The results as tables for `docs/design/placement.md`.

python -m benchmarks.placement.table
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["main"]

RESULTS = Path(__file__).with_name("results.json")
_COLUMNS = {
    "anthropic": (
        ("litellm-system", "litellm-default"),
        ("pydantic-auto", "pydantic-cache", "pydantic-1h"),
    ),
    "openai": (
        ("litellm-plain-openai", "litellm-system-openai", "litellm-system-last-openai"),
        ("pydantic-plain-openai", "pydantic-cache-openai"),
    ),
}


def _lines(rows: list[dict[str, Any]], provider: str) -> Iterator[str]:
    groups = _COLUMNS[provider]
    names = [name for group in groups for name in (*group, "ours")]
    yield "| model, pace | minimum | system | " + " | ".join(names) + " |"
    yield "|---" * 3 + "|--:" * len(names) + "|"
    cells = {
        (row["model"], row["pace"], row["system_times"]): row
        for row in rows
        if row["provider"] == provider
    }
    for (model, pace, times), first in cells.items():
        texts = []
        for group in groups:
            found = [_row(rows, (model, pace, times), mode) for mode in group]
            least = found[0]["promised"]["ours"]["usd"]
            texts += [f"{one['promised']['theirs']['usd']:.2f}" for one in found]
            texts.append(f"**{least:.2f}**")
        yield (
            f"| {model}, {pace} | {first['minimum_tokens']:,} | {first['system_tokens']:,} | "
            + " | ".join(texts)
            + " |"
        )


def _row(rows: list[dict[str, Any]], key: tuple[str, str, int], mode: str) -> dict[str, Any]:
    for row in rows:
        if (row["model"], row["pace"], row["system_times"]) == key and row["mode"] == mode:
            return row
    raise LookupError(f"results.json has no row for {mode} at {key}; run the benchmark anew")


def main() -> None:
    """Prints both tables."""
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"]
    for provider in _COLUMNS:
        print("\n".join(_lines(rows, provider)), end="\n\n")


if __name__ == "__main__":
    main()
