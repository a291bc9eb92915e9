"""A simulation as people read it."""

from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from stemcache.cli.durations import lasting

__all__ = ["concise_lines", "show_simulation"]

_BAR_CELLS = 12
_MOST_TENANTS = 20


def show_simulation(out: Console, answer: dict[str, Any]) -> None:
    """Facts about the trace, a row for each cache, what follows from them."""
    out.print(
        Group(*_facts(answer), "", _results(answer), *_tenants(answer), "", *_reading(answer))
    )


def concise_lines(answer: dict[str, Any]) -> list[str]:
    """A line for each cache, to grep."""
    ideal = answer["ideal"]
    lines = [f"ideal block={_rate(ideal['block_hit_rate'])} token={_rate(ideal['token_hit_rate'])}"]
    lines += [
        f"{row['policy']} capacity={_or_inf(row['capacity_blocks'])} ttl={_or_inf(row['ttl_s'])} "
        f"block={_rate(row['block_hit_rate'])} token={_rate(row['token_hit_rate'])}"
        for row in answer["results"]
    ]
    return lines


def _facts(answer: dict[str, Any]) -> list[Text]:
    unit, size = answer["unit"], answer["block_size"]
    ideal = answer["ideal"]
    alone = answer["caches"] != "one"
    lasts = f"{'sessions of up to' if alone else 'over'} {lasting(answer['span_s'])}"
    if answer["without_time"]:
        lasts = "without times"
    lines = [
        (
            f"{answer['trace']}: {answer['requests']:,} requests, {lasts}, "
            f"{answer['prompt_tokens']:,} prompt {unit}, "
            f"{answer['distinct_blocks']:,} distinct blocks of {size:,}"
        ),
        (
            f"ideal hit rate {_percent(ideal['token_hit_rate'])} of {unit}, "
            f"{_percent(ideal['block_hit_rate'])} of blocks: what an unbounded cache finds, "
            "from cold"
        ),
    ]
    if alone:
        lines.append(
            "times count from the start of each session, so each session has a cache of its own; "
            "--multiplex puts them on one clock"
        )
    late = answer["out_of_order"]
    if late["requests"]:
        lines.append(
            f"{late['requests']:,} requests stand behind later ones in the file, up to "
            f"{lasting(late['furthest_back_s'])}; they were taken in the file's order"
        )
    return [Text(line) for line in lines]


def _results(answer: dict[str, Any]) -> Table:
    rows, unit = answer["results"], answer["unit"]
    timed = any(row["ttl_s"] is not None for row in rows)
    tiers = any("second_tier" in row for row in rows)
    pings = any("keep_alive" in row for row in rows)
    regret = any("regret" in row for row in rows)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("policy", no_wrap=True)
    for title, wanted in (
        ("blocks", True),
        (unit, True),
        ("lives", timed),
        ("hit rate", True),
    ):
        if wanted:
            table.add_column(title, justify="right", no_wrap=True)
    if not regret:
        table.add_column("", no_wrap=True)
    for title, wanted in (
        ("of ideal", True),
        ("of blocks", True),
        ("regret", regret),
        ("computed", regret),
        ("second tier", tiers),
        ("keep-alives", pings),
    ):
        if wanted:
            table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        capacity = row["capacity_blocks"]
        cells: list[str] = [
            row["policy"],
            "no bound" if capacity is None else f"{capacity:,}",
            "" if capacity is None else _short(capacity * answer["block_size"]),
        ]
        if timed:
            cells.append("no bound" if row["ttl_s"] is None else lasting(row["ttl_s"]))
        cells += [
            _percent(row["token_hit_rate"]),
            *([] if regret else ["━" * round(_BAR_CELLS * (row["token_hit_rate"] or 0))]),
            _percent(row["efficiency"]),
            _percent(row["block_hit_rate"]),
        ]
        if regret:
            lost = row.get("regret") or {}
            computed = lost.get("computed_over_optimum")
            cells += [
                _percent(lost.get("block_hit_rate")),
                "" if computed is None else f"{computed:.2f}x",
            ]
        if tiers:
            cells.append(_percent((row.get("second_tier") or {}).get("block_hit_rate")))
        if pings:
            cells.append(f"{(row.get('keep_alive') or {}).get('requests', 0):,}")
        table.add_row(*cells)
    return table


def _tenants(answer: dict[str, Any]) -> list[RenderableType]:
    tenants = answer["ideal"]["tenants"]
    if not tenants:
        return []
    rows = [row for row in answer["results"] if row["tenants"]]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("tenant")
    table.add_column("requests", justify="right")
    table.add_column("ideal", justify="right")
    for row in rows:
        capacity = row["capacity_blocks"]
        parts = [row["policy"], "no bound" if capacity is None else f"{capacity:,}"]
        if row["ttl_s"] is not None:
            parts.append(lasting(row["ttl_s"]))
        table.add_column("\n".join(parts), justify="right")
    largest = sorted(tenants, key=lambda name: -tenants[name]["prompt_tokens"])[:_MOST_TENANTS]
    for name in largest:
        table.add_row(
            Text(name or "(none)"),
            f"{tenants[name]['requests']:,}",
            _percent(tenants[name]["token_hit_rate"]),
            *(_percent((row["tenants"].get(name) or {}).get("token_hit_rate")) for row in rows),
        )
    shown: list[RenderableType] = ["", table]
    if len(tenants) > len(largest):
        shown.append(
            f"and {len(tenants) - len(largest):,} smaller tenants: --output-format json has them"
        )
    return shown


def _reading(answer: dict[str, Any]) -> list[str]:
    """What the LRU curve says, in a sentence."""
    curve, ideal = answer["lru_curve"], answer["ideal"]["token_hit_rate"]
    if not ideal:
        return ["No prompt begins as an earlier one does: no cache of prefixes will help."]
    points = list(zip(curve["capacity_blocks"], curve["token_hit_rate"], strict=True))
    said = []
    for share in (0.5, 0.95):
        needed = next((blocks for blocks, rate in points if rate >= share * ideal), None)
        if needed is not None:
            room = f"{needed * answer['block_size']:,} {answer['unit']}"
            said.append(f"{share:.0%} of the ideal at {needed:,} blocks ({room})")
    each = "" if answer["caches"] == "one" else " a session"
    return [f"lru reaches {' and '.join(said)}{each}."] if said else []


def _rate(rate: float | None) -> str:
    return "unknown" if rate is None else f"{rate:.6f}"


def _or_inf(value: float | None) -> str:
    return "inf" if value is None else f"{value:g}"


def _percent(rate: float | None) -> str:
    return "" if rate is None else f"{rate:.1%}"


def _short(number: int) -> str:
    """Three digits or so, with a prefix."""
    for prefix, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.3g}{prefix}"
    return str(number)
