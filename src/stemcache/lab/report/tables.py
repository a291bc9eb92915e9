"""The rows of a simulation, and of its tenants, as tables."""

from typing import Any

from stemcache.lab.report.parts import Cell, Column, Table
from stemcache.lab.report.wording import capacity_of, count, lives, percent, points, times

__all__ = ["results_table", "row_name", "tenants_table"]

_MOST_TENANTS = 50
_MOST_ROWS_A_TENANT = 8


def row_name(row: dict[str, Any]) -> str:
    """A row's cache, in a few words."""
    parts = [f"{row['policy']}, {capacity_of(row['capacity_blocks'])}"]
    if row["capacity_blocks"] is not None:
        parts.append(" blocks")
    if row["ttl_s"] is not None:
        parts.append(f", {lives(row['ttl_s'])}")
    return "".join(parts)


def results_table(answer: dict[str, Any]) -> Table:
    """All rows; a column only where a row fills it."""
    rows, unit = answer["results"], answer["unit"]
    timed = any(row["ttl_s"] is not None for row in rows)
    regret = any("regret" in row for row in rows)
    tiers = any("second_tier" in row for row in rows)
    pings = any("keep_alive" in row for row in rows)
    names = ["blocks", unit]
    names += ["time to live"] if timed else []
    names += ["hit rate", "of ideal", "block hit rate"]
    names += ["below optimum", "computed / optimum"] if regret else []
    names += ["second tier, blocks", "of it second tier"] if tiers else []
    names += ["keep-alive requests", f"cached {unit} they read"] if pings else []
    names += ["cached blocks", f"cached {unit}", f"computed {unit}"]
    table: list[list[Cell]] = []
    for row in rows:
        capacity = row["capacity_blocks"]
        held = "" if capacity is None else count(capacity * answer["block_size"])
        cells = [Cell(row["policy"]), Cell(capacity_of(capacity)), Cell(held)]
        if timed:
            cells.append(Cell(lives(row["ttl_s"])))
        efficiency = row["efficiency"]
        cells += [
            _rate(row["token_hit_rate"]),
            Cell("" if efficiency is None else percent(efficiency)),
            Cell(percent(row["block_hit_rate"])),
        ]
        if regret:
            lost = row.get("regret") or {}
            cells.append(Cell(points(lost.get("block_hit_rate"))))
            cells.append(Cell(times(lost.get("computed_over_optimum"))))
        if tiers:
            second = row.get("second_tier")
            cells.append(Cell(count(second["capacity_blocks"]) if second else ""))
            cells.append(Cell(percent(second["block_hit_rate"]) if second else ""))
        if pings:
            kept = row.get("keep_alive")
            cells.append(Cell(count(kept["requests"]) if kept else ""))
            cells.append(Cell(count(kept["cached_tokens_read"]) if kept else ""))
        cells += [Cell(count(row[key])) for key in ("hit_blocks", "hit_tokens", "computed_tokens")]
        table.append(cells)
    columns = [Column("policy", numeric=False), *map(Column, names)]
    return Table("A row for each cache", columns, table, _notes(rows))


def tenants_table(answer: dict[str, Any]) -> Table | None:
    """The largest tenants by prompt tokens; None where the trace names none."""
    tenants = answer["ideal"]["tenants"]
    if not tenants:
        return None
    told = [row for row in answer["results"] if row["tenants"]]
    shown = told[:_MOST_ROWS_A_TENANT]
    order = sorted(tenants, key=lambda name: (-tenants[name]["prompt_tokens"], name))
    largest, rest = order[:_MOST_TENANTS], order[_MOST_TENANTS:]
    columns = [Column("tenant", numeric=False), Column("requests")]
    columns += [Column(f"prompt {answer['unit']}"), Column("ideal")]
    columns += [Column(row_name(row)) for row in shown]
    table: list[list[Cell]] = []
    for name in largest:
        facts = tenants[name]
        cells = [Cell(name or "(none)"), Cell(count(facts["requests"]))]
        cells += [Cell(count(facts["prompt_tokens"])), _rate(facts["token_hit_rate"])]
        cells += [
            _rate(row["tenants"][name]["token_hit_rate"]) if name in row["tenants"] else Cell("")
            for row in shown
        ]
        table.append(cells)
    notes = ["Rates are hit rates: of a tenant's own tokens."]
    if rest:
        requests = sum(tenants[name]["requests"] for name in rest)
        tokens = sum(tenants[name]["prompt_tokens"] for name in rest)
        notes.append(
            f"And {count(len(rest))} smaller tenants with {count(requests)} requests and "
            f"{count(tokens)} prompt {answer['unit']}: --output-format json has them."
        )
    if len(told) > len(shown):
        notes.append(
            f"The first {len(shown)} of {count(len(told))} caches are shown: "
            "--output-format json has all."
        )
    return Table("A row for each tenant, largest first", columns, table, notes)


def _rate(rate: float | None) -> Cell:
    return Cell(percent(rate), rate)


def _notes(rows: list[dict[str, Any]]) -> list[str]:
    notes: list[str] = []
    most = sorted({row["keep_alive"]["most_a_prompt"] for row in rows if "keep_alive" in row})
    if most:
        allowed = " or ".join(map(count, most))
        notes.append(f"Keep-alive: at most {allowed} requests after the last use of a prompt.")
    if any(row.get("refresh") is False for row in rows):
        notes.append("Lives count from when a block was computed; no use renews them.")
    return notes
