"""Lines: the miss ratio at every capacity, the hit rate at every time to live."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from stemcache.lab.question import OPTIMA
from stemcache.lab.report.drawing import FAINT, INK, MARKERS, SERIES, draw, share_axis
from stemcache.lab.report.parts import Cell, Column, Plot, Table
from stemcache.lab.report.scale import LogScale, log_scale, round_ticks, thinned
from stemcache.lab.report.wording import (
    capacity_of,
    compact,
    count,
    lasting,
    lives,
    percent,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["lifetimes", "miss_ratios"]

_MOST_SERIES = 8
_LEAST_RANGE = 0.1
"""Of the y axis: less would make a cliff of a tenth of a percent."""
_Points = list[tuple[float | None, float]]


def miss_ratios(answer: dict[str, Any]) -> Plot:
    """The whole curve of lru, and a point for each other cache."""
    unit, size, ideal = answer["unit"], answer["block_size"], answer["ideal"]["token_hit_rate"]
    curve = answer["lru_curve"]
    lru: _Points = _known(zip(curve["capacity_blocks"], curve["token_hit_rate"], strict=True))
    series: dict[str, _Points] = {}
    for row in answer["results"]:
        if row["token_hit_rate"] is not None:
            point = (row["capacity_blocks"], row["token_hit_rate"])
            series.setdefault(_kind(row), []).append(point)
    capacities = [at for at, _ in lru] + [at for each in series.values() for at, _ in each]
    scale = log_scale(capacities)
    ticks = round_ticks(scale.low, scale.high)

    def plot(figure: "Figure") -> None:
        axes = figure.add_subplot()
        scale.put_on(axes, ticks, compact)
        axes.set_xlabel("capacity in blocks")
        share_axis(axes, f"miss ratio (computed {unit})")
        if lru:
            xs, ys = [scale.at(at) for at, _ in lru], [1 - rate for _, rate in lru]
            # A cache that is larger than the last point finds as much.
            axes.plot(
                [*xs, scale.high], [*ys, ys[-1]], color=SERIES[0], label="lru, all capacities"
            )
        if ideal is not None:
            axes.axhline(1 - ideal, color=INK, linewidth=1, linestyle=(0, (4, 3)), label="ideal")
        joined = {name for name in series if name in OPTIMA}
        _mark(axes, scale, {name: _missed(points) for name, points in series.items()}, joined)
        lowest = min([1 - rate for each in (lru, *series.values()) for _, rate in each], default=0)
        lowest = min(lowest, 1 if ideal is None else 1 - ideal)
        shown = max(1 - lowest, _LEAST_RANGE)
        axes.set_ylim(max(1 - 1.1 * shown, -0.02), 1 + 0.02 * shown)
        right = axes.secondary_yaxis("right", functions=(_other_share, _other_share))
        share_axis(right, "hit rate")  # type: ignore[arg-type]  # secondary axes are axes
        top = axes.secondary_xaxis("top", functions=(lambda x: x * size, lambda x: x / size))
        held = round_ticks(scale.low * size, scale.high * size)
        top.set_xticks(held, [compact(tick) for tick in held])
        top.set_xticks([], minor=True)
        top.set_xlabel(f"capacity in {unit}", labelpad=6)
        axes.grid(visible=True)
        _legend(figure, axes)

    rows = [
        [
            Cell(count(blocks)),
            Cell(count(blocks * size)),
            Cell(percent(rate)),
            Cell(_left(rate)),
            Cell(percent(blocks_rate)),
        ]
        for blocks, rate, blocks_rate in zip(
            curve["capacity_blocks"], curve["token_hit_rate"], curve["block_hit_rate"], strict=True
        )
    ]
    names = ("blocks", unit, "hit rate", "miss ratio", "block hit rate")
    each = "" if answer["caches"] == "one" else " Capacities are those of one session's cache."
    return Plot(
        "miss-ratio",
        "Miss ratio by capacity",
        f"How much is left to compute with so large a cache. Lower is better; the dashed line is "
        f"the least that any cache leaves. The points are the rows of the results.{each}",
        _said_of_curve(answer, lru, series),
        draw("miss-ratio", plot, height_pt=300 + 12 * (len(series) // 3)),
        Table("lru at every capacity", [Column(name) for name in names], rows),
    )


def lifetimes(answer: dict[str, Any]) -> Plot | None:
    """Hit rate by time to live; None where no row has one."""
    rows = answer["results"]
    if all(row["ttl_s"] is None for row in rows):
        return None
    known = [row for row in rows if row["token_hit_rate"] is not None]
    series: dict[str, _Points] = {}
    for row in known:
        name = capacity_of(row["capacity_blocks"])
        name = f"capacity {name}" if row["capacity_blocks"] is None else f"{name} blocks"
        series.setdefault(name, []).append((row["ttl_s"], row["token_hit_rate"]))
    scale = log_scale(row["ttl_s"] for row in rows)
    asked = sorted({row["ttl_s"] for row in rows if row["ttl_s"] is not None})
    ideal = answer["ideal"]["token_hit_rate"]

    def plot(figure: "Figure") -> None:
        axes = figure.add_subplot()
        scale.put_on(axes, thinned(asked, 7), lasting)
        axes.set_xlabel("time to live")
        share_axis(axes, f"hit rate (cached {answer['unit']})")
        if ideal is not None:
            axes.axhline(ideal, color=INK, linewidth=1, linestyle=(0, (4, 3)), label="ideal")
        _mark(axes, scale, series, set(series))
        axes.set_ylim(-0.02, 1.02)
        axes.grid(visible=True)
        _legend(figure, axes)

    columns = [Column("time to live"), Column("capacity in blocks")]
    columns += [Column("hit rate"), Column("block hit rate")]
    table = [
        [
            Cell(lives(row["ttl_s"])),
            Cell(capacity_of(row["capacity_blocks"])),
            Cell(percent(row["token_hit_rate"])),
            Cell(percent(row["block_hit_rate"])),
        ]
        for row in rows
    ]
    ends = [(lives(row["ttl_s"]), percent(row["token_hit_rate"])) for row in (rows[0], rows[-1])]
    return Plot(
        "lifetimes",
        "Hit rate by time to live",
        "What is left of the hit rate when a block is given up so long after its last use."
        if all(row.get("refresh", True) for row in rows)
        else "What is left of the hit rate when a block is given up so long after it was computed.",
        f"Hit rate against time to live for {len(series)} capacities: "
        + ", ".join(f"{rate} at {ttl}" for ttl, rate in ends)
        + f"; the ideal is {percent(ideal)}.",
        draw("lifetimes", plot, height_pt=240 + 12 * (len(series) // 3)),
        Table("Hit rate by time to live and capacity", columns, table),
    )


def _mark(axes: "Axes", scale: LogScale, series: dict[str, _Points], joined: set[str]) -> None:
    """A colour and a marker for each of the first few; those after them share one."""
    for number, (name, points) in enumerate(series.items()):
        own = number < _MOST_SERIES
        label = shortened(name) if own else None
        if number == _MOST_SERIES:
            label = f"{len(series) - _MOST_SERIES} others"
        ordered = sorted((scale.at(at), rate) for at, rate in points)
        axes.plot(
            [at for at, _ in ordered],
            [rate for _, rate in ordered],
            color=SERIES[number % len(SERIES)] if own else FAINT,
            marker=MARKERS[number % len(MARKERS)] if own else ".",
            markersize=5,
            linewidth=1 if name in joined else 0,
            label=label,
            clip_on=False,
        )


def _legend(figure: "Figure", axes: "Axes") -> None:
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=3)


def _kind(row: dict[str, Any]) -> str:
    if "second_tier" in row:
        return f"{row['policy']}, two tiers"
    return row["policy"] if row["ttl_s"] is None else f"{row['policy']}, {lives(row['ttl_s'])}"


def _known(pairs: Iterable[tuple[float, float | None]]) -> _Points:
    return [(at, rate) for at, rate in pairs if rate is not None]


def _missed(points: _Points) -> _Points:
    return [(at, 1 - rate) for at, rate in points]


def _other_share(share: Any) -> Any:
    return 1 - share


def _said_of_curve(answer: dict[str, Any], lru: _Points, series: dict[str, _Points]) -> str:
    ideal = answer["ideal"]["token_hit_rate"]
    said = [f"Miss ratio against capacity; the ideal leaves {_left(ideal)} to compute."]
    if lru:
        (first, first_rate), (last, last_rate) = lru[0], lru[-1]
        said.append(
            f"With lru it goes from {_left(first_rate)} at {first:,} blocks to "
            f"{_left(last_rate)} at {last:,} blocks."
        )
    if series:
        said.append(f"Points for {', '.join(shortened(name) for name in series)}.")
    return " ".join(said)


def _left(rate: float | None) -> str:
    return percent(None if rate is None else 1 - rate)
