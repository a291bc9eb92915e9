"""Layouts, rules, prices and forecasts made up at random, and the dumb twin of a placement."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement
from random import Random

from stemcache.prompt.marks.placement import Held
from stemcache.prompt.message import Message
from stemcache.prompt.part import Text
from stemcache.prompt.piece import Laid, Piece
from stemcache.prompt.segment import static
from stemcache.prompt.stability import Stability
from stemcache.provider.price import Price
from stemcache.provider.rule import Range, Rule, Ttl
from stemcache.wire.section import Section

__all__ = [
    "Case",
    "Table",
    "laid_of",
    "marker_rule",
    "piece",
    "placements",
    "random_case",
    "twin_score",
]

ORDER = (Section.TOOLS, Section.SYSTEM, Section.MESSAGES)


def piece(
    tokens: int = 100,
    stability: Stability = Stability.STATIC,
    *,
    history: bool = False,
    speaker: str = "user",
    run: str | None = None,
    section: Section | None = None,
    markable: bool = True,
    ends: bool = True,
) -> Piece:
    """One piece; of the messages if it is history or a turn piece, else of the system section."""
    if section is None:
        messages = history or stability is Stability.TURN
        section = Section.MESSAGES if messages else Section.SYSTEM
    text = Text("x")
    return Piece(
        section=section,
        stability=Stability.SESSION if history else stability,
        tokens=tokens,
        source=Message(speaker, (text,)) if history else static("s", text),  # type: ignore[arg-type]
        part=text,
        ends_message=ends,
        run=run,  # type: ignore[arg-type]
        markable=markable,
    )


def laid_of(*pieces: Piece) -> Laid:
    """The pieces in their order."""
    return Laid(pieces)


def marker_rule(**changes: object) -> Rule:
    """A rule of markers like Anthropic's."""
    rule = Rule(
        name="made-up",
        provider="made-up",
        kind="markers",
        order=ORDER,
        minimum_tokens=Range(low=0, high=0, likely=0, sources=()),
        ttls=(Ttl("5m", 300, 300), Ttl("1h", 3600, 3600)),
        ttl_order=True,
        most_markers=4,
        look_back=20,
        runs_collapse=True,
        write_factor={"5m": 1.25, "1h": 2.0},
        read_factor=0.1,
    )
    return replace(rule, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Table:
    """A forecast as a table: by lifetime in seconds, chances by boundary from 0 on."""

    rows: dict[float, tuple[float, ...]]

    def alive(self, boundary: int, ttl_s: float) -> float:
        return self.rows[ttl_s][boundary]


@dataclass(frozen=True)
class Case:
    laid: Laid
    rule: Rule
    price: Price | None
    forecast: Table
    held: tuple[Held, ...]
    most: int | None


def random_case(chance: Random, *, count: int, known: bool | None = None) -> Case:
    """Any layout of so many pieces, with a forecast that may change at each or at few of them."""
    stable = chance.randint(0, count)
    pieces = []
    for at in range(count):
        history = at >= stable
        pieces.append(
            piece(
                chance.choice([1, 10, 100, 1000, 5000]),
                Stability.STATIC,
                history=history,
                speaker=chance.choice(["user", "assistant"]),
                run=chance.choice([None, "tool_use", "tool_result"]) if history else None,
                markable=chance.random() < 0.9,
                ends=chance.random() < 0.7,
            )
        )
    for _ in range(chance.choice([0, 0, 1, 2])):
        if len(pieces) > 1:
            pieces[-1] = piece(chance.choice([10, 1000]), Stability.TURN)
    if chance.random() < 0.2 and len(pieces) > 2:
        pieces[-2] = piece(100, Stability.TURN)
        pieces[-1] = piece(100, Stability.TURN)
    kind = chance.choice(["markers", "markers", "breakpoints"])
    ttls = (Ttl("5m", 300, 300), Ttl("1h", 3600, 3600))[: chance.choice([1, 2, 2])]
    minimum = chance.choice([0, 0, 100, 1024])
    rule = marker_rule(
        kind=kind,
        ttls=ttls,
        minimum_tokens=Range(low=minimum, high=minimum, likely=minimum, sources=()),
        most_markers=chance.choice([1, 2, 3, 4, None]) if kind == "markers" else 4,
        look_back=chance.choice([1, 2, 3, 5, None]),
        runs_collapse=chance.random() < 0.5,
        refreshed_by_reads=chance.random() < 0.9,
    )
    write = chance.choice([1.0, 1.25, 2.0])
    price = None
    if chance.random() < 0.8:
        price = Price(
            provider="made-up",
            model="m",
            input_usd_per_mtok=chance.choice([0.5, 3.0, 15.0]),
            read_usd_per_mtok=chance.choice([0.0, 0.05, 0.3]),
            write_usd_per_mtok={"5m": 3 * write, "1h": 6.0},
        )
    held: tuple[Held, ...] = ()
    if known if known is not None else chance.random() < 0.5:
        many = chance.sample(range(1, count + 1), min(chance.randint(1, 3), count))
        held = tuple(Held(at, chance.choice([0.0, 0.2, 0.9, 1.0])) for at in many)
    return Case(
        laid=Laid(tuple(pieces)),
        rule=rule,
        price=price,
        forecast=_random_forecast(chance, count, changes=chance.choice([0, 2, count])),
        held=held,
        most=chance.choice([None, None, 0, 1, 2, 3]),
    )


def _random_forecast(chance: Random, count: int, *, changes: int) -> Table:
    places = set(chance.sample(range(1, count + 1), min(changes, count)))
    short = long = chance.choice([1.0, 0.9, 0.4])
    rows: dict[float, list[float]] = {300: [1.0], 3600: [1.0]}
    for at in range(1, count + 1):
        if at in places:
            short *= chance.choice([0.0, 0.3, 0.9])
            long *= chance.choice([0.5, 0.95, 1.0])
        rows[300].append(min(short, long))
        rows[3600].append(long)
    return Table({ttl_s: tuple(row) for ttl_s, row in rows.items()})


def placements(
    allowed: Sequence[int], most: int, lifetimes: int
) -> Iterator[tuple[tuple[int, int], ...]]:
    """All marks that there are, as boundary and number of the lifetime, the longest first."""
    for count in range(min(most, len(allowed)) + 1):
        for places in combinations(allowed, count):
            for numbers in combinations_with_replacement(range(lifetimes), count):
                yield tuple(zip(places, numbers, strict=True))


def twin_score(
    tokens: Sequence[int],
    *,
    marks: Sequence[tuple[int, int]],
    alive: Sequence[Sequence[float]],
    prices: tuple[float, float, Sequence[float], int],
    readable: Sequence[tuple[int, float]] | None,
) -> float:
    """The score by its definition, token stretch by token stretch, nothing remembered.

    `prices` are those of input, read, writes by lifetime, and the number of the default lifetime;
    `readable` the entries that some mark reads with their chances, None for an average request.
    """
    plain, read, writes, usual = prices
    total = 0.0
    for at in range(1, len(tokens)):
        stretch = tokens[at] - tokens[at - 1]
        over = [mark for mark in marks if mark[0] >= at]
        if not over:
            total += stretch * plain
            continue
        boundary, lifetime = min(over)
        p, write = alive[lifetime][boundary], writes[lifetime]
        steady = p * read + (1 - p) * write
        if readable is None:
            total += stretch * steady
            continue
        now = max((chance for entry, chance in readable if entry >= at), default=0.0)
        kept = alive[usual][boundary] * (writes[usual] - read)
        total += stretch * (now * (read - kept) + (1 - now) * steady)
    return total
