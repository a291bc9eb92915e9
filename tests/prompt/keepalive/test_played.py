"""Which lifetime costs least, by playing sessions: against bills that are counted by hand."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.keepalive.gaps import Gaps
from stemcache.prompt.keepalive.played import Played, marked_for, played
from stemcache.prompt.keepalive.simulate import Visit
from stemcache.prompt.keepalive.ttl import options
from stemcache.provider.book import load_book
from stemcache.provider.shape import Mark
from tests.prompt.keepalive.test_simulate import OUT, PRICE, READ, RULE, WRITE, visit

HOUR = 10e-6
"""USD a token written for an hour."""
NEVER = Gaps.of([1.0], over=999)
"""Nobody comes back, so no ping is planned."""


def session(*gaps_s: float, tokens: int = 10_000) -> list[Visit]:
    """One thread whose requests begin so long after each other."""
    at_s = 0.0
    made = [visit(0, tokens=tokens)]
    for gap_s in gaps_s:
        at_s += gap_s
        made.append(visit(at_s, tokens=tokens))
    return made


def found(sessions: Sequence[Sequence[Visit]], gaps: Gaps = NEVER, **more: Any) -> dict[Any, float]:
    """USD by lifetime and whether there were pings."""
    rows = played(sessions, rule=RULE, price=PRICE, gaps=gaps, **more)
    assert [one.bill.usd for one in rows] == sorted(one.bill.usd for one in rows)
    return {(one.ttl, one.pinged): one.bill.usd for one in rows}


def test_every_lifetime_is_billed_with_and_without_pings() -> None:
    """Writes, reads and answers, as they come; the lifetime of before does not matter."""
    usd = found([session(200), session(400)])

    answers = 400 * OUT
    assert usd[("5m", False)] == pytest.approx(10_000 * (3 * WRITE + READ) + answers)
    assert usd[("1h", False)] == pytest.approx(10_000 * (2 * HOUR + 2 * READ) + answers)
    assert usd[("5m", True)] == pytest.approx(usd[("5m", False)])
    assert usd.keys() == {(ttl, pings) for ttl in ("5m", "1h") for pings in (False, True)}
    hours = [marked_for(one, "1h") for one in (session(200), session(400))]
    assert found(hours) == usd


def test_pings_are_those_that_are_planned() -> None:
    """One that keeps the entry is cheaper than to write it again."""
    sessions = [session(400) for _ in range(4)]
    rows = played(sessions, rule=RULE, price=PRICE, gaps=Gaps.of([400.0] * 4, over=1))

    best = rows[0]
    assert (best.ttl, best.pinged, best.bill.pings) == ("5m", True, 8)
    ping = 10_000 * READ + OUT
    assert best.bill.ping_usd == pytest.approx(8 * ping)


def test_long_prompts_that_nobody_comes_back_to_are_seen() -> None:
    """Means take late requests for those of long prompts too, and choose the dearer lifetime."""
    sessions = [session(*[1_900] * 6, tokens=3_000) for _ in range(20)]
    sessions += [session(tokens=120_000) for _ in range(10)]
    visits = [one for each in sessions for one in each]
    gaps = Gaps.of([1_900.0] * 120, over=30)
    by_means = options(
        RULE, PRICE, gaps,
        prefix_tokens=round(sum(one.prefix_tokens for one in visits) / len(visits)),
        first_tokens=round(sum(each[0].prefix_tokens for each in sessions) / 30),
        written_tokens=0, turns=len(visits) / 30,
    )[0]  # fmt: skip

    usd = found(sessions, gaps)

    assert (by_means.ttl, by_means.plan.pings_s) == ("1h", ())
    assert next(iter(usd))[0] == "5m"
    assert min(usd.values()) < 0.85 * usd[("1h", False)]


def test_what_comes_first_is_never_dearer_than_what_means_choose() -> None:
    """On the sessions that both are told of, whatever they are."""
    rng = Random(11)
    for _ in range(25):
        lengths = [rng.choice([2_000, 20_000, 90_000]) for _ in range(4)]
        gaps_s = [[rng.choice([30, 290, 400, 1_200, 4_000]) for _ in range(5)] for _ in lengths]
        sessions = [
            session(*one, tokens=tokens) for one, tokens in zip(gaps_s, lengths, strict=True)
        ]
        gaps = Gaps.of([gap_s for one in gaps_s for gap_s in one], over=4)
        chosen = options(
            RULE, PRICE, gaps,
            prefix_tokens=round(sum(lengths) / 4), written_tokens=0, turns=6,
        )[0]  # fmt: skip
        rows = played(sessions, rule=RULE, price=PRICE, gaps=gaps)
        usd = {(one.ttl, one.pinged): one.bill.usd for one in rows}
        assert rows[0].bill.usd <= usd[(chosen.ttl, bool(chosen.plan.pings_s))]


def test_lifetimes_and_pings_can_be_left_out() -> None:
    """What an API does not take is not played."""
    assert found([session(400)], ttls=["1h"], pinged=False).keys() == {("1h", False)}


def test_entries_end_when_somebody_has_seen_them_end() -> None:
    """Where the provider states no end, the default lifetime has that one."""
    book = load_book()
    rule, price = book.rule("openai-5.6"), book.price("openai", "gpt-5.6")
    assert price is not None

    def usd(gone_after_s: float | None) -> float:
        rows = played(
            [session(1_900)], rule=rule, price=price, gaps=NEVER,
            pinged=False, gone_after_s=gone_after_s,
        )  # fmt: skip
        return min(one.bill.usd for one in rows if one.ttl == rule.ttls[0].name)

    assert usd(None) < usd(1_800)
    assert usd(2_000) == usd(None)


def test_marks_are_for_that_lifetime_and_nothing_else_changes() -> None:
    """What had no mark gets none."""
    bare = visit(0)
    (position,) = bare.shape.positions
    bare = replace(bare, shape=replace(bare.shape, positions=(replace(position, mark=None),)))

    marked, left = marked_for([visit(5), bare], "1h")

    assert marked.shape.positions[0].mark == Mark("1h")
    assert left.shape.positions == bare.shape.positions
    assert marked_for([marked], None)[0].shape.positions == visit(5).shape.positions


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sessions": []}, "sessions have no visits; give at least one that was made"),
        ({"sessions": [[]]}, "sessions have no visits; give at least one that was made"),
        ({"sessions": [visit(0)]}, "sessions is .*; give lists of Visit, one a session"),
        ({"ttls": ["2h"]}, "rule anthropic has no lifetime '2h'; take one of: 5m, 1h"),
        ({"ttls": "1h"}, r"ttls is .*; give a list such as \['5m', '1h'\]"),
        ({"price": None}, "price is None; give a Price"),
        ({"margin_s": -1}, "margin_s is -1; give"),
        ({"gone_after_s": -1}, "gone_after_s is -1; give"),
    ],
)
def test_what_cannot_be_played_is_refused(given: dict[str, Any], said: str) -> None:
    """Each with what to give instead."""
    asked: dict[str, Any] = {"rule": RULE, "price": PRICE, "gaps": NEVER, **given}
    with pytest.raises(UsageError, match=said):
        played(asked.pop("sessions", [session(1)]), **asked)


def test_rows_have_names() -> None:
    """As a program reads them."""
    (row,) = played([session(1)], rule=RULE, price=PRICE, gaps=NEVER, ttls=["5m"], pinged=False)
    assert isinstance(row, Played)
    assert (row.ttl, row.pinged, row.bill.requests) == ("5m", False, 2)
