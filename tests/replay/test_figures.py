import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from stemcache.replay.aggregate import columns
from stemcache.replay.outcome import UNFINISHED, Outcome
from stemcache.replay.report import Column
from tests.replay.made import outcome

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

from stemcache.replay import figures
from stemcache.replay.page import inline_svg

SVG = "{http://www.w3.org/2000/svg}"

DRAWN = (
    figures.ttft_over_time,
    figures.distributions,
    figures.hit_rate_over_time,
    figures.in_flight_over_time,
)


def some(count: int = 30) -> dict[str, Column]:
    """Requests of a run, a few of them failed or given up."""
    made: list[Outcome] = [
        outcome(n, due=n / 10, cached=n % 11, sent_s=n / 10 + 0.001) for n in range(count)
    ]
    made[3] = outcome(3, due=0.3, ttft=None, error="http_500")
    made[4] = outcome(4, due=0.4, ttft=None, error=UNFINISHED)
    return columns(made)


def texts(svg: str) -> list[str]:
    """What can be read in it."""
    return [each.text or "" for each in ET.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("draw", DRAWN)
def test_every_figure_is_svg_with_readable_text(draw: object) -> None:
    """Axes say what they are, with units."""
    assert callable(draw)
    svg = draw(some())
    assert svg.startswith("<svg")
    said = " ".join(texts(svg))
    assert "seconds" in said


@pytest.mark.parametrize("draw", DRAWN)
@pytest.mark.parametrize(
    "made",
    [
        [],
        [outcome(0, ttft=None, error="refused")],
        [outcome(0, prompt=None, cached=None)],
        [outcome(0, due=0.0, ttft=0.0, e2e=0.0)],
        [outcome(n, due=0.0) for n in range(3)],
    ],
)
def test_nothing_to_draw_is_drawn_too(draw: object, made: list[Outcome]) -> None:
    """No answer, nothing known, no time between: no warning, no error."""
    assert callable(draw)
    ET.fromstring(draw(columns(made)))


def test_failures_are_lines_of_their_own() -> None:
    """At the moment at which they were due; what was given up is none."""
    svg = figures.ttft_over_time(some())
    assert svg.count("#cf222e") == 1


def test_many_dots_are_one_picture_within_the_figure() -> None:
    """Few are shapes that stay sharp."""
    few, many = figures.ttft_over_time(some(100)), figures.ttft_over_time(some(2000))
    assert few.count("<use") > 90 > many.count("<use")
    assert many.count("data:image/png;base64,") == few.count("data:image/png;base64,") + 1
    assert len(many) < 300_000


def test_ids_of_two_figures_differ() -> None:
    """They stand in one page, and clip paths are found by id."""
    ids = [set(re.findall(r'id="([mp][0-9a-f]{8,})"', draw(some()))) for draw in DRAWN]
    for at, mine in enumerate(ids):
        for others in ids[:at]:
            assert not mine & others


def test_a_figure_is_the_same_each_time() -> None:
    """No date, no random id."""

    def one() -> str:
        figure = Figure(figsize=(2, 1))
        figure.subplots().plot(np.arange(3), np.arange(3))
        return inline_svg(figure, "x")

    assert one() == one()
    assert "<dc:date>" not in one()
