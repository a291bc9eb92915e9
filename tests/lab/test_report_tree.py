import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

from stemcache.lab.report.tree import icicle_plot
from tests.lab.answers import answer, bar

SVG = "{http://www.w3.org/2000/svg}"


class Box:
    """A stem as drawn."""

    def __init__(self, element: ET.Element) -> None:
        self.x, self.y = float(element.attrib["x"]), float(element.attrib["y"])
        self.width = float(element.attrib["width"])
        self.height = float(element.attrib["height"])
        self.darkness = float(element.attrib["fill-opacity"])
        title = element.find(f"{SVG}title")
        assert title is not None
        self.title = title.text or ""


def boxes(given: dict[str, Any]) -> list[Box]:
    """Those that are wide enough to draw."""
    root = ET.fromstring(icicle_plot(given).svg)
    return [Box(each) for each in root.iter(f"{SVG}rect") if each.attrib["class"] == "stem"]


def near(one: float, other: float) -> bool:
    """Up to the digits that a picture keeps."""
    return abs(one - other) <= 0.02


def test_a_stem_is_as_wide_as_its_requests() -> None:
    """Next to the most shared ones; what one request alone has is left blank at the end."""
    first, child, sibling, other = boxes(answer())

    whole = first.width * 12_031 / 9000
    assert near(other.width, whole * 900 / 12_031)
    assert near(child.width, whole * 4000 / 12_031)
    assert near(other.x, first.x + first.width)
    assert near(sibling.x, child.x + child.width)


def test_what_follows_a_stem_stands_below_it_and_within_it() -> None:
    """Depth goes down, and the first blocks of a deep tree get the most room."""
    first, child, sibling, _ = boxes(answer())

    assert near(child.x, first.x)
    assert near(child.y, first.y + first.height)
    assert near(sibling.y, child.y)
    assert sibling.x + sibling.width <= first.x + first.width
    assert first.height > 3 * child.height / 40


def test_a_shallow_tree_is_drawn_to_scale() -> None:
    """Twice the blocks, twice the height."""
    one, two = boxes(answer(prefix_tree=[bar(None, 0, 4, 100), bar(0, 4, 8, 50)]))

    assert near(2 * one.height, two.height)


def test_siblings_stand_widest_first_whatever_their_order() -> None:
    """Equal answers aside, the picture does not depend on the order of equals' parents."""
    narrow, wide = boxes(answer(prefix_tree=[bar(None, 0, 1, 10), bar(None, 0, 1, 500)]))

    assert wide.x < narrow.x


def test_hovering_tells_requests_depth_and_length() -> None:
    """In blocks and tokens."""
    _, child, *_ = boxes(answer())

    assert child.title == ("4,000 requests (33.2%), blocks 3 to 42: 40 blocks, 20,480 tokens")


def test_more_requests_are_darker_but_never_too_dark_for_text() -> None:
    """The largest share still lets its label be read."""
    drawn = boxes(answer(prefix_tree=[bar(None, 0, 1, 12_031), bar(0, 1, 1, 100)]))

    assert drawn[0].darkness > drawn[1].darkness
    assert 0.6 == max(box.darkness for box in drawn)


def test_what_few_requests_go_on_to_is_magnified_and_said_to_be() -> None:
    """Else hundreds of small stems behind one that all share would be a hair's breadth."""
    small = [bar(0, 1, 5, requests) for requests in (40, 20, 10)]
    given = answer(prefix_tree=[bar(None, 0, 1, 12_031), *small])

    root, *drawn = boxes(given)

    assert near(sum(box.width for box in drawn), 0.9 * root.width)
    assert near(drawn[0].width, 2 * drawn[1].width)
    assert "40 requests (0.3%)" in drawn[0].title
    caption = icicle_plot(given).caption
    assert "wider than its share, up to 155 times; the percentages are true." in caption


def test_what_most_requests_go_on_to_is_not_magnified() -> None:
    """The usual case needs no explanation."""
    assert "wider than its share" not in icicle_plot(answer()).caption


def test_stems_too_narrow_to_see_are_counted_and_tabled() -> None:
    """Not drawn as specks."""
    thin = [bar(None, 0, 1, 2) for _ in range(300)]
    given = answer(prefix_tree=[bar(None, 0, 1, 9000), *thin])

    plot = icicle_plot(given)

    assert 1 == len(boxes(given))
    assert "300 stems are too narrow to draw; the table has them." in plot.caption
    assert plot.table is not None
    assert 301 == len(plot.table.rows)


def test_the_table_has_every_stem_and_what_it_follows() -> None:
    """By number, parents first."""
    table = icicle_plot(answer()).table

    assert table is not None
    assert [cell.text for cell in table.rows[1]] == [
        "2", "1", "3", "40", "20,480", "4,000", "33.2%",
    ]  # fmt: skip
    assert "" == table.rows[0][1].text


def test_words_tell_what_the_picture_shows() -> None:
    """The widest stem and the greatest depth."""
    assert icicle_plot(answer()).alternative == (
        "4 stems; the widest is shared by 9,000 of 12,031 requests and is 3 blocks long; "
        "the deepest ends at block 43, which is 22,016 tokens."
    )


def test_no_stems_no_picture() -> None:
    """A sentence instead."""
    plot = icicle_plot(answer(prefix_tree=[]))

    assert ("", None) == (plot.svg, plot.table)
    assert "No two prompts begin alike." == plot.caption


def test_requests_that_only_warmed_the_cache_do_not_burst_the_picture() -> None:
    """Stems count them, `requests` does not."""
    drawn = boxes(answer(requests=10, prefix_tree=[bar(None, 0, 1, 70), bar(None, 0, 1, 30)]))

    assert drawn[-1].x + drawn[-1].width <= 470


def test_sessions_apart_have_trees_apart() -> None:
    """And the caption says so."""
    assert "Each session has a tree" in icicle_plot(answer(caches="one a session")).caption


def test_depths_are_marked_without_running_into_each_other() -> None:
    """In a tree of a million blocks too."""
    svg = icicle_plot(answer(prefix_tree=[bar(None, 0, 1_000_000, 9000)])).svg

    marks = [float(y) for y in re.findall(r'<line [^>]*y1="([0-9.]+)"', svg)]

    assert len(marks) > 3
    assert all(below - above >= 10 for above, below in pairwise(marks))


def test_a_deep_chain_of_stems_is_drawn_without_recursion() -> None:
    """As long as a tree may get."""
    chain = [bar(None if not at else at - 1, at, 1, 5000) for at in range(3000)]

    assert 3000 == len(boxes(answer(prefix_tree=chain)))
