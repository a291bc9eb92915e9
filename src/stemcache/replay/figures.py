"""The plots of a replay, from a report's columns. Needs matplotlib, imported when called."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stemcache.replay.page import inline_svg
from stemcache.replay.report import Column

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["distributions", "hit_rate_over_time", "in_flight_over_time", "ttft_over_time"]

Floats = npt.NDArray[np.float64]

_BLUE, _RED, _GREY = "#0969da", "#cf222e", "#8c959f"
_BINS = 60
_DOTS_AS_PIXELS = 500
"""More dots than this are drawn as one picture, or the page would be many megabytes."""


def _floats(column: Column) -> Floats:
    """With NaN for what is not known."""
    return np.array([np.nan if value is None else value for value in column], np.float64)


def _figure(height: float = 2.8) -> "tuple[Figure, Axes]":
    from matplotlib.figure import Figure  # noqa: PLC0415  # an extra

    figure = Figure(figsize=(9, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, alpha=0.25)
    return figure, axes


def ttft_over_time(columns: dict[str, Column]) -> str:
    """Each request at the moment it was due; dark ones found much of their prompt cached."""
    due, ttft = _floats(columns["due_s"]), _floats(columns["ttft_s"])
    with np.errstate(invalid="ignore", divide="ignore"):
        share = _floats(columns["cached_tokens"]) / _floats(columns["prompt_tokens"])
    known = np.isfinite(ttft) & (ttft > 0)
    figure, axes = _figure()
    if not known.any():
        axes.set_title("no request was answered", loc="left")
    else:
        coloured = np.isfinite(share[known]).any()
        dots = axes.scatter(
            due[known],
            ttft[known],
            c=np.nan_to_num(share[known]) if coloured else _BLUE,
            cmap="viridis_r" if coloured else None,
            vmin=0 if coloured else None,
            vmax=1 if coloured else None,
            s=7,
            linewidths=0,
            rasterized=int(known.sum()) > _DOTS_AS_PIXELS,
        )
        axes.set_yscale("log")
        if coloured:
            figure.colorbar(dots, ax=axes, label="cached share")
    failed = _floats(columns["failed"]) > 0
    for moment in due[failed][:_DOTS_AS_PIXELS]:
        axes.axvline(moment, color=_RED, linewidth=0.6, alpha=0.4)
    axes.set_xlabel("seconds since the start, when the request was due")
    axes.set_ylabel("TTFT, s")
    return inline_svg(figure, "ttft")


def distributions(columns: dict[str, Column]) -> str:
    """Share of requests that took at most so long."""
    figure, axes = _figure()
    for name, label, colour in (
        ("ttft_s", "TTFT", _BLUE),
        ("e2e_s", "end to end", _RED),
        ("send_lag_s", "send lag", _GREY),
    ):
        values = _floats(columns[name])
        values = np.sort(values[np.isfinite(values) & (values > 0)])
        if len(values):
            axes.step(values, np.arange(1, len(values) + 1) / len(values), label=label, c=colour)
    if axes.lines:
        axes.set_xscale("log")
        axes.legend(loc="lower right", frameon=False)
    axes.set_xlabel("seconds")
    axes.set_ylabel("share of requests")
    return inline_svg(figure, "distributions")


def _edges(due: Floats) -> Floats:
    last = float(due.max()) if len(due) else 0.0
    return np.linspace(0.0, max(last, 1e-3) * (1 + 1e-9), _BINS + 1)


def hit_rate_over_time(columns: dict[str, Column]) -> str:
    """Cached over prompt tokens of the requests due in each sixtieth of the run."""
    due = _floats(columns["due_s"])
    prompt, cached = _floats(columns["prompt_tokens"]), _floats(columns["cached_tokens"])
    known = np.isfinite(prompt) & np.isfinite(cached)
    edges = _edges(due)
    sums, _ = np.histogram(due[known], edges, weights=prompt[known])
    hits, _ = np.histogram(due[known], edges, weights=cached[known])
    figure, axes = _figure(2.2)
    with np.errstate(invalid="ignore", divide="ignore"):
        axes.step(edges[:-1], np.where(sums > 0, hits / sums, np.nan), where="post", c=_BLUE)
    axes.set_ylim(0, 1)
    axes.set_xlabel("seconds since the start")
    axes.set_ylabel("hit rate")
    return inline_svg(figure, "hit rate")


def in_flight_over_time(columns: dict[str, Column]) -> str:
    """Requests that are due and not answered; those that failed are left out."""
    due, e2e = _floats(columns["due_s"]), _floats(columns["e2e_s"])
    whole = np.isfinite(e2e)
    begun, ended = np.sort(due[whole]), np.sort((due + e2e)[whole])
    moments = np.concatenate([begun, ended])
    steps = np.concatenate([np.ones(len(begun)), -np.ones(len(ended))])
    order = np.argsort(moments, kind="stable")
    figure, axes = _figure(2.2)
    axes.step(moments[order], np.cumsum(steps[order]), where="post", c=_BLUE, linewidth=1)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("seconds since the start")
    axes.set_ylabel("waiting or running")
    return inline_svg(figure, "in flight")
