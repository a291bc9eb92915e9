"""The gateway's choice and what it learns, without any I/O: `choose`, then tell what happened.

```
            choose                sent              first            done
  Prompt ────────────► Decision ────────► Flight ─────────► · ─────────────────► mirror, rates,
                          ▲                  └──────────── failed ──► another     self-check
          views of seats ─┘ mirror (events, else a guess) · load · state
```
Every flight ends once, in `done` or `failed`. Costs: `choose` some microseconds a seat, and a walk
of the mirror; the others are O(nodes of the prompt's path).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from stemcache.gateway.breaker import Breaker, BreakerState
from stemcache.gateway.decision import Decision, Source
from stemcache.gateway.holdings import Holdings
from stemcache.gateway.keys import Keys
from stemcache.gateway.member import Member, Seat
from stemcache.gateway.mirror import Belief, Mirror
from stemcache.gateway.notice import Listener, Notice, NoticeKind
from stemcache.gateway.prompt import Prompt
from stemcache.gateway.replica import Engine, ReplicaSpec
from stemcache.gateway.report import member_report, view_report
from stemcache.gateway.self_check import Standing
from stemcache.gateway.settings import Agree, GatewaySettings
from stemcache.gateway.usage import AnswerUsage
from stemcache.policy.route import make
from stemcache.policy.route.anchors import Anchors
from stemcache.policy.route.contract import Ask, View
from stemcache.policy.route.load import Sent

__all__ = ["Flight", "Router"]

_HEAD_UNITS = 8
"""About 256 tokens: what prefix hashing looks at."""
_FIRST_RUNG = 2
_ANCHOR_KEYS = 65_536


@dataclass(slots=True)
class Flight:
    """A request at a seat, from `sent` to `done` or `failed`."""

    decision: Decision
    prompt: Prompt
    sent_s: float
    sent: Sent
    units: int
    """Pending in the mirror by it."""
    first_s: float | None = None
    landed: bool = False


class Router:
    """All seats, their state, loads and mirrors. Not thread-safe."""

    def __init__(
        self,
        settings: GatewaySettings,
        *,
        rng: Random,
        on_notice: Listener = lambda _notice: None,
    ) -> None:
        self._settings = settings
        self._rng = rng
        self._say = on_notice
        self._policy_name = settings.policy
        self._agree = settings.agree
        self._policy = make(settings.policy, by_hash=settings.agree is Agree.HASH)
        self._anchors = Anchors(_ANCHOR_KEYS)
        self.mirror = Mirror(most_bytes=settings.mirror_bytes, exact=settings.tokenizer is not None)
        self._members: dict[str, Member] = {}
        self._seats: dict[int, tuple[Member, Seat]] = {}
        self._next_seat = 0
        self.on_resync: Listener = lambda _notice: None
        """Told when a seat's holdings were cleared and its events should be asked for again."""

    # --- the fleet ---------------------------------------------------------------------------

    @property
    def members(self) -> Sequence[Member]:
        """All of them, in the order in which they came; those that leave included."""
        return list(self._members.values())

    @property
    def settings(self) -> GatewaySettings:
        """As they are now."""
        return self._settings

    def configure(self, settings: GatewaySettings, replicas: Iterable[ReplicaSpec]) -> None:
        """Take the settings and the set of replicas as they are now.

        Replicas that stay keep what was learned; new ones begin as up until a check says otherwise;
        others are forgotten once their last flight has ended.
        """
        self._settings = settings
        if (settings.policy, settings.agree) != (self._policy_name, self._agree):
            self._policy_name, self._agree = settings.policy, settings.agree
            self._policy = make(settings.policy, by_hash=settings.agree is Agree.HASH)
        wanted = {spec.name: spec for spec in replicas}
        for name, member in list(self._members.items()):
            spec = wanted.get(name)
            if spec == member.spec:
                member.leaving = False
                member.breaker.configure(settings.health)
                del wanted[name]
            elif spec is not None and _same_place(spec, member.spec):
                member.spec = spec  # another weight or key: the process and its cache are the same
                member.leaving = False
                member.breaker.configure(settings.health)
                self._told(member, kv_tokens=spec.kv_tokens, block_tokens=None)
                del wanted[name]
            else:
                member.leaving = True
                if spec is not None or not member.in_flight:
                    self._forget(member)
        for spec in wanted.values():
            self._join(spec)

    def _join(self, spec: ReplicaSpec) -> None:
        seats = []
        for rank in range(spec.ranks):
            named = spec.name if spec.ranks == 1 else f"{spec.name}#{rank}"
            seat = Seat(self._next_seat, named, None if spec.ranks == 1 else rank)
            self._next_seat += 1
            seats.append(seat)
        member = Member(
            spec,
            seats,
            Breaker(self._settings.health),
            spec.engine,
            models=frozenset(spec.models),
        )
        self._members[spec.name] = member
        kv_tokens = spec.kv_tokens or self._settings.default_kv_tokens
        for seat in seats:
            self._seats[seat.number] = (member, seat)
            self.mirror.join(seat.number, kv_tokens=kv_tokens)
        self._say(Notice(NoticeKind.JOINED, spec.name, spec.url))

    def _forget(self, member: Member) -> None:
        del self._members[member.spec.name]
        for seat in member.seats:
            del self._seats[seat.number]
            self.mirror.leave(seat.number)
        self._say(Notice(NoticeKind.LEFT, member.spec.name))

    # --- one request -------------------------------------------------------------------------

    def choose(
        self, prompt: Prompt, *, now_s: float, exclude: frozenset[int] = frozenset()
    ) -> Decision | None:
        """Pure but for the policy's turn.

        None where no seat can take it (down, draining, full, or does not serve the model).
        """
        seats = self._eligible(prompt.model, now_s, exclude)
        if not seats:
            return None
        tokens = self.mirror.prompt_tokens(prompt)
        beliefs = self.mirror.beliefs(prompt, [seat.number for _, seat in seats], tokens)
        views = self._views(seats, beliefs, now_s)
        return self._decide(prompt, tokens, seats, beliefs, views, now_s)

    def explain(self, prompt: Prompt, *, now_s: float) -> dict[str, Any]:
        """What `choose` would say, what it saw, and who could not be chosen and why."""
        seats = self._eligible(prompt.model, now_s, frozenset())
        tokens = self.mirror.prompt_tokens(prompt)
        beliefs = self.mirror.beliefs(prompt, [seat.number for _, seat in seats], tokens)
        views = self._views(seats, beliefs, now_s)
        decision = self._decide(prompt, tokens, seats, beliefs, views, now_s) if seats else None
        most = self._settings.limits.per_replica
        chosen_from = {member.spec.name for member, _ in seats}
        return {
            "decision": None if decision is None else decision.as_json(),
            "policy": self._policy_name,
            "model": prompt.model,
            "unread": prompt.unread,
            "seats": view_report(views, [beliefs[seat.number] for _, seat in seats]),
            "left_out": {
                member.spec.name: member.refuses(prompt.model, now_s, most)
                for member in self._members.values()
                if member.spec.name not in chosen_from
            },
        }

    def _decide(
        self,
        prompt: Prompt,
        tokens: int,
        seats: Sequence[tuple[Member, Seat]],
        beliefs: dict[int, Belief],
        views: Sequence[View],
        now_s: float,
    ) -> Decision:
        choice = self._policy.choose(self._ask(prompt, tokens), views, now_s=now_s, rng=self._rng)
        member, seat = seats[choice.seat]
        belief = beliefs[seat.number]
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

    def sent(self, decision: Decision, prompt: Prompt, *, now_s: float) -> Flight:
        """The request goes there now: counted as load, and as what the seat will hold."""
        member, seat = self._seats[decision.seat]
        member.breaker.sent(now_s)
        seat.reasons[decision.choice.reason] += 1
        computed = max(1, decision.prompt_tokens - decision.predicted_cached)
        sent = seat.load.sent(decision.prompt_tokens, computed, now_s=now_s)
        units = self.mirror.routed(seat.number, prompt)
        rungs = _rungs(prompt.text)
        if rungs:
            self._anchors.seen(rungs, decision.prompt_tokens, now_s=now_s)
        return Flight(decision, prompt, now_s, sent, units)

    def first(self, flight: Flight, *, now_s: float) -> None:
        """The first byte of the answer's body came (status below 400)."""
        if flight.first_s is not None or flight.landed:
            return
        flight.first_s = now_s
        found = self._seats.get(flight.decision.seat)
        if found is not None:
            member, seat = found
            seat.load.first(flight.sent, now_s=now_s)
            self._well(member, now_s)

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
        self._well(member, now_s)
        if reported is None:
            seat.check.add_silent()
        elif flight.decision.source is not Source.NONE:
            self._check(member, seat, flight, reported, usage)
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
            member.breaker.failed(now_s)
            if member.breaker.opened > before:
                self._say(Notice(NoticeKind.BREAKER_OPEN, member.spec.name, kind))
        else:
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

    def _well(self, member: Member, now_s: float) -> None:
        member.breaker.succeeded(now_s)

    def _eligible(
        self, model: str | None, now_s: float, exclude: frozenset[int]
    ) -> list[tuple[Member, Seat]]:
        most = self._settings.limits.per_replica
        able = [
            member
            for member in self._members.values()
            if member.refuses(model, now_s, most) is None
        ]
        if not able and model is not None and not self._serves(model):
            # Nobody has it: the refusal is a replica's to word.
            able = [
                member
                for member in self._members.values()
                if member.refuses(None, now_s, most) is None
            ]
        return [
            (member, seat) for member in able for seat in member.seats if seat.number not in exclude
        ]

    def _serves(self, model: str) -> bool:
        return any(not member.models or model in member.models for member in self._members.values())

    def _views(
        self, seats: Sequence[tuple[Member, Seat]], beliefs: dict[int, Belief], now_s: float
    ) -> list[View]:
        mirror, gateways = self.mirror, self._settings.gateways
        views = []
        for member, seat in seats:
            belief = beliefs[seat.number]
            views.append(
                seat.load.view(
                    seat.name,
                    cached_tokens=belief.cached,
                    slow_tokens=belief.slow,
                    now_s=now_s,
                    weight=member.spec.weight,
                    held_tokens=mirror.held_tokens(seat.number),
                    capacity_tokens=mirror.capacity_tokens(seat.number),
                    gateways=gateways,
                )
            )
        return views

    def _ask(self, prompt: Prompt, tokens: int) -> Ask:
        rungs = _rungs(prompt.text)
        return Ask(
            prompt_tokens=tokens,
            session=prompt.session,
            head=_head(prompt.text),
            anchor=self._anchors.anchor(rungs, seats=len(self._seats)) if rungs else 0,
            output_tokens=prompt.output_tokens,
        )

    # --- what is heard of replicas -----------------------------------------------------------

    def checked(self, name: str, *, ok: bool, detail: str, now_s: float) -> None:
        """An active health check of a replica has ended: it is up, or down."""
        member = self._members.get(name)
        if member is None:
            return
        was = member.up
        member.up, member.detail = ok, detail
        if was and not ok:
            self._say(Notice(NoticeKind.DOWN, name, detail))
        elif ok and not was:
            if member.breaker.state(now_s) is not BreakerState.CLOSED:
                member.breaker.reset()
            self._say(Notice(NoticeKind.UP, name, detail))

    def learned(
        self,
        name: str,
        *,
        now_s: float,
        engine: Engine | None = None,
        models: Iterable[str] | None = None,
        adapters: Iterable[str] | None = None,
        kv_tokens: int | None = None,
        block_tokens: int | None = None,
        started: float | None = None,
    ) -> None:
        """A replica was asked what it is; None: it did not say."""
        member = self._members.get(name)
        if member is None:
            return
        if engine is not None:
            member.engine = engine
        if models is not None and not member.spec.models:
            member.models = frozenset(models)
        if adapters is not None:
            member.adapters = frozenset(adapters)
        self._told(member, kv_tokens=member.spec.kv_tokens or kv_tokens, block_tokens=block_tokens)
        if started is not None:
            before, member.started = member.started, started
            if before is not None and started != before:
                self.restarted(name, "another process answers", now_s=now_s)

    def block_sizes(self) -> frozenset[int]:
        """For which sizes of blocks a prompt's token keys are wanted."""
        return self.mirror.block_sizes()

    def adapter_of(self, model: str) -> str | None:
        """The adapter that a client's model name stands for; None: a base model. O(replicas)."""
        served = any(model in member.adapters for member in self._members.values())
        return model if served else None

    def drain(self, name: str, *, on: bool) -> bool:
        """Send it nothing new (or do so again). False where there is no such replica."""
        member = self._members.get(name)
        if member is None:
            return False
        if member.draining is not on:
            member.draining = on
            self._say(Notice(NoticeKind.DRAINING if on else NoticeKind.SERVING, name))
        return True

    def restarted(self, name: str, why: str, *, now_s: float) -> None:
        """What a replica held is gone: forget it, and say so."""
        member = self._members.get(name)
        if member is None:
            return
        for seat in member.seats:
            self._reset(seat, why)
        member.breaker.reset()
        del now_s

    def reset_seat(self, seat: int, why: str) -> None:
        """As `restarted`, of one seat: its events say so."""
        found = self._seats.get(seat)
        if found is not None:
            self._reset(found[1], why)

    def gap(self, seat: int) -> None:
        """Events of a seat are missing."""
        found = self._seats.get(seat)
        if found is not None:
            found[1].gaps += 1

    def follow(self, seat: int, holdings: Holdings | None, *, complete: bool) -> None:
        """A seat's events arrive, or no longer do. See `Mirror.follow`."""
        if seat in self._seats:
            self.mirror.follow(seat, holdings, complete=complete)

    def fleet(self, *, now_s: float) -> dict[str, Any]:
        """`/v1/fleet`: every replica with state, load, rates, mirror, predicted and reported."""
        return {
            "policy": self._policy_name,
            "agree": str(self._agree),
            "gateways": self._settings.gateways,
            "mirror_bytes": self.mirror.bytes_used,
            "replicas": [
                member_report(member, self.mirror, now_s=now_s) for member in self._members.values()
            ],
        }

    def _told(self, member: Member, *, kv_tokens: int | None, block_tokens: int | None) -> None:
        for seat in member.seats:
            self.mirror.told(seat.number, kv_tokens=kv_tokens, block_tokens=block_tokens)

    def _reset(self, seat: Seat, why: str) -> None:
        self.mirror.clear(seat.number)
        seat.check.begin_again()
        seat.resets += 1
        self._say(Notice(NoticeKind.RESTARTED, seat.name, why))

    def _check(
        self, member: Member, seat: Seat, flight: Flight, reported: "_Report", usage: AnswerUsage
    ) -> None:
        predicted = flight.decision.predicted_cached
        slack = self.mirror.slack(seat.number, flight.prompt)
        changed = seat.check.add(
            predicted, reported.cached, reported.prompt, slack=max(slack, reported.prompt // 50)
        )
        self.mirror.reported(seat.number, flight.prompt, predicted, usage)
        if changed is Standing.DISAGREES:
            detail = (
                f"{seat.check.differing} of {seat.check.answers} answers differ; predicted "
                f"{seat.check.predicted_tokens} and reported {seat.check.reported_tokens} tokens"
            )
            if self.mirror.follows(seat.number):
                self.mirror.clear(seat.number)
                self.on_resync(Notice(NoticeKind.DISAGREES, seat.name, detail))
            elif seat.check.over * 2 > seat.check.differing:
                self.mirror.clear(seat.number)
            self._say(Notice(NoticeKind.DISAGREES, seat.name, detail))
        elif changed is Standing.AGREES:
            self._say(Notice(NoticeKind.AGREES, seat.name))
        del member


@dataclass(frozen=True, slots=True)
class _Report:
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


def _same_place(one: ReplicaSpec, other: ReplicaSpec) -> bool:
    return (one.url, one.ranks, one.events, one.replay, one.topic) == (
        other.url,
        other.ranks,
        other.events,
        other.replay,
        other.topic,
    )


def _rungs(text: Keys | None) -> list[int]:
    """Keys of beginnings at doubling lengths, shortest first."""
    if text is None:
        return []
    keys = text.keys
    rungs = []
    depth = _FIRST_RUNG
    while depth <= len(keys):
        rungs.append(keys[depth - 1])
        depth *= 2
    return rungs


def _head(text: Keys | None) -> int:
    if text is None or not text.keys:
        return 0
    return text.keys[min(_HEAD_UNITS, len(text)) - 1]
