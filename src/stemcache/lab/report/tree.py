"""The prefix tree as an icicle: depth goes down, a stem is as wide as the requests through it.

```
    │ all 12,031 requests                         │
    ├─────────────────────────┬──────────┬────────┤  block 0
    │ 9,000                   │ 1,200    │        │
    ├──────────┬──────┬───────┼─────┬────┘        │
    │ 4,100    │ 300  │       │ 700 │             │  block 12
```

Drawn here rather than by matplotlib: rectangles with a title each, which browsers show on hover.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from stemcache.lab.report.parts import Cell, Column, Plot, Table
from stemcache.lab.report.scale import round_ticks
from stemcache.lab.report.wording import compact, count, percent

__all__ = ["icicle_plot"]

_WIDTH, _LEFT, _RIGHT, _TOP, _HEIGHT = 470.0, 40.0, 46.0, 32.0, 300.0
_LINEAR_UPTO_BLOCKS = 24
_THINNEST = 0.3
_SPARSE, _FILLED = 0.3, 0.9
"""What fills less of its room than the first is magnified until it fills the second."""
_LABEL_WIDTH, _LABEL_HEIGHT = 30.0, 11.0


@dataclass(frozen=True, slots=True)
class _Box:
    """A stem where it is drawn, in units of the picture."""

    x: float
    width: float
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where all stems are drawn."""

    boxes: list[_Box]
    magnified: float
    """How many times as wide as its share the widest exaggeration is; 1 if there is none."""


def icicle_plot(answer: dict[str, Any]) -> Plot:
    """Stems that more than one request went through, as far as the answer has them."""
    bars, unit = answer["prefix_tree"], answer["unit"]
    title = "The prefix tree"
    if not bars:
        return Plot("tree", title, "No two prompts begin alike.", "", "")
    roots = sum(bar["requests"] for bar in bars if bar["parent"] is None)
    total = max(answer["requests"], roots)
    deepest = max(bar["start_blocks"] + bar["blocks"] for bar in bars)
    layout = _boxes(bars, total, deepest)
    boxes = layout.boxes
    thin = sum(box.width < _THINNEST for box in boxes)
    drawn = [
        _rectangle(bar, box, answer, total)
        for bar, box in zip(bars, boxes, strict=True)
        if box.width >= _THINNEST
    ]
    size = f"0 0 {_n(_WIDTH)} {_n(_TOP + _HEIGHT + 8)}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" class="icicle">'
    svg = "\n".join((head, _frame(total), *_depths(deepest, answer), *drawn, "</svg>"))
    largest = max(bars, key=lambda bar: bar["requests"])
    narrow = f" {count(thin)} stems are too narrow to draw; the table has them." if thin else ""
    wider = (
        " Where few requests go on from a stem, what follows is drawn wider than its share, up to "
        f"{layout.magnified:,.0f} times; the percentages are true."
        if layout.magnified > 1
        else ""
    )
    each = "" if answer["caches"] == "one" else " Each session has a tree of its own."
    return Plot(
        "tree",
        title,
        f"Where prompts are alike, and how deep. Depth goes down; a stem is as wide as the share "
        f"of requests that go through it, and the darker the more they are. What one request alone "
        f"has is left blank.{wider}{narrow}{each}",
        f"{count(len(bars))} stems; the widest is shared by {count(largest['requests'])} of "
        f"{count(total)} requests and is {count(largest['blocks'])} blocks long; the deepest ends "
        f"at block {count(deepest)}, which is {count(deepest * answer['block_size'])} {unit}.",
        svg,
        _table(bars, answer, total),
    )


def _boxes(bars: Sequence[dict[str, Any]], total: int, deepest: int) -> _Layout:
    children: dict[int | None, list[int]] = {}
    for number, bar in enumerate(bars):
        children.setdefault(bar["parent"], []).append(number)
    boxes: dict[int, _Box] = {}
    inner = _WIDTH - _LEFT - _RIGHT
    waiting: list[tuple[int | None, float, float, float]] = [(None, _LEFT, inner, inner / total)]
    most = 1.0
    while waiting:
        parent, x, room, scale = waiting.pop()
        family = sorted(children.get(parent, ()), key=lambda each: -bars[each]["requests"])
        filled = scale * sum(bars[number]["requests"] for number in family)
        if 0 < filled < _SPARSE * room:
            scale *= _FILLED * room / filled
            most = max(most, scale * total / inner)
        for number in family:
            bar = bars[number]
            width = scale * bar["requests"]
            top = _depth(bar["start_blocks"], deepest)
            bottom = _depth(bar["start_blocks"] + bar["blocks"], deepest)
            boxes[number] = _Box(x, width, _TOP + top, bottom - top)
            waiting.append((number, x, width, scale))
            x += width
    return _Layout([boxes[number] for number in range(len(bars))], most)


