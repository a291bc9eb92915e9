import re
from functools import cache
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from matplotlib.figure import Figure

from stemcache.lab.report.curves import lifetimes, miss_ratios
from stemcache.lab.report.drawing import INK, MARKERS, SERIES, draw
from stemcache.lab.report.histograms import reuse_distances, reuse_times
from stemcache.lab.report.parts import Plot
from tests.lab.answers import answer, result


@cache
def usual() -> Plot:
    """The miss ratio of an answer with nothing special, drawn once."""
    return miss_ratios(answer())


def texts(plot: Plot) -> list[str]:
    """All that is written in a figure."""
    root = ET.fromstring(plot.svg)
    return [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}text")]


def rows(plot: Plot | None) -> list[list[str]]:
    """The numbers of a figure."""
    assert plot is not None
    assert plot.table is not None
    return [[cell.text for cell in row] for row in plot.table.rows]


def test_the_miss_ratio_has_axes_in_blocks_and_tokens_and_both_rates() -> None:
    """So that nobody has to convert."""
    written = texts(usual())

    for label in ("capacity in blocks", "capacity in tokens", "hit rate"):
        assert label in written
    assert "miss ratio (computed tokens)" in written


def test_every_policy_is_in_the_legend_beside_the_curve_and_the_ideal() -> None:
    """Under its own name."""
    given = [result(policy, 1000, 0.2) for policy in ("lru", "arc", "s3-fifo", "min")]

    written = texts(miss_ratios(answer(results=given)))

    for name in ("lru, all capacities", "ideal", "lru", "arc", "s3-fifo", "min"):
        assert name in written


def test_caches_with_lives_or_tiers_are_series_of_their_own() -> None:
    """They do not lie on lru's curve."""
    second = {"capacity_blocks": 9, "block_hit_rate": 0.1}
    given = [
        result("lru", 1000, 0.2, ttl_s=300.0),
        result("lru", 1000, 0.3, second_tier=second),
        result("lru", None, 0.3),
    ]

    written = texts(miss_ratios(answer(results=given)))

    for name in ("lru, 5 min", "lru, two tiers", "no bound"):
        assert name in written


def test_more_series_than_colours_share_one() -> None:
    """And the legend counts them."""
    given = [result(f"policy-{number}", 1000, 0.2) for number in range(30)]

    written = texts(miss_ratios(answer(results=given)))

    assert "policy-7" in written
    assert "policy-8" not in written
    assert "22 others" in written


def test_the_whole_curve_is_tabled() -> None:
    """Capacity both ways, and all rates."""
    assert rows(usual())[4] == ["10,000", "5,120,000", "21.0%", "79.0%", "20.0%"]


def test_words_tell_where_the_curve_begins_and_ends() -> None:
    """For who cannot see it."""
    assert usual().alternative == (
        "Miss ratio against capacity; the ideal leaves 62.5% to compute. "
        "With lru it goes from 100.0% at 1 blocks to 62.5% at 40,000 blocks. "
        "Points for lru, min."
    )


def test_a_miss_ratio_that_never_falls_is_a_flat_line_under_a_hundred_percent() -> None:
    """Nor is a cliff made of a tenth of a percent."""
    ideal = {"block_hit_rate": 0.001, "token_hit_rate": 0.001, "tenants": {}}
    curve = {
        "capacity_blocks": [1, 9],
        "block_hit_rate": [0.0, 0.001],
        "token_hit_rate": [0.0, 0.001],
    }

    written = texts(miss_ratios(answer(ideal=ideal, lru_curve=curve, results=[])))

    assert {"100%", "90%"} <= {*written}
    assert "102%" not in written


def test_no_lives_no_figure_of_them() -> None:
    """It would be one point."""
    assert lifetimes(answer()) is None


def test_lives_are_joined_for_each_capacity() -> None:
    """With a place for what lives without a bound."""
    given = [
        result("lru", capacity, rate, ttl_s=ttl_s)
        for capacity in (1000, None)
        for ttl_s, rate in ((60.0, 0.1), (300.0, 0.2), (None, 0.3))
    ]

    plot = lifetimes(answer(results=given))

    assert plot is not None
    written = texts(plot)
    for name in ("1,000 blocks", "capacity no bound", "1 min", "5 min", "no bound", "ideal"):
        assert name in written
    assert rows(plot)[0] == ["1 min", "1,000", "10.0%", "9.6%"]
    assert rows(plot)[-1] == ["no bound", "no bound", "30.0%", "28.8%"]


def test_lives_from_the_write_are_called_so() -> None:
    """They end sooner."""
    given = answer(results=[result("lru", None, 0.2, ttl_s=60.0, refresh=False)])

    plot = lifetimes(given)

    assert plot is not None
    assert plot.caption.endswith("after it was computed.")


