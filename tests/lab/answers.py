"""Answers of a simulation made by hand, and a reader of pages that is strict about markup."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

__all__ = ["Page", "answer", "bar", "read", "regret", "result", "svgs", "tenant"]

_VOID = {"br", "hr", "img", "input", "link", "meta"}


def result(
    policy: str = "lru",
    capacity: int | None = 1000,
    rate: float | None = 0.25,
    *,
    ttl_s: float | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A row; the block hit rate is a little lower than the token hit rate."""
    return {
        "policy": policy,
        "capacity_blocks": capacity,
        "ttl_s": ttl_s,
        "block_hit_rate": None if rate is None else round(rate * 0.96, 6),
        "token_hit_rate": rate,
        "efficiency": None if rate is None else round(rate / 0.375, 6),
        "hit_blocks": 1234,
        "hit_tokens": 631_808,
        "computed_tokens": 7_654_321,
        "tenants": {},
        **more,
    }


def tenant(requests: int, tokens: int, rate: float | None) -> dict[str, Any]:
    """What an answer says of one."""
    return {
        "requests": requests,
        "prompt_tokens": tokens,
        "block_hit_rate": rate,
        "token_hit_rate": rate,
    }


def answer(**changes: Any) -> dict[str, Any]:
    """A small trace of an hour; `changes` replace whole fields."""
    made: dict[str, Any] = {
        "trace": "chats.jsonl",
        "requests": 12_031,
        "unit": "tokens",
        "block_size": 512,
        "prompt_tokens": 144_793_823,
        "blocks": 288_500,
        "distinct_blocks": 182_790,
        "span_s": 3536.0,
        "out_of_order": {"requests": 0, "furthest_back_s": 0.0},
        "caches": "one",
        "ideal": {"block_hit_rate": 0.36, "token_hit_rate": 0.375, "tenants": {}},
        "results": [
            result("lru", 1000, 0.05, regret=regret(0.134, 1.19)),
            result("lru", 10_000, 0.21, regret=regret(0.154, 1.26)),
            result("min", 1000, 0.18, regret=regret(0.0, 1.0)),
            result("min", 10_000, 0.37, regret=regret(0.0, 1.0)),
        ],
        "lru_needs": [
            {"share_of_ideal": 0.5, "capacity_blocks": 9_000},
            {"share_of_ideal": 0.9, "capacity_blocks": 32_000},
            {"share_of_ideal": 0.95, "capacity_blocks": 39_000},
        ],
        "lru_curve": {
            "capacity_blocks": [1, 10, 100, 1000, 10_000, 40_000],
            "block_hit_rate": [0.0, 0.01, 0.03, 0.048, 0.2, 0.36],
            "token_hit_rate": [0.0, 0.01, 0.03, 0.05, 0.21, 0.375],
        },
        "reuse_distance": {"from_blocks": [1, 2, 4, 8], "blocks": [50, 0, 120, 30]},
        "reuse_time": {
            "upto_s": [1, 10, 60, 300, 3600, 7200, None],
            "blocks": [10, 20, 70, 60, 35, 5, 0],
        },
        "prefix_tree": [
            bar(None, 0, 3, 9000),
            bar(0, 3, 40, 4000),
            bar(0, 3, 2, 300),
            bar(None, 0, 1, 900),
        ],
    }
    assert changes.keys() <= made.keys(), "a change replaces a field that there is"
    return made | changes


def regret(points: float | None, ratio: float | None) -> dict[str, Any]:
    """How far below the optimum."""
    return {"block_hit_rate": points, "computed_over_optimum": ratio}


def bar(parent: int | None, start: int, blocks: int, requests: int) -> dict[str, Any]:
    """A stem of the prefix tree."""
    return {"parent": parent, "start_blocks": start, "blocks": blocks, "requests": requests}


@dataclass
class Page:
    """What a reader of the page has."""

    text: str = ""
    tags: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    alternatives: list[str] = field(default_factory=list)
    tables: dict[str, list[list[str]]] = field(default_factory=dict)
    """Rows of cells, the head first, by caption."""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page()
        self._open: list[str] = []
        self._rows: list[list[str]] = []
        self._caption = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice"
        given = {name: value or "" for name, value in attrs}
        self.page.tags.append(tag)
        self.page.ids += [given["id"]] if "id" in given else []
        self.page.links += [given[name] for name in ("src", "href") if name in given]
        if given.get("role") == "img":
            self.page.alternatives.append(given["aria-label"])
        if tag == "table":
            self._rows, self._caption = [], ""
        if tag == "tr":
            self._rows.append([])
        if tag in {"td", "th"}:
            self._rows[-1].append("")
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1] == tag, f"</{tag}> closes <{self._open[-1]}>"
        self._open.pop()
        if tag == "table":
            self.page.tables[self._caption] = self._rows

    def handle_data(self, data: str) -> None:
        if "style" in self._open:
            return
        self.page.text += data
        if "caption" in self._open:
            self._caption += data
        if self._open and self._open[-1] in {"td", "th"}:
            self._rows[-1][-1] += data

    def close(self) -> None:
        super().close()
        assert not self._open, f"never closed: {self._open}"


def read(markup: str) -> Page:
    """Parse a page; AssertionError where its elements are not balanced."""
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    return reader.page


def svgs(markup: str) -> list[str]:
    """The figures of a page."""
    return re.findall(r"<svg.*?</svg>", markup, re.DOTALL)
