"""The gateway's choice and what it learns, without any I/O: `choose`, then tell what happened.

```
            choose                sent              first            done
  Prompt ────────────► Decision ────────► Flight ─────────► · ─────────────────► mirror, rates,
                          ▲                  └──────────── failed ──► another     self-check
          views of seats ─┘ mirror (events, else a guess) · load · state
```
Every flight ends once, in `done` or `failed`. Costs: `choose` some 5 µs a seat, and a walk
of the mirror; the others are O(nodes of the prompt's path).
"""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from stemcache.gateway.decision import Decision, Source
from stemcache.gateway.fleet import Fleet
from stemcache.gateway.gossip import Placement, placement
from stemcache.gateway.guess import Verdict
from stemcache.gateway.keys import Keys
from stemcache.gateway.member import Member, Seat
from stemcache.gateway.mirror import NOTHING, Belief
from stemcache.gateway.notice import Listener, Notice, NoticeKind
from stemcache.gateway.prompt import Prompt
from stemcache.gateway.replica import ReplicaSpec
from stemcache.gateway.report import view_report
from stemcache.gateway.self_check import Standing
from stemcache.gateway.settings import Agree, GatewaySettings
from stemcache.gateway.usage import AnswerUsage
from stemcache.policy.route import make
from stemcache.policy.route.anchors import Anchors
from stemcache.policy.route.contract import Ask, Choice, Reads, View
from stemcache.policy.route.load import Sent

__all__ = ["Flight", "Router"]

_HEAD_UNITS = 8
"""About 256 tokens: what prefix hashing looks at."""
_ANCHOR_KEYS = 65_536
_OTHERS_S = 2.0
"""What another gateway said of its load longer ago is not counted."""
_NO_ROOM: tuple[int, int | None] = 0, None


@dataclass(slots=True)
class Flight:
    """A request at a seat, from `sent` to `done` or `failed`."""

    decision: Decision
    prompt: Prompt
    sent_s: float
    sent: Sent
    units: int
    """Pending in the mirror by it."""
    trial: bool = False
    """Whether it tries a replica whose breaker had opened."""
    first_s: float | None = None
    landed: bool = False


