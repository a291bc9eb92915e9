import copy
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest

import stemcache
from stemcache.errors import UsageError
from stemcache.lab.report import render
from tests.lab.answers import Page, answer, bar, read, regret, result, svgs, tenant

HOSTILE = "<script>alert(1)</script> $x_1$ & \"quoted\" '{{ 7 * 7 }}'"


class Drawn(NamedTuple):
    """A page, and whether drawing it left the interpreter as it was."""

    markup: str
    left_pyplot_alone: bool


@pytest.fixture(scope="module")
def markup() -> str:
    """A page with everything that a page can have."""
    return render(everything(), command="stemcache simulate chats.jsonl --policy lru,min")


@pytest.fixture(scope="module")
def page(markup: str) -> Page:
    """The same as a reader has it."""
    return read(markup)


@pytest.fixture(scope="module")
def plain() -> Drawn:
    """A page without a command; drawing takes a second, so those who only look share one."""
    loaded = "matplotlib.pyplot" in sys.modules
    markup = render(answer())
    return Drawn(markup, loaded == ("matplotlib.pyplot" in sys.modules))


def everything() -> dict[str, object]:
    """Every optional part at once, though no one question asks for all of them."""
    rows = [
        result("lru", 1000, 0.05, regret=regret(0.134, 1.19)),
        result("min", 1000, 0.18, regret=regret(0.0, 1.0)),
        result("min-bypass", 1000, 0.19, regret=regret(-0.01, 0.98)),
        result("lru", None, 0.2, ttl_s=60.0, keep_alive=kept(3, 77, 88_999)),
        result("lru", None, 0.3, ttl_s=300.0, keep_alive=kept(3, 55, 66_111)),
        result("lru", 500, 0.21, second_tier={"capacity_blocks": 4321, "block_hit_rate": 0.0777}),
        result("arc", None, 0.375),
    ]
    tenants = {"ann": tenant(7000, 90_000, 0.4), "": tenant(31, 500, None)}
    rows[0]["tenants"] = {"ann": tenant(7000, 90_000, 0.123)}
    ideal = {"block_hit_rate": 0.36, "token_hit_rate": 0.375, "tenants": tenants}
    late = {"requests": 17, "furthest_back_s": 2.5}
    return answer(results=rows, ideal=ideal, out_of_order=late)


def kept(most: int, requests: int, tokens: int) -> dict[str, int]:
    """What keeping prompts alive took."""
    return {"most_a_prompt": most, "requests": requests, "cached_tokens_read": tokens}


def test_a_page_is_well_formed(markup: str, page: Page) -> None:
    """Every element is closed, no name is given twice, and every figure is XML."""
    assert markup.startswith("<!DOCTYPE html>")
    assert len(page.ids) == len(set(page.ids))
    assert 5 == len(svgs(markup))
    for svg in svgs(markup):
        ET.fromstring(svg)


def test_references_inside_a_figure_are_found_on_the_page(markup: str, page: Page) -> None:
    """A marker or a clip of one figure is never taken from another."""
    wanted = set(re.findall(r'(?:href="#|url\(#)([^")]+)', markup))

    assert wanted
    assert wanted <= set(page.ids)


