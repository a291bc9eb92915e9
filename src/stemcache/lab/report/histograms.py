"""Bars: how long and how far apart the uses of a block are."""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from stemcache.lab.report.drawing import FAINT, INK, SERIES, count_axis, draw, share_axis
from stemcache.lab.report.parts import Cell, Column, Plot, Table
from stemcache.lab.report.scale import thinned
from stemcache.lab.report.wording import compact, count, lasting, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["reuse_distances", "reuse_times"]

_PROVIDER_TTLS_S = (60, 300, 3600)
"""Usual times to live at API providers; marks to read the picture by."""
_SLANTED: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}


def reuse_times(answer: dict[str, Any]) -> Plot:
    """Blocks used again, by the time since their last use."""
    upto, blocks = answer["reuse_time"]["upto_s"], answer["reuse_time"]["blocks"]
    title = "Time between uses"
    if not answer["span_s"]:
        return Plot("reuse-time", title, "All requests came at one moment.", "", "")
    if not sum(blocks):
        return Plot("reuse-time", title, "No block was used twice.", "", "")
    last = max(number for number, each in enumerate(blocks) if each)
    # The marks are worth seeing also where all is reused sooner.
    marked = [at for at, edge in enumerate(upto) if edge in _PROVIDER_TTLS_S]
    shown = max([last + 1, *(at + 1 for at in marked)])
    bins, edges = blocks[:shown], ["0"]
    edges += ["longer" if edge is None else lasting(edge) for edge in upto[:shown]]
    marks = {at + 1: edges[at + 1] for at in marked}
    covered = "; ".join(
        f"{percent(sum(blocks[: at + 1]) / sum(blocks))} within {edges[at + 1]}" for at in marked
    )
    svg = draw("reuse-time", _bars(bins, edges, marks, "time since the last use"), height_pt=250)
    names = [
        f"{low} to {high}" if high != "longer" else f"longer than {low}"
        for low, high in pairwise(edges)
    ]
    return Plot(
        "reuse-time",
        title,
        f"Of the blocks that were used again, {covered}. The marks are times to live that API "
        "providers offer; the line adds up the bars."
        if covered
        else "The line adds up the bars.",
        f"Blocks used again, by the time since their last use: {covered}.",
        svg,
        _table("Blocks used again, by time", "time since the last use", names, bins),
    )


def reuse_distances(answer: dict[str, Any]) -> Plot:
    """Blocks used again, by how many different ones were used in between."""
    starts, blocks = answer["reuse_distance"]["from_blocks"], answer["reuse_distance"]["blocks"]
    unit, size = answer["unit"], answer["block_size"]
    title = "Distance between uses"
    total = sum(blocks)
    if not total:
        return Plot("reuse-distance", title, "No block was used twice.", "", "")
    # Each bin is twice as wide as the one before it, the last too.
    edges = [*starts, 2 * starts[-1]]
    half = next(at for at, upto in enumerate(accumulate(blocks)) if 2 * upto >= total)
    middle = f"{count(edges[half + 1] - 1)} blocks ({count((edges[half + 1] - 1) * size)} {unit})"
    plot = _bars(
        blocks,
        [compact(edge) for edge in edges],
        {},
        "distance in blocks",
        above=([compact(edge * size) for edge in edges], f"distance in {unit}"),
    )
    columns = [
        f"{count(low)} to {count(high - 1)}" if high - low > 1 else count(low)
        for low, high in pairwise(edges)
    ]
    held = [f"{count(low * size)}" for low in starts]
    return Plot(
        "reuse-distance",
        title,
        f"How large a cache lru needs to still have a block that is used again: for half of them, "
        f"at most {middle}. The line adds up the bars.",
        f"Blocks used again, by the number of different blocks used in between; half of them "
        f"within {middle}.",
        draw("reuse-distance", plot, height_pt=265),
        _table(
            "Blocks used again, by distance",
            "distance in blocks",
            columns,
            blocks,
            (f"from, in {unit}", held),
        ),
    )


def _bars(
    blocks: Sequence[int],
    edges: Sequence[str],
    marks: Mapping[int, str],
    label: str,
    *,
    above: tuple[Sequence[str], str] | None = None,
) -> Callable[["Figure"], None]:
    """Bars of one width between named edges, marks at some edges, and the running share."""

    def plot(figure: "Figure") -> None:
        axes = figure.add_subplot()
        places = [float(place) for place in range(len(edges))]
        axes.bar(places[:-1], blocks, width=0.9, align="edge", color=SERIES[0], label="blocks")
        ticks = thinned(places, 20)
        axes.set_xticks(ticks, [edges[int(at)] for at in ticks], **_SLANTED)
        axes.set_xlim(-0.1, len(blocks) + 0.1)
        axes.set_xlabel(label)
        count_axis(axes, "blocks used again")
        axes.set_ylim(0, 1.08 * max(blocks))
        for place, word in marks.items():
            axes.axvline(place, color=INK, linewidth=1, linestyle=(0, (2, 2)))
            axes.text(
                place, 1.01, word, ha="center", va="bottom", transform=axes.get_xaxis_transform()
            )
        running = axes.twinx()
        shares = [0.0, *(each / sum(blocks) for each in accumulate(blocks))]
        running.plot(places, shares, color=SERIES[1], marker=".", markersize=4, label="added up")
        running.set_ylim(0, 1.08)
        share_axis(running, "share, added up")
        running.spines[:].set_visible(False)
        axes.tick_params(color=FAINT)
        if above is not None:
            names, title = above
            top = axes.secondary_xaxis("top")
            some = thinned(places, 10)
            top.set_xticks(some, [names[int(at)] for at in some])
            top.set_xlabel(title, labelpad=6)

    return plot


def _table(
    caption: str,
    first: str,
    names: Sequence[str],
    blocks: Sequence[int],
    second: tuple[str, Sequence[str]] | None = None,
) -> Table:
    columns = [Column(first)]
    columns += [Column(second[0])] if second else []
    columns += [Column("blocks"), Column("share"), Column("added up")]
    total, rows = sum(blocks), []
    for at, (each, upto) in enumerate(zip(blocks, accumulate(blocks), strict=True)):
        cells = [Cell(names[at])]
        cells += [Cell(second[1][at])] if second else []
        cells += [Cell(count(each)), Cell(percent(each / total), each / total)]
        rows.append([*cells, Cell(percent(upto / total))])
    return Table(caption, columns, rows)
