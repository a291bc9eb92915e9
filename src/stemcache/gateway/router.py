"""The gateway's choice and what it learns, without any I/O: `choose`, then tell what happened.

```
            choose                sent              first            done
  Prompt ────────────► Decision ────────► Flight ─────────► · ─────────────────► mirror, rates,
                          ▲                  └──────────── failed ──► another     self-check
          views of seats ─┘ mirror (events, else a guess) · load · state
```
Every flight ends once, in `done` or `failed`. Costs: `choose` some 2 µs a seat, and a walk
of the mirror; the others are O(nodes of the prompt's path).
"""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from random import Random
from typing import Any

import msgspec

from stemcache.gateway.decision import Decision, Source
from stemcache.gateway.fleet import Fleet
from stemcache.gateway.gossip import Placement, placement
from stemcache.gateway.guess import Verdict
from stemcache.gateway.keys import FIRST_RUNG, TEXT_UNIT_BYTES
from stemcache.gateway.member import Able, Member, Seat
from stemcache.gateway.notice import Listener, Notice, NoticeKind
from stemcache.gateway.prompt import Prompt
from stemcache.gateway.replica import ReplicaSpec
from stemcache.gateway.report import view_report
from stemcache.gateway.self_check import Standing
from stemcache.gateway.settings import Agree, GatewaySettings
from stemcache.gateway.usage import AnswerUsage
from stemcache.policy.route import make
from stemcache.policy.route.anchors import Anchors
from stemcache.policy.route.contract import Ask, Choice, Reads, Weighs
from stemcache.policy.route.load import Sent
from stemcache.policy.route.predict import tidy, ttft_s

__all__ = ["Flight", "Router"]

_HEAD_UNITS = 8
"""About 256 tokens: what prefix hashing looks at."""
_ANCHOR_KEYS = 131_072
_FIRST_BYTES = FIRST_RUNG * TEXT_UNIT_BYTES
_OTHERS_S = 2.0
"""What another gateway said of its load longer ago is not counted."""
_SILENT = AnswerUsage()
_REFUSED = "refused"
# Plain names: to name a member of an enumeration takes six times as long.
_NOTHING, _PROMPT = Reads.NOTHING, Reads.PROMPT
_NONE = Source.NONE
_RESET = Verdict.RESET_SUSPECTED
_AGREES, _DISAGREES = Standing.AGREES, Standing.DISAGREES


