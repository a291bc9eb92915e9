"""What `stemcache route explain` shows: a gateway's answer as a line, or as tables."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["line_of", "show"]

_SEEN = ("replica", "cached", "slower tier", "in flight", "waiting tokens", "busy")
_PARTS = ("copy", "pressure", "turn", "place")
"""Of a cost, beside the wait."""


def _tenant(answer: dict[str, Any]) -> str | None:
    """Whose request was explained; None where nobody is told apart."""
    if not answer.get("tenants"):
        return None
    tenant = answer.get("tenant")
    return tenant if isinstance(tenant, str) else "none"


def line_of(answer: dict[str, Any]) -> str:
    """Replica, reason and figures in one line."""
    decision = answer.get("decision")
    tenant = _tenant(answer)
    whose = "" if tenant is None else f" tenant={tenant}"
    if not isinstance(decision, dict):
        return f"no replica can take it{whose}"
    cached = decision.get("predicted_cached_tokens")
    return (
        f"{decision.get('replica')} {decision.get('reason')} "
        f"cached={'unknown' if cached is None else cached} "
        f"prompt={decision.get('prompt_tokens')} runner-up={decision.get('runner_up')}{whose}"
    )


def show(console: Console, answer: dict[str, Any]) -> None:
    """All of it: the choice, every replica that could be chosen, and why others could not."""
    decision = answer.get("decision")
    if isinstance(decision, dict):
        console.print(Text(f"{decision.get('replica')}: {decision.get('reason')}", style="bold"))
        rows = _rows(decision)
    else:
        console.print(Text("no replica can take it", style="bold"))
        rows = []
    rows.append(("policy", str(answer.get("policy"))))
    if (tenant := _tenant(answer)) is not None:
        hint = "; no tenant's request goes by this: say whose it is with --tenant"
        rows.append(("tenant", tenant if answer.get("tenant") is not None else tenant + hint))
    if answer.get("unread"):
        rows.append(("not read", str(answer["unread"])))
    table = Table.grid(padding=(0, 2))
    for name, value in rows:
        table.add_row(Text(name, style="dim"), Text(value))
    console.print(table)
    console.print()
    seats = [seat for seat in answer.get("seats") or () if isinstance(seat, dict)]
    if seats:
        console.print(_seats(seats))
        console.print()
        console.print(_costs(seats))
    for name, why in (answer.get("left_out") or {}).items():
        console.print(Text(f"{name}: {why}", style="dim"))


def _seats(seats: list[dict[str, Any]]) -> Table:
    """What was seen of each."""
    table = _table(_SEEN)
    for seat in seats:
        table.add_row(
            Text(str(seat.get("replica"))),
            _number(seat.get("cached_tokens")),
            _number(seat.get("slow_tier_tokens")),
            _number(seat.get("in_flight")),
            _number(seat.get("waiting_tokens")),
            f"{seat.get('utilization', 0):.0%}",
        )
    return table


def _costs(seats: list[dict[str, Any]]) -> Table:
    """How long the request would wait at each, and what else the policy weighs."""
    costs = [
        parts if isinstance(parts := seat.get("cost_parts_ms"), dict) else {} for seat in seats
    ]
    told = [part for part in _PARTS if any(cost.get(part) for cost in costs)]
    table = _table(["replica", "wait", *told, *(["cost"] if any(costs) else [])])
    for seat, cost in zip(seats, costs, strict=True):
        cells = [seat.get("predicted_ttft_ms"), *(cost.get(part) for part in told)]
        cells += [seat.get("cost_ms")] if any(costs) else []
        table.add_row(Text(str(seat.get("replica"))), *map(_ms, cells))
    return table


def _table(heads: Sequence[str]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for at, head in enumerate(heads):
        table.add_column(head, justify="right" if at else "left")
    return table


def _rows(decision: dict[str, Any]) -> list[tuple[str, str]]:
    about = "" if decision.get("tokens_exact") else "about "
    cached = decision.get("predicted_cached_tokens")
    following = "none"
    if decision.get("runner_up") is not None:
        following = f"{decision['runner_up']}, {_number(decision.get('runner_up_ttft_ms'))} ms"
    return [
        ("prompt", about + _tokens(decision.get("prompt_tokens"))),
        (
            "believed cached",
            "not looked for"
            if cached is None
            else f"{_tokens(cached)}, from {decision.get('source')}",
        ),
        ("predicted TTFT", f"{_number(decision.get('predicted_ttft_ms'))} ms"),
        ("next best", following),
    ]


def _tokens(value: object) -> str:
    return f"{_number(value)} token" + ("" if value == 1 else "s")


def _ms(value: object) -> str:
    return f"{value:,.1f} ms" if isinstance(value, int | float) else "unknown"


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else "unknown"
