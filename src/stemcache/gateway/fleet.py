"""The replicas of a gateway: who is there, in what state, and what each holds. Without any I/O.

```
configure ─► join ─► up ⇄ down (checks) · serving ⇄ draining · breaker ─► leaving ─► forgotten
                      └── another process answers, or its cache was reset: its mirror is cleared
```
"""

from collections.abc import Iterable, Sequence
from typing import Any

from stemcache.gateway.breaker import Breaker
from stemcache.gateway.gossip import Batch
from stemcache.gateway.gossip import Load as ToldLoad
from stemcache.gateway.holdings import Holdings
from stemcache.gateway.member import Able, Member, OtherLoad, Seat
from stemcache.gateway.mirror import Mirror
from stemcache.gateway.notice import Listener, Notice, NoticeKind
from stemcache.gateway.replica import Engine, ReplicaSpec
from stemcache.gateway.report import member_report
from stemcache.gateway.settings import GatewaySettings
from stemcache.policy.route.load import Load
from stemcache.policy.route.rates import FleetRates

__all__ = ["Fleet"]

_MOST_GATEWAYS = 64
_MOST_MODELS = 64  # asked for, whose seats are remembered


class Fleet:
    """Seats get a number when they join; it is never used again for another."""

    def __init__(self, settings: GatewaySettings, *, on_notice: Listener) -> None:
        self._settings = settings
        self._say = on_notice
        self.mirror = Mirror(most_bytes=settings.mirror_bytes, exact=settings.tokenizer is not None)
        self._members: dict[str, Member] = {}
        self._seats: dict[int, tuple[Member, Seat]] = {}
        self._by_name: dict[str, Seat] = {}
        self._able: dict[str | None, Able] = {}
        """By the model that is asked for, until a replica's state changes; breakers apart."""
        self._breaking = False
        """Whether a breaker may be open, or a replica busy."""
        self._told_s = float("-inf")
        """When another gateway last told its load."""
        self._next_seat = 0
        self._rates = FleetRates()
        self.on_resync: Listener = lambda _notice: None
        """Told when a seat's holdings were cleared and its events should be asked for again."""

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
        self._able.clear()
        wanted = {spec.name: spec for spec in replicas}
        for name, member in list(self._members.items()):
            spec = wanted.get(name)
            if spec == member.spec:
                member.leaving = False
                member.breaker.configure(settings.health)
                del wanted[name]
            elif spec is not None and _same_place(spec, member.spec):
                self._respecify(member, spec)
                member.leaving = False
                member.breaker.configure(settings.health)
                del wanted[name]
            else:
                member.leaving = True
                if spec is not None or not member.in_flight:
                    self._forget(member)
        for spec in wanted.values():
            self._join(spec)

    def _respecify(self, member: Member, spec: ReplicaSpec) -> None:
        """Take another weight, key or claim: the process and its cache are the same.

        What is no longer claimed is asked for again by the next check.
        """
        before, member.spec = member.spec, spec
        for seat in member.seats:
            seat.view = seat.load.blank(seat.name, weight=spec.weight)
        if spec.engine is not Engine.AUTO:
            member.engine = spec.engine
        if spec.models != before.models:
            member.models = frozenset(spec.models)
        if spec.kv_tokens != before.kv_tokens:
            kv_tokens = spec.kv_tokens or self._settings.default_kv_tokens
            self._told(member, kv_tokens=kv_tokens, block_tokens=None)

    def _join(self, spec: ReplicaSpec) -> None:
        seats = []
        for rank in range(spec.ranks):
            named = spec.name if spec.ranks == 1 else f"{spec.name}#{rank}"
            load = Load(self._rates)
            seat = Seat(
                self._next_seat,
                named,
                None if spec.ranks == 1 else rank,
                load,
                load.blank(named, weight=spec.weight),
            )
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
            self._by_name[seat.name] = seat
            self.mirror.join(seat.number, kv_tokens=kv_tokens)
        self._say(Notice(NoticeKind.JOINED, spec.name, spec.url))

    def _forget(self, member: Member) -> None:
        self._able.clear()
        del self._members[member.spec.name]
        for seat in member.seats:
            del self._seats[seat.number]
            del self._by_name[seat.name]
            self.mirror.leave(seat.number)
        self._say(Notice(NoticeKind.LEFT, member.spec.name))

    def checked(self, name: str, *, ok: bool, detail: str, now_s: float) -> None:
        """An active health check of a replica has ended: it is up, or down."""
        member = self._members.get(name)
        if member is None:
            return
        was = member.up
        member.up, member.detail = ok, detail
        if was is not ok:
            self._able.clear()
        if was and not ok:
            self._say(Notice(NoticeKind.DOWN, name, detail))
        elif ok and not was:
            member.breaker.reset()
            self._say(Notice(NoticeKind.UP, name, detail))
        elif ok:
            member.breaker.looked_well(now_s)

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
            self._able.clear()
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
        for member in self._members.values():
            if model in member.adapters:
                return model
        return None

    def drain(self, name: str, *, on: bool) -> bool:
        """Send it nothing new (or do so again). False where there is no such replica."""
        member = self._members.get(name)
        if member is None:
            return False
        if member.draining is not on:
            member.draining = on
            self._able.clear()
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
            "policy": self._settings.policy,
            "agree": str(self._settings.agree),
            "gateways": self._settings.gateways,
            "mirror_bytes": self.mirror.bytes_used,
            "replicas": [
                member_report(member, self.mirror, now_s=now_s) for member in self._members.values()
            ],
        }

    def _eligible(self, model: str | None, now_s: float, exclude: frozenset[int]) -> Able:
        """Who can take a request. A look-up, unless a breaker is open or something is bounded.

        Where breakers keep it from all who are left, it fails open, as one of those may answer all
        the same. Who has said to be busy comes last.
        """
        plain = not (exclude or self._settings.limits.per_replica)
        if plain and not self._breaking:
            able = self._able.get(model)
            if able is not None:
                return able
        left = [
            (member, seat)
            for member in self._taking(model)
            for seat in member.seats
            if seat.number not in exclude
        ]
        able = Able.of(
            [one for one in left if one[0].breaker.allows(now_s)]
            or [one for one in left if not one[0].breaker.busy_left_s(now_s)]
            or left
        )
        self._breaking = not all(member.breaker.rests(now_s) for member in self._members.values())
        if plain and not self._breaking:
            if len(self._able) >= _MOST_MODELS:
                self._able.clear()  # names come from clients
            self._able[model] = able
        return able

    def _taking(self, model: str | None) -> list[Member]:
        """Whoever would take a request for it but for its breaker."""
        most = self._settings.limits.per_replica
        members = self._members.values()
        able = [member for member in members if member.takes(model, most)]
        if not able and model is not None and not self._serves(model):
            # Nobody has it: the refusal is a replica's to word.
            able = [member for member in members if member.takes(None, most)]
        return able

    def can_take(self) -> bool:
        """Whether there is somebody to send a request to, with breakers open or not."""
        return any(member.takes(None, 0) for member in self._members.values())

    def _blame(self, member: Member, kind: str, now_s: float, *, trial: bool) -> None:
        """A request failed, and the replica is to blame."""
        before = member.breaker.opened
        member.breaker.failed(now_s, trial=trial)
        if member.breaker.opened > before:
            self._breaking = True
            self._say(Notice(NoticeKind.BREAKER_OPEN, member.spec.name, kind))

    def _avoid(self, member: Member, now_s: float, *, for_s: float) -> None:
        """It has said to be busy for so long: others first."""
        member.breaker.busy(now_s, for_s=for_s)
        self._breaking = True

    def _serves(self, model: str) -> bool:
        return any(not member.models or model in member.models for member in self._members.values())

    def heard(self, batch: Batch, *, now_s: float) -> None:
        """What another gateway has sent where, and has there now."""
        for sent in batch.placements:
            found = self._by_name.get(sent.seat)
            if found is not None:
                self.mirror.heard(found.number, sent.unit, sent.as_list())
        for load in batch.loads:
            found = self._by_name.get(load.seat)
            if found is None:
                continue
            others = found.others
            others.pop(batch.gateway, None)
            if len(others) >= _MOST_GATEWAYS:
                del others[next(iter(others))]  # who has been silent longest
            others[batch.gateway] = OtherLoad(load.in_flight, load.waiting_tokens, now_s)
            self._told_s = now_s

    def loads(self) -> list[ToldLoad]:
        """What this gateway has at each seat, for others."""
        return [
            ToldLoad(seat.name, seat.load.in_flight, int(seat.load.waiting_tokens))
            for _, seat in self._seats.values()
        ]

    def _told(self, member: Member, *, kv_tokens: int | None, block_tokens: int | None) -> None:
        for seat in member.seats:
            self.mirror.told(seat.number, kv_tokens=kv_tokens, block_tokens=block_tokens)

    def _reset(self, seat: Seat, why: str) -> None:
        self.mirror.clear(seat.number)
        self._lost(seat, why)

    def _lost(self, seat: Seat, why: str) -> None:
        seat.load.restarted()
        seat.check.begin_again()
        seat.resets += 1
        self._say(Notice(NoticeKind.RESTARTED, seat.name, why))


def _same_place(one: ReplicaSpec, other: ReplicaSpec) -> bool:
    return (one.url, one.ranks, one.events, one.replay, one.topic) == (
        other.url,
        other.ranks,
        other.events,
        other.replay,
        other.topic,
    )