class Router(Fleet):
    """A fleet that chooses among its seats. Not thread-safe."""

    def __init__(
        self,
        settings: GatewaySettings,
        *,
        rng: Random,
        on_notice: Listener = lambda _notice: None,
    ) -> None:
        super().__init__(settings, on_notice=on_notice)
        self._rng = rng
        self._policy = make(settings.policy, by_hash=settings.agree is Agree.HASH)
        self._anchors = Anchors(_ANCHOR_KEYS)
        self.on_placed: Callable[[Placement], None] | None = None
        """Told what is sent where, for other gateways."""

    def configure(self, settings: GatewaySettings, replicas: Iterable[ReplicaSpec]) -> None:
        """As `Fleet.configure`, and the policy where it is another."""
        before = self._settings
        if (settings.policy, settings.agree) != (before.policy, before.agree):
            self._policy = make(settings.policy, by_hash=settings.agree is Agree.HASH)
            if self._policy.reads is not Reads.PROMPT:
                self.mirror.forget_guesses()
        super().configure(settings, replicas)

    def reads(self) -> Reads:
        """What is to be read of requests: as much as the policy looks at."""
        return self._policy.reads

    def choose(
        self, prompt: Prompt, *, now_s: float, exclude: frozenset[int] = frozenset()
    ) -> Decision | None:
        """Pure but for the policy's turn and counts; `explain` leaves those too as they are.

        None where no seat can take it (down, draining, full, or does not serve the model).
        """
        seats = self._eligible(prompt.model, now_s, exclude)
        if not seats:
            return None
        tokens = self.mirror.prompt_tokens(prompt)
        beliefs = self._beliefs(prompt, seats, tokens)
        views = self._views(seats, beliefs, now_s)
        ask = self._ask(prompt, tokens)
        choice = self._policy.choose(ask, views, now_s=now_s, rng=self._rng)
        return _decision(prompt, tokens, seats, beliefs, choice)

    def explain(self, prompt: Prompt, *, now_s: float) -> dict[str, Any]:
        """What `choose` would say, what it saw, and who could not be chosen and why."""
        seats = self._eligible(prompt.model, now_s, frozenset())
        tokens = self.mirror.prompt_tokens(prompt)
        beliefs = self._beliefs(prompt, seats, tokens)
        views = self._views(seats, beliefs, now_s)
        decision = None
        if seats:
            # Its turn, its counts and its chance stay as they are.
            policy, rng = self._policy.fork(), copy(self._rng)
            choice = policy.choose(self._ask(prompt, tokens), views, now_s=now_s, rng=rng)
            decision = _decision(prompt, tokens, seats, beliefs, choice)
        most = self._settings.limits.per_replica
        chosen_from = {member.spec.name for member, _ in seats}
        return {
            "decision": None if decision is None else decision.as_json(),
            "policy": self._settings.policy,
            "model": prompt.model,
            "unread": prompt.unread,
            "seats": view_report(views, beliefs),
            "left_out": {
                member.spec.name: member.refuses(prompt.model, now_s, most)
                for member in self._members.values()
                if member.spec.name not in chosen_from
            },
        }

    def sent(self, decision: Decision, prompt: Prompt, *, now_s: float) -> Flight:
        """The request goes there now: counted as load, and as what the seat will hold."""
        member, seat = self._seats[decision.seat]
        trial = member.breaker.sent(now_s)
        seat.reasons[decision.choice.reason] += 1
        computed = max(1, decision.prompt_tokens - decision.predicted_cached)
        sent = seat.load.sent(decision.prompt_tokens, computed, now_s=now_s, streams=prompt.stream)
        units = 0
        if self._policy.reads is Reads.PROMPT:
            units = self.mirror.routed(seat.number, prompt)
            if self.on_placed is not None:
                keys = self.mirror.keys_for(seat.number, prompt)
                if keys is not None and not self.mirror.follows(seat.number):
                    self.on_placed(placement(seat.name, keys))
            rungs = prompt.text.rungs() if prompt.text is not None else []
            if rungs:
                self._anchors.seen(rungs, decision.prompt_tokens, now_s=now_s)
        return Flight(decision, prompt, now_s, sent, units, trial)

    def first(self, flight: Flight, *, now_s: float) -> None:
        """The first byte of the answer's body came (status below 400)."""
        if flight.first_s is not None or flight.landed:
            return
        flight.first_s = now_s
        found = self._seats.get(flight.decision.seat)
        if found is not None:
            member, seat = found
            seat.load.first(flight.sent, now_s=now_s)
            member.breaker.succeeded(now_s, trial=flight.trial)

    def done(self, flight: Flight, usage: AnswerUsage | None, *, now_s: float) -> None:
        """The answer is complete."""
        if (found := self._land(flight, "done")) is None:
            return
        member, seat = found
        usage = usage or AnswerUsage()
        reported = _plausible(usage, flight.decision)
        seat.load.done(
            flight.sent,
            now_s=now_s,
            streamed=flight.prompt.stream,
            computed_tokens=None if reported is None else reported.computed,
            output_tokens=usage.output_tokens,
        )
        member.breaker.succeeded(now_s, trial=flight.trial)
        if reported is None:
            seat.check.add_silent()
        elif flight.decision.source is not Source.NONE:
            self._check(seat, flight, reported, usage)
        else:
            seat.check.add_unpredicted(reported.cached, reported.prompt)
            self.mirror.learn_length(flight.prompt, usage)
        self._sweep(member)

    def failed(self, flight: Flight, kind: str, *, now_s: float, blame: bool) -> None:
        """It ended otherwise.

        `kind`: refused, timeout, dropped, status-503, client-left …; `blame`: whether it counts
        against the seat (a client that leaves does not).
        """
        if (found := self._land(flight, kind)) is None:
            return
        member, seat = found
        seat.load.lost(flight.sent, now_s=now_s)
        if blame:
            before = member.breaker.opened
            member.breaker.failed(now_s, trial=flight.trial)
            if member.breaker.opened > before:
                self._say(Notice(NoticeKind.BREAKER_OPEN, member.spec.name, kind))
        elif flight.trial:
            member.breaker.abandoned()
        self._sweep(member)

    def _land(self, flight: Flight, outcome: str) -> tuple[Member, Seat] | None:
        assert not flight.landed, "a flight ends once"
        flight.landed = True
        found = self._seats.get(flight.decision.seat)
        if found is None:
            return None
        self.mirror.landed(flight.decision.seat, flight.units)
        found[1].outcomes[outcome] += 1
        return found

    def _sweep(self, member: Member) -> None:
        if member.leaving and not member.in_flight:
            self._forget(member)

    def _beliefs(
        self, prompt: Prompt, seats: Sequence[tuple[Member, Seat]], tokens: int
    ) -> list[Belief]:
        """One a seat."""
        if self._policy.reads is not Reads.PROMPT:
            return [NOTHING] * len(seats)
        return list(
            self.mirror.beliefs(prompt, [seat.number for _, seat in seats], tokens).values()
        )

    def _views(
        self, seats: Sequence[tuple[Member, Seat]], beliefs: Sequence[Belief], now_s: float
    ) -> list[View]:
        told = now_s - self._told_s < _OTHERS_S
        gateways = 1 if told else self._settings.gateways  # what others have there is known
        if self._policy.reads is Reads.PROMPT:
            rooms = self.mirror.rooms([seat.number for _, seat in seats])
        else:
            rooms = [_NO_ROOM] * len(seats)
        views = []
        for (member, seat), belief, (held, capacity) in zip(seats, beliefs, rooms, strict=True):
            view = seat.load.view(
                seat.name,
                cached_tokens=belief.cached,
                slow_tokens=belief.slow,
                now_s=now_s,
                weight=member.spec.weight,
                held_tokens=held,
                capacity_tokens=capacity,
                gateways=gateways,
            )
            if seat.others:
                _add_others(view, seat, now_s)
            views.append(view)
        return views

    def _ask(self, prompt: Prompt, tokens: int) -> Ask:
        if self._policy.reads is Reads.NOTHING:
            return Ask(tokens)
        rungs = prompt.text.rungs() if prompt.text is not None else []
        return Ask(
            prompt_tokens=tokens,
            session=prompt.session,
            head=_head(prompt.text),
            anchor=self._anchors.anchor(rungs, seats=len(self._seats)) if rungs else 0,
        )

    def _check(self, seat: Seat, flight: Flight, reported: "_Report", usage: AnswerUsage) -> None:
        predicted = flight.decision.predicted_cached
        slack = self.mirror.slack(seat.number, flight.prompt)
        changed = seat.check.add(
            predicted, reported.cached, reported.prompt, slack=max(slack, reported.prompt // 50)
        )
        verdict = self.mirror.reported(seat.number, flight.prompt, predicted, usage, slack=slack)
        if verdict is Verdict.RESET_SUSPECTED:
            self._lost(seat, "it reports that what it always holds is gone")
        elif changed is Standing.DISAGREES:
            detail = (
                f"{seat.check.differing} of {seat.check.answers} answers differ; predicted "
                f"{seat.check.predicted_tokens} and reported {seat.check.reported_tokens} tokens"
            )
            if self.mirror.follows(seat.number):
                self.mirror.clear(seat.number)
                seat.check.repaired()
                self.on_resync(Notice(NoticeKind.DISAGREES, seat.name, detail))
            elif seat.check.predicts_too_much:
                self.mirror.clear(seat.number)
                seat.check.repaired()
            self._say(Notice(NoticeKind.DISAGREES, seat.name, detail))
        elif changed is Standing.AGREES:
            self._say(Notice(NoticeKind.AGREES, seat.name))


def _decision(
    prompt: Prompt,
    tokens: int,
    seats: Sequence[tuple[Member, Seat]],
    beliefs: Sequence[Belief],
    choice: Choice,
) -> Decision:
    member, seat = seats[choice.seat]
    belief = beliefs[choice.seat]
    return Decision(
        seat=seat.number,
        name=seat.name,
        replica=member.spec,
        rank=seat.rank,
        choice=choice,
        predicted_cached=belief.cached,
        prompt_tokens=tokens,
        exact=prompt.prompt_tokens is not None,
        runner_up=None if choice.runner_up is None else seats[choice.runner_up][1].name,
        source=belief.source,
    )


class _Report(NamedTuple):
    prompt: int
    cached: int

    @property
    def computed(self) -> int:
        return self.prompt - self.cached


def _plausible(usage: AnswerUsage, decision: Decision) -> _Report | None:
    """What an answer says of its cache, where it says it and can be believed."""
    cached = usage.cached_tokens
    prompt = usage.prompt_tokens if usage.prompt_tokens is not None else decision.prompt_tokens
    if cached is None or not 0 <= cached <= prompt:
        return None
    return _Report(prompt, cached)


def _add_others(view: View, seat: Seat, now_s: float) -> None:
    """What other gateways have there, in a view that nobody has seen yet."""
    for other in seat.others.values():
        if now_s - other.told_s < _OTHERS_S:
            view.in_flight += other.in_flight
            view.waiting_tokens += other.waiting_tokens
            view.tidy = False  # others' figures


def _head(text: Keys | None) -> int:
    if text is None or not text.keys:
        return 0
    return text.keys[min(_HEAD_UNITS, len(text)) - 1]