def test_a_page_needs_nothing_else(markup: str, page: Page) -> None:
    """No script, no import, no address of another file: it opens without a network."""
    assert not {"script", "iframe", "object", "embed", "img"} & set(page.tags)
    assert all(link.startswith(("#", "data:")) for link in page.links)
    assert "@import" not in markup
    assert set(re.findall(r"https?://[^\"' )]+", markup)) <= {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in markup


def test_every_figure_has_words_and_a_table(markup: str, page: Page) -> None:
    """Who cannot see a figure reads what it shows, and its numbers."""
    assert len(svgs(markup)) == len(page.alternatives) == page.tags.count("figure")
    assert all(len(said) > 40 for said in page.alternatives)
    assert page.tags.count("details") == page.tags.count("figure")
    assert set(page.tables) == {
        "lru at every capacity",
        "A row for each cache",
        "Hit rate by time to live and capacity",
        "Blocks used again, by time",
        "Blocks used again, by distance",
        "Stems, parents before what follows them",
        "A row for each tenant, largest first",
    }


def test_all_rows_of_all_tables_are_full(page: Page) -> None:
    """As many cells in each row as there are columns."""
    for caption, rows in page.tables.items():
        assert {len(rows[0])} == {len(row) for row in rows}, caption


def test_light_dark_phone_and_print_are_provided_for(markup: str) -> None:
    """The style sheet has a rule for each, and no colour of a figure is fixed."""
    assert "prefers-color-scheme: dark" in markup
    assert "@media print" in markup
    assert "width=device-width" in markup
    for svg in svgs(markup):
        assert not re.findall(r"#[0-9a-f]{6}\b", svg)
        for variable in re.findall(r"var\(--([a-z0-9-]+)\)", svg):
            assert f"--{variable}: #" in markup


def test_the_command_and_the_version_are_told(page: Page) -> None:
    """Whoever finds the page can make it again."""
    assert "stemcache simulate chats.jsonl --policy lru,min" in page.text
    assert f"stemcache {stemcache.__version__}" in page.text


def test_without_a_command_none_is_told(plain: Drawn) -> None:
    """A page from a saved answer does not make one up."""
    assert "Made by" not in read(plain.markup).text


def test_equal_answers_give_equal_bytes(markup: str) -> None:
    """Also after a way through JSON, and the answer is left as it was."""
    given = everything()
    before = copy.deepcopy(given)
    command = "stemcache simulate chats.jsonl --policy lru,min"

    again = render(json.loads(json.dumps(given)), command=command)

    assert markup == again
    assert before == given


def test_the_settings_of_matplotlib_neither_change_the_page_nor_change(plain: Drawn) -> None:
    """A user's matplotlibrc is not the report's, and the other way round."""
    mpl = pytest.importorskip("matplotlib")
    with mpl.rc_context({"font.size": 23.0, "axes.facecolor": "red", "svg.fonttype": "path"}):
        before = dict(mpl.rcParams)

        styled = render(answer())

        assert before == dict(mpl.rcParams)
    assert plain.markup == styled


def test_drawing_needs_no_pyplot(plain: Drawn) -> None:
    """The module pyplot keeps every figure it made, and looks for a display."""
    assert plain.left_pyplot_alone


def test_what_the_trace_says_is_never_markup() -> None:
    """Names of files, tenants, policies and units are text, whatever they hold."""
    tenants = {HOSTILE: tenant(3, 4, 0.5)}
    given = answer(
        trace=HOSTILE,
        unit=HOSTILE,
        ideal={"block_hit_rate": 0.36, "token_hit_rate": 0.375, "tenants": tenants},
        results=[result(HOSTILE, 1000, 0.2, tenants=tenants)],
    )

    markup = render(given, command=HOSTILE)
    page = read(markup)

    assert "<script" not in markup
    assert "script" not in page.tags
    assert HOSTILE in page.text
    assert HOSTILE == page.tables["A row for each tenant, largest first"][1][0]
    assert HOSTILE == page.tables["A row for each cache"][1][0]
    for svg in svgs(markup):
        ET.fromstring(svg)


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_a_missing_extra_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has not installed what draws learns the one command that does."""
    for module in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(UsageError) as caught:
        render(answer())

    assert str(caught.value) == (
        f"the HTML report needs the package {package}, which is not installed; "
        "run: pip install 'stemcache[report]'"
    )


def edge_cases() -> Iterator[tuple[str, dict[str, object]]]:
    """Answers that a simulation can give, at the ends of what it can give."""
    nothing = {"block_hit_rate": 0.0, "token_hit_rate": 0.0, "tenants": {}}
    flat = {"capacity_blocks": [1], "block_hit_rate": [0.0], "token_hit_rate": [0.0]}
    unused = {"from_blocks": [1], "blocks": [0]}
    never = {"upto_s": [1, 60, None], "blocks": [0, 0, 0]}
    row = result("lru", 1000, 0.0) | {"efficiency": None}
    yield (
        "zero hits",
        answer(
            ideal=nothing,
            blocks=182_790,
            results=[row],
            lru_curve=flat,
            reuse_distance=unused,
            reuse_time=never,
            prefix_tree=[],
        ),
    )
    yield (
        "one request",
        answer(
            requests=1,
            span_s=0.0,
            ideal=nothing,
            results=[row],
            lru_curve=flat,
            reuse_distance=unused,
            reuse_time=never,
            prefix_tree=[],
        ),
    )
    unknown: dict[str, object] = {"block_hit_rate": None, "token_hit_rate": None, "tenants": {}}
    yield (
        "null rates",
        answer(
            prompt_tokens=0,
            blocks=0,
            ideal=unknown,
            results=[result("lru", 1000, None, regret=regret(None, None))],
            lru_curve={"capacity_blocks": [1], "block_hit_rate": [None], "token_hit_rate": [None]},
            reuse_distance=unused,
            reuse_time=never,
            prefix_tree=[],
        ),
    )
    yield "no row", answer(results=[])
    policies = ("lru", "min", *(f"policy-{number}" for number in range(20)))
    many = [result(policy, 2**power, 0.3) for policy in policies for power in range(15)]
    yield "hundreds of rows, in characters", answer(results=many, unit="characters")
    yield (
        "all with a time to live, sessions apart",
        answer(
            caches="one a session",
            results=[
                result("lru", capacity, 0.2, ttl_s=ttl_s)
                for capacity in (10, 1000, None)
                for ttl_s in (0.5, 60.0, 86_400.0, None)
            ],
        ),
    )
    yield (
        "one row, no times, everything reused at once, one wide stem",
        answer(
            span_s=0.0,
            results=[result("lru", None, 0.375)],
            reuse_time={"upto_s": [1, None], "blocks": [9, 0]},
            reuse_distance={"from_blocks": [1], "blocks": [9]},
            prefix_tree=[bar(None, 0, 1, 12_031)],
        ),
    )
    yield (
        "one life from the write, huge distances",
        answer(
            results=[result("lru", None, 0.2, ttl_s=60.0, refresh=False)],
            reuse_distance={
                "from_blocks": [2**power for power in range(31)],
                "blocks": [10**9] * 31,
            },
            lru_curve={
                "capacity_blocks": [1, 2**30],
                "block_hit_rate": [0.0, 0.36],
                "token_hit_rate": [0.0, 0.375],
            },
        ),
    )


EDGES = dict(edge_cases())


@cache
def edge(name: str) -> str:
    """Its page, drawn once."""
    return render(EDGES[name])


@pytest.mark.parametrize("name", EDGES)
def test_no_edge_breaks_a_page(name: str) -> None:
    """Well-formed, with every figure either drawn or said to have nothing to draw."""
    markup = edge(name)
    page = read(markup)

    assert page.tags.count("h2") >= 6, name
    assert len(page.ids) == len(set(page.ids))
    assert "nan" not in re.sub(r"<style.*?</style>", "", markup, flags=re.DOTALL).lower().split()
    assert "None" not in page.text
    for svg in svgs(markup):
        ET.fromstring(svg)


def test_a_trace_that_shares_nothing_says_so() -> None:
    """In words, where figures would be empty."""
    text = read(edge("zero hits")).text

    assert "No prompt begins as an earlier one does: no cache of prefixes will help." in text
    assert "No block was used twice." in text
    assert "No two prompts begin alike." in text


def test_an_unknown_rate_is_said_to_be_unknown() -> None:
    """Never zero."""
    page = read(edge("null rates"))

    assert "unknown" in page.tables["A row for each cache"][1]
    assert "0.0%" not in page.text