def _depth(blocks: int, deepest: int) -> float:
    """How far down a depth stands; the first blocks get the most room in a deep tree."""
    if deepest <= _LINEAR_UPTO_BLOCKS:
        return _HEIGHT * blocks / deepest
    return _HEIGHT * math.log1p(blocks) / math.log1p(deepest)


def _frame(total: int) -> str:
    inner = _WIDTH - _LEFT - _RIGHT
    return (
        f'<rect class="all" x="{_n(_LEFT)}" y="{_n(_TOP - 16)}" width="{_n(inner)}" height="15"/>'
        f'<text x="{_n(_LEFT + inner / 2)}" y="{_n(_TOP - 5)}" text-anchor="middle">'
        f"all {count(total)} requests</text>"
    )


def _depths(deepest: int, answer: dict[str, Any]) -> list[str]:
    """Depth in blocks on the left, in tokens on the right, and lines between."""
    ticks = [0, *dict.fromkeys(int(tick) for tick in round_ticks(1, deepest) if tick >= 1)]
    right = _WIDTH - _RIGHT
    lines = [
        f'<text x="{_n(_LEFT - 4)}" y="10" text-anchor="end">blocks</text>',
        f'<text x="{_n(right + 4)}" y="10">{escape(answer["unit"])}</text>',
    ]
    free = -math.inf
    for tick in ticks:
        y = _TOP + _depth(tick, deepest)
        if y < free:
            continue
        free = y + 10
        lines.append(
            f'<line x1="{_n(_LEFT)}" x2="{_n(right)}" y1="{_n(y)}" y2="{_n(y)}"/>'
            f'<text x="{_n(_LEFT - 4)}" y="{_n(y + 3)}" text-anchor="end">{compact(tick)}</text>'
            f'<text x="{_n(right + 4)}" y="{_n(y + 3)}">'
            f"{compact(tick * answer['block_size'])}</text>"
        )
    return lines


def _rectangle(bar: dict[str, Any], box: _Box, answer: dict[str, Any], total: int) -> str:
    share = bar["requests"] / total
    stop, size = bar["start_blocks"] + bar["blocks"], answer["block_size"]
    title = (
        f"{count(bar['requests'])} requests ({percent(share)}), "
        f"blocks {count(bar['start_blocks'])} to {count(stop - 1)}: "
        f"{count(bar['blocks'])} blocks, {count(bar['blocks'] * size)} {answer['unit']}"
    )
    # Light enough, at its darkest, for text upon it.
    darkness = 0.25 + 0.35 * math.log(bar["requests"]) / math.log(max(2, total))
    drawn = (
        f'<rect class="stem" x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" '
        f'height="{_n(box.height)}" fill-opacity="{darkness:.2f}">'
        f"<title>{escape(title)}</title></rect>"
    )
    if box.width < _LABEL_WIDTH or box.height < _LABEL_HEIGHT:
        return drawn
    return (
        f'{drawn}<text class="on-stem" x="{_n(box.x + box.width / 2)}" '
        f'y="{_n(box.y + box.height / 2 + 3)}" text-anchor="middle">{percent(share)}</text>'
    )


def _table(bars: Sequence[dict[str, Any]], answer: dict[str, Any], total: int) -> Table:
    names = ("stem", "follows", "from block", "blocks", answer["unit"], "requests", "share")
    rows = [
        [
            Cell(str(number)),
            Cell("" if bar["parent"] is None else str(bar["parent"] + 1)),
            Cell(count(bar["start_blocks"])),
            Cell(count(bar["blocks"])),
            Cell(count(bar["blocks"] * answer["block_size"])),
            Cell(count(bar["requests"])),
            Cell(percent(bar["requests"] / total), bar["requests"] / total),
        ]
        for number, bar in enumerate(bars, start=1)
    ]
    return Table("Stems, parents before what follows them", [*map(Column, names)], rows)


def _n(number: float) -> str:
    """A coordinate, without digits that nobody sees."""
    return f"{number:.2f}".rstrip("0").rstrip(".")
