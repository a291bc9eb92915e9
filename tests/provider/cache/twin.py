"""A dumb twin of the simulator: it keeps every prompt and goes through all of them each time.

It shares no code with the caches but the shapes: families, states and counts are written anew, by
definition and without care for cost.
"""

import math
from dataclasses import dataclass
from itertools import groupby, pairwise

from stemcache.provider.rule import Rule
from stemcache.provider.shape import Position, Shape


@dataclass
class Sent:
    """An earlier request."""

    shape: Shape
    now_s: float | None
    readable_s: float | None
    scope: str
    routing: str
    read_chain: int | None
    common: int | None


@dataclass
class Told:
    """What the twin says of a request."""

    read: int
    written: int
    expired: int
    raced: int
    routed: int
    doubtful: int
    read_chain: int | None


@dataclass
class State:
    """An entry, replayed."""

    started_s: float
    readable_s: float
    ttl: int
    ended: bool


class Twin:
    """Quadratic in everything."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.sent: list[Sent] = []

    def send(
        self,
        shape: Shape,
        *,
        now_s: float | None,
        readable_s: float | None,
        scope: str,
        routing: str,
    ) -> Told:
        """What the request reads and writes; it is an earlier one from then on."""
        lane = [one for one in self.sent if one.scope == scope and one.routing == routing]
        every = [one for one in self.sent if one.scope == scope]
        own = self.finds(shape, lane, now_s)
        there = {"fresh", "doubtful"}
        read = self.best(shape, own, there)
        chains = [
            chain
            for tokens, state, chain in own
            if state in there and read and self.worth(shape, tokens) == read
        ]
        others = self.finds(shape, every, now_s) if self.rule.routing_fields else []
        told = Told(
            read=read,
            written=max(self.top(shape) - read, 0),
            expired=self.best(shape, own, there | {"expired"}) - read,
            raced=self.best(shape, own, there | {"racing"}) - read,
            routed=max(self.best(shape, others, there) - read, 0),
            doubtful=read - self.best(shape, own, {"fresh"}),
            read_chain=chains[-1] if chains else None,
        )
        self.sent.append(
            Sent(
                shape, now_s, readable_s, scope, routing, told.read_chain, self.common(shape, every)
            )
        )
        return told

    def best(self, shape: Shape, finds: list[tuple[int, str, int]], states: set[str]) -> int:
        """The most that entries in one of these states are worth."""
        worths = (self.worth(shape, tokens) for tokens, state, _ in finds if state in states)
        return max(worths, default=0)

    def finds(
        self, shape: Shape, lane: list[Sent], now_s: float | None
    ) -> list[tuple[int, str, int]]:
        """Tokens, state and chain of every cut that somebody left, shortest first."""
        found: list[tuple[int, str, int]] = []
        for chain, tokens in looked_up(self.rule, shape):
            state = self.replay(chain, lane)
            if state is not None:
                found.append((tokens, self.name(state, now_s), chain))
        if self.rule.keeps_answer:
            for before, message in pairwise(messages(shape)):
                if message[-1].role != "assistant" or not message[-1].ends_message:
                    continue
                state = self.replay(before[-1].chain, lane)
                if state is not None and state.ended:
                    found.append(
                        (message[-1].end_tokens, self.name(state, now_s), before[-1].chain)
                    )
        return sorted(found, key=lambda one: one[0])

    def replay(self, chain: int, lane: list[Sent]) -> State | None:
        """All that requests did to one entry, from the first on."""
        state: State | None = None
        for one in lane:
            mark = self.touches(one, chain)
            if mark is None:
                continue
            started_s = math.nan if one.now_s is None else one.now_s
            readable_s = -math.inf if one.readable_s is None else one.readable_s
            ended = (
                self.rule.keeps_answer
                and bool(one.shape.output_tokens)
                and chain == one.shape.positions[-1].chain
                and (one.read_chain != chain or chain in kept(self.rule, one.shape))
                and chain in kept(self.rule, one.shape)
            )
            made = State(started_s, readable_s, mark, ended)
            if state is None or self.name(state, one.now_s) == "expired":
                state = made
                continue
            if self.rule.refreshed_by_reads or self.name(state, one.now_s) == "racing":
                known = [t for t in (state.started_s,) if not math.isnan(t)]
                state.started_s = (
                    max([started_s, *known]) if not math.isnan(started_s) else started_s
                )
            state.readable_s = min(state.readable_s, readable_s)
            state.ended = state.ended or ended
        return state

    def touches(self, one: Sent, chain: int) -> int | None:
        """The lifetime that a request gives to an entry; None where it leaves it alone."""
        default = self.lifetime(one.shape, None)
        by_chain = kept(self.rule, one.shape)
        if chain in by_chain:
            place = by_chain[chain]
            return default if place is None else self.lifetime(one.shape, place)
        if chain in (one.read_chain, one.common):
            return default
        return None

    def lifetime(self, shape: Shape, place: Position | None) -> int:
        """Number of the TTL."""
        mark = (place.mark if place is not None else None) or shape.automatic
        names = [ttl.name for ttl in self.rule.ttls]
        return names.index(mark.ttl) if mark is not None and mark.ttl in names else 0

    def name(self, state: State, now_s: float | None) -> str:
        """Fresh, doubtful, racing or expired."""
        if now_s is None:
            return "fresh"
        lasts = [(ttl.low_s, ttl.high_s) for ttl in self.rule.ttls] or [(math.inf, math.inf)]
        low_s, high_s = lasts[state.ttl]
        if now_s - state.started_s > high_s:
            return "expired"
        if now_s < state.readable_s:
            return "racing"
        return "doubtful" if now_s - state.started_s > low_s else "fresh"

    def worth(self, shape: Shape, tokens: int) -> int:
        """What is counted."""
        if self.rule.kind == "units":
            tokens = min(tokens, shape.tokens - 1)
        if tokens < self.rule.minimum_tokens.likely:
            return 0
        return tokens // self.rule.unit_tokens * self.rule.unit_tokens

    def top(self, shape: Shape) -> int:
        """The longest prefix that the request keeps."""
        if self.rule.kind == "units":
            if shape.tokens < self.rule.minimum_tokens.likely:
                return 0
            return shape.tokens // self.rule.unit_tokens * self.rule.unit_tokens
        ends = {place.chain: place.end_tokens for place in shape.positions}
        return max((ends[chain] for chain in kept(self.rule, shape)), default=0)

    def common(self, shape: Shape, every: list[Sent]) -> int | None:
        """Where the longest prefix ends that an earlier request has too."""
        if self.rule.kind != "persisted-units":
            return None
        seen = {chain for one in every for chain, _ in sampled(one.shape)}
        both = [(chain, tokens) for chain, tokens in sampled(shape) if chain in seen]
        if not both or both[-1][1] < self.rule.minimum_tokens.likely:
            return None
        return both[-1][0]


def sampled(shape: Shape) -> list[tuple[int, int]]:
    """Chain and tokens of the positions and of every fourth other cut."""
    own = {place.chain for place in shape.positions}
    cuts = zip(shape.fine_chain.tolist(), shape.fine_tokens.tolist(), strict=True)
    return [(chain, tokens) for chain, tokens in cuts if chain % 4 == 0 or chain in own]


def messages(shape: Shape) -> list[list[Position]]:
    """The prompt's blocks by message; tools are one of their own."""
    return [list(group) for _, group in groupby(shape.positions, key=lambda place: place.message)]