def test_times_between_uses_are_marked_where_providers_forget() -> None:
    """At a minute, five, and an hour; with the share that lies within."""
    plot = reuse_times(answer())

    assert "50.0% within 1 min; 80.0% within 5 min; 97.5% within 1 h" in plot.caption
    assert 2 == texts(plot).count("5 min")
    assert rows(plot)[0] == ["0 to 1 s", "10", "5.0%", "5.0%"]
    assert rows(plot)[-1] == ["1 h to 2 h", "5", "2.5%", "100.0%"]


def test_the_marks_are_shown_where_all_is_reused_sooner() -> None:
    """That is what a reader wants to see."""
    given = {"upto_s": [1, 60, 300, 3600, 7200, None], "blocks": [10, 0, 0, 0, 0, 0]}

    plot = reuse_times(answer(reuse_time=given))

    assert 2 == texts(plot).count("1 h")
    assert 4 == len(rows(plot))


def test_what_has_no_upper_edge_is_longer() -> None:
    """The last bin has no end."""
    given = {"upto_s": [1, 60, None], "blocks": [10, 0, 5]}

    assert rows(reuse_times(answer(reuse_time=given)))[-1][0] == "longer than 1 min"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"span_s": 0.0}, "All requests came at one moment."),
        ({"reuse_time": {"upto_s": [1, None], "blocks": [0, 0]}}, "No block was used twice."),
    ],
)
def test_no_times_no_figure_of_them(changes: dict[str, Any], said: str) -> None:
    """A sentence says why."""
    plot = reuse_times(answer(**changes))

    assert (said, "", None) == (plot.caption, plot.svg, plot.table)


def test_distances_have_axes_in_blocks_and_tokens() -> None:
    """And the table both, with what each bin adds."""
    plot = reuse_distances(answer())

    assert {"distance in blocks", "distance in tokens", "8", "4,096"} <= {*texts(plot)}
    assert rows(plot) == [
        ["1", "512", "50", "25.0%", "25.0%"],
        ["2 to 3", "1,024", "0", "0.0%", "25.0%"],
        ["4 to 7", "2,048", "120", "60.0%", "85.0%"],
        ["8 to 15", "4,096", "30", "15.0%", "100.0%"],
    ]
    assert "at most 7 blocks (3,584 tokens)" in plot.caption


def test_no_distances_no_figure_of_them() -> None:
    """A trace in which nothing comes again."""
    plot = reuse_distances(answer(reuse_distance={"from_blocks": [1], "blocks": [0]}))

    assert ("No block was used twice.", "") == (plot.caption, plot.svg)


def test_bars_grow_with_what_they_count() -> None:
    """Four bars, of which one counts nothing."""
    svg = reuse_distances(answer()).svg

    outlines = re.findall(r'<path d="([^"]+)"[^>]*style="fill: var\(--series-1\)"', svg)
    heights = []
    for outline in outlines[:4]:
        ys = [float(y) for y in re.findall(r"[ML] -?[0-9.]+ (-?[0-9.]+)", outline)]
        heights.append(max(ys) - min(ys))

    one, none, most, few = heights
    assert 0 == none
    assert abs(most / one - 120 / 50) < 0.01
    assert abs(one / few - 50 / 30) < 0.01


def test_the_curve_falls_where_rates_rise() -> None:
    """Its line never goes back up, from all to compute to the ideal's remainder."""
    svg = usual().svg
    lines = re.findall(r'<path d="([^"]+)"[^>]*style="fill: none; stroke: var\(--series-1\)', svg)
    curve = max(lines, key=len)

    ys = [float(y) for y in re.findall(r"[ML] -?[0-9.]+ (-?[0-9.]+)", curve)]

    # In SVG, y goes down.
    assert len(ys) == 7
    assert all(later >= earlier for earlier, later in pairwise(ys))


def test_a_figure_takes_its_colours_and_its_font_from_the_page() -> None:
    """No size of its own either: it is as wide as the page lets it be."""

    def plot(figure: Figure) -> None:
        figure.add_subplot().set_xlabel("x", color=INK)

    svg = draw("name", plot, height_pt=99)

    head = svg[: svg.index(">")]
    assert "viewBox" in head
    assert "width" not in head
    assert "<style" not in svg
    assert "<metadata" not in svg
    assert not re.findall(r"#[0-9a-f]{6}\b", svg.replace("#000000", ""))


def test_parts_of_two_figures_never_share_a_name() -> None:
    """Else one would be drawn with the other's markers."""
    one, other = (
        set(re.findall(r' id="([^"]+)"', usual().svg.replace("miss-ratio", name)))
        for name in ("one", "other")
    )

    assert one
    assert not one & other


def test_each_series_has_a_marker_and_a_colour() -> None:
    """As many of one as of the other."""
    assert len(SERIES) == len(set(SERIES)) == len(set(MARKERS)) == len(MARKERS)