class Flight(msgspec.Struct):
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
    after: "Flight | None" = None
    """The attempt before it, of the same request, that failed."""
    fault: str | None = None
    """What its seat is to blame for as soon as another answers the request."""
    busy_s: float | None = None
    """For so long the seat said to be busy; it counts likewise."""


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
            if self._policy.reads is not _PROMPT:
                self.mirror.forget_guesses()
                for member, seat in self._seats.values():  # as what was found shows in their views
                    seat.view = seat.load.blank(seat.name, weight=member.spec.weight)
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
        able = self._eligible(prompt.model, now_s, exclude)
        if not able.numbers:
            return None
        tokens = self.mirror.prompt_tokens(prompt)
        sources = self._look(prompt, able, tokens, now_s)
        asked, policy = self._ask(prompt, tokens), self._policy
        choice = policy.choose(asked, able.views, now_s=now_s, rng=self._rng)
        return _decision(prompt, tokens, able, sources, choice)

    def explain(self, prompt: Prompt, *, now_s: float) -> dict[str, Any]:
        """What `choose` would say, what it saw, and who could not be chosen and why."""
        able = self._eligible(prompt.model, now_s, frozenset())
        tokens = self.mirror.prompt_tokens(prompt)
        sources, views = self._look(prompt, able, tokens, now_s), able.views
        decision, costs = None, None
        asked = self._ask(prompt, tokens)
        if views:
            # Its turn, its counts and its chance stay as they are.
            policy, rng = self._policy.fork(), copy(self._rng)
            if isinstance(policy, Weighs):
                costs = policy.weigh(asked, views, now_s=now_s)
            choice = policy.choose(asked, views, now_s=now_s, rng=rng)
            decision = _decision(prompt, tokens, able, sources, choice)
        asked, tidied = tidy(asked, views)
        waits_s = [ttft_s(asked, view) for view in tidied]
        most = self._settings.limits.per_replica
        chosen_from = {member.spec.name for member, _ in able.seats}
        return {
            "decision": None if decision is None else decision.as_json(),
            "policy": self._settings.policy,
            "model": prompt.model,
            "unread": prompt.unread,
            "seats": view_report(views, sources or [_NONE] * len(views), waits_s, costs),
            "left_out": {
                member.spec.name: member.refuses(prompt.model, now_s, most)
                for member in self._members.values()
                if member.spec.name not in chosen_from
            },
        }

    def sent(
        self, decision: Decision, prompt: Prompt, *, now_s: float, after: Flight | None = None
    ) -> Flight:
        """The request goes there now: counted as load, and as what the seat will hold.

        `after`: the attempt of the same request that failed last, elsewhere.
        """
        member, seat = self._seats[decision.seat]
        trial = member.breaker.sent(now_s)
        seat.reasons[decision.choice.reason] += 1
        tokens = decision.prompt_tokens
        computed = max(tokens - decision.predicted_cached, 1)
        sent = seat.load.sent(tokens, computed, now_s=now_s, streams=prompt.stream)
        units = 0
        if self._policy.reads is _PROMPT:
            units = self.mirror.routed(seat.number, prompt)
            if self.on_placed is not None:
                keys = self.mirror.keys_for(seat.number, prompt)
                if keys is not None and not self.mirror.follows(seat.number):
                    self.on_placed(placement(seat.name, keys))
            if prompt.text is not None and (rungs := prompt.text.rungs()):
                self._anchors.seen(rungs, tokens, now_s=now_s)
        return Flight(decision, prompt, now_s, sent, units, trial, after=after)

    def first(self, flight: Flight, *, now_s: float) -> None:
        """The first byte of the answer's body came (status below 400)."""
        if flight.first_s is not None or flight.landed:
            return
        flight.first_s = now_s
        found = self._seats.get(flight.decision.seat)
        if found is not None:
            member, seat = found
            if flight.prompt.stream:
                seat.load.first(flight.sent, now_s=now_s)
            member.breaker.succeeded(now_s, trial=flight.trial)
        if flight.after is not None:
            self._count_faults(flight, now_s)

    def done(self, flight: Flight, usage: AnswerUsage | None, *, now_s: float) -> None:
        """The answer is complete."""
        if (found := self._land(flight, "done")) is None:
            return
        member, seat = found
        usage = usage or _SILENT
        prompt, cached = usage.prompt_tokens, usage.cached_tokens
        if prompt is None:
            prompt = flight.decision.prompt_tokens
        if cached is not None and not 0 <= cached <= prompt:
            cached = None  # what cannot be is not believed
        seat.load.done(
            flight.sent,
            now_s=now_s,
            streamed=flight.prompt.stream,
            computed_tokens=None if cached is None else prompt - cached,
            output_tokens=usage.output_tokens,
        )
        member.breaker.succeeded(now_s, trial=flight.trial)
        if flight.after is not None:
            self._count_faults(flight, now_s)
        if cached is None:
            seat.check.add_silent()
        elif flight.decision.source is not _NONE:
            self._check(seat, flight, usage, cached, prompt)
        else:
            seat.check.add_unpredicted(cached, prompt)
            self.mirror.learn_length(flight.prompt, usage)
        if member.leaving:
            self._sweep(member)

    def failed(
        self,
        flight: Flight,
        kind: str,
        *,
        now_s: float,
        blame: bool,
        busy_s: float | None = None,
    ) -> None:
        """It ended otherwise.

        `kind`: refused, timeout, dropped, status-503, client-left …; `blame`: whether it counts
        against the seat (a client that leaves does not); `busy_s`: for how long the seat says that
        it can take no more, which is no fault.

        A request can be what makes seats fail: of its attempts the first counts, so that one client
        cannot close the whole fleet with a few of them; the others as soon as one after them is
        answered. A connection that is refused is no request's doing.
        """
        if (found := self._land(flight, kind)) is None:
            return
        member, seat = found
        seat.load.lost(flight.sent, now_s=now_s)
        flight.busy_s = busy_s
        flight.fault = kind if blame and busy_s is None else None
        counts = flight.after is None or kind == _REFUSED
        if flight.trial and not (counts and flight.fault):
            member.breaker.abandoned()
        if counts:
            self._count_fault(flight, now_s)
        self._sweep(member)

    def _count_faults(self, answered: Flight, now_s: float) -> None:
        """Others have failed a request that one answers: it was their own doing."""
        flight, answered.after = answered.after, None
        while flight is not None:
            self._count_fault(flight, now_s)
            flight = flight.after

    def _count_fault(self, flight: Flight, now_s: float) -> None:
        """Once."""
        found = self._seats.get(flight.decision.seat)
        fault, busy_s = flight.fault, flight.busy_s
        flight.fault = flight.busy_s = None
        if found is None:
            return
        if busy_s is not None:
            self._avoid(found[0], now_s, for_s=busy_s)
        elif fault is not None:
            self._blame(found[0], fault, now_s, trial=flight.trial)

    def _land(self, flight: Flight, outcome: str) -> tuple[Member, Seat] | None:
        assert not flight.landed, "a flight ends once"
        flight.landed = True
        found = self._seats.get(flight.decision.seat)
        if found is None:
            return None
        if flight.units:
            self.mirror.landed(flight.decision.seat, flight.units)
        found[1].outcomes[outcome] += 1
        return found

    def _sweep(self, member: Member) -> None:
        if member.leaving and not member.in_flight:
            self._forget(member)

    def _look(self, prompt: Prompt, able: Able, tokens: int, now_s: float) -> Sequence[Source]:
        """Bring the seats' views up to date. A source for each; none where nobody looks."""
        told = now_s - self._told_s < _OTHERS_S
        gateways = 1 if told else self._settings.gateways  # what others have there is known
        for load, view in zip(able.loads, able.views, strict=True):
            load.look(view, now_s=now_s, gateways=gateways)
        if told:
            for _, seat in able.seats:
                if seat.others:
                    _add_others(seat, now_s)
        if self._policy.reads is not _PROMPT:
            return ()
        return self.mirror.show(prompt, able.numbers, able.views, tokens)

    def _ask(self, prompt: Prompt, tokens: int) -> Ask:
        if self._policy.reads is _NOTHING:
            return Ask(tokens)
        text = prompt.text
        if text is None or not (keys := text.keys):
            return Ask(tokens, prompt.session)
        head = keys[_HEAD_UNITS - 1] if len(keys) >= _HEAD_UNITS else keys[-1]
        rungs = text.rungs()
        if not rungs:
            return Ask(tokens, prompt.session, head)
        anchor = self._anchors.anchor(rungs, seats=len(self._seats))
        held = tokens * (_FIRST_BYTES << rungs.index(anchor)) // prompt.text_bytes
        return Ask(tokens, prompt.session, head, anchor, held)

    def _check(
        self, seat: Seat, flight: Flight, usage: AnswerUsage, cached: int, prompt: int
    ) -> None:
        """Compare with what was predicted what an answer says of its tokens."""
        predicted = flight.decision.predicted_cached
        slack = self.mirror.slack(seat.number, flight.prompt)
        changed = seat.check.add(predicted, cached, prompt, slack=max(slack, prompt // 50))
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
    prompt: Prompt, tokens: int, able: Able, sources: Sequence[Source], choice: Choice
) -> Decision:
    at, _, other, _, _ = choice
    member, seat = able.seats[at]
    return Decision(
        seat.number,
        seat.name,
        member.spec,
        seat.rank,
        choice,
        able.views[at].cached_tokens if sources else 0,
        tokens,
        prompt.prompt_tokens is not None,
        None if other is None else able.seats[other][1].name,
        sources[at] if sources else _NONE,
    )


def _add_others(seat: Seat, now_s: float) -> None:
    """What other gateways have there, in its view."""
    for other in seat.others.values():
        if now_s - other.told_s < _OTHERS_S:
            seat.load.add_others(seat.view, other.in_flight, other.waiting_tokens)