def kept(rule: Rule, shape: Shape) -> dict[int, Position | None]:
    """Chains of the entries that a request leaves, and the position that asks for each."""
    if rule.kind == "units":
        if shape.tokens < rule.minimum_tokens.likely:
            return {}
        return dict.fromkeys(chain for chain, _ in sampled(shape))
    if rule.kind == "persisted-units":
        places = list(shape.positions[-1:])
    elif rule.kind == "markers":
        places = marked(rule, shape)
    else:
        assert rule.most_markers is not None
        explicit = [place for place in shape.positions if place.mark]
        if shape.implicit:
            ends = [place for place in shape.positions if place in eligible(shape)]
            room = rule.most_markers - len(ends[-1:])
            places = explicit[len(explicit) - min(room, len(explicit)) :] + ends[-1:]
            places += developer(shape)[-1:]
        else:
            places = explicit[-rule.most_markers :]
    return {
        place.chain: place for place in places if place.end_tokens >= rule.minimum_tokens.likely
    }


def looked_up(rule: Rule, shape: Shape) -> list[tuple[int, int]]:
    """Chain and tokens of the cuts that a request looks at."""
    if rule.kind in {"units", "persisted-units"}:
        return sampled(shape)
    places: list[Position] = []
    if rule.kind == "markers":
        for mark in marked(rule, shape):
            before = shape.positions[: shape.positions.index(mark) + 1]
            groups: list[list[Position]] = []
            for place in reversed(before):
                joins = (
                    groups and rule.runs_collapse and place.run and place.run == groups[-1][-1].run
                )
                if joins:
                    groups[-1].append(place)
                else:
                    groups.append([place])
            places += [place for group in groups[: rule.look_back] for place in group]
    else:
        explicit = [place for place in shape.positions if place.mark]
        places += explicit[:2] + explicit[-50:]
        if shape.implicit:
            places += eligible(shape)[-21:] + developer(shape)[-1:]
    return [(place.chain, place.end_tokens) for place in places]


def marked(rule: Rule, shape: Shape) -> list[Position]:
    """The blocks whose markers count."""
    last = shape.positions[-1]
    places = [
        place
        for place in shape.positions
        if place.mark or (shape.automatic is not None and place is last)
    ]
    return places if rule.most_markers is None else places[-rule.most_markers :]


def developer(shape: Shape) -> list[Position]:
    """Ends of the developer messages that the prompt begins with."""
    found: list[Position] = []
    for message in messages(shape):
        if message[0].role == "":
            continue
        if message[-1].role not in {"system", "developer"}:
            break
        found.append(message[-1])
    return found


def eligible(shape: Shape) -> list[Position]:
    """Endings that can be breakpoints."""
    talk = [message for message in messages(shape) if message[0].role != ""]
    found: list[Position] = []
    for number, message in enumerate(talk):
        end = message[-1]
        tool = end.role == "tool" or end.run == "tool_result"
        follows = talk[number + 1][-1] if number + 1 < len(talk) else None
        if tool:
            if follows is None or (follows.role != "tool" and follows.run != "tool_result"):
                found.append(end)
        elif end.role == "user" or (developer(shape) and end is developer(shape)[-1]):
            found.append(end)
    return found
