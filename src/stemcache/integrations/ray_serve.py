"""A request router for plain Ray Serve deployments: the policies of `stemcache route` there.

```python
from ray.serve.config import RequestRouterConfig

@serve.deployment(
    num_replicas=8,
    request_router_config=RequestRouterConfig(
        request_router_class="stemcache.integrations.ray_serve:StemcacheRequestRouter",
        request_router_kwargs={"policy": "auto"},
    ),
)
class Model: ...
```
Ray makes one router for each handle and proxy. They share nothing here, so with more than one
`by_hash=True` lets them agree on prompts that none of them has sent. What a request asks is looked
for in its arguments: a body as a mapping, JSON as bytes or text, or an object with `messages`,
`prompt` or `input`; anything else goes by load. Written for Ray 2.60.
"""

from collections import OrderedDict
from collections.abc import Mapping
from random import Random
from time import monotonic
from typing import Any

from ray.serve.request_router import (
    PendingRequest,
    ReplicaID,
    RequestRouter,
    RunningReplica,
)

from stemcache.gateway.decision import Decision
from stemcache.gateway.prompt import Prompt
from stemcache.gateway.read_prompt import PromptReader
from stemcache.gateway.replica import ReplicaSpec
from stemcache.gateway.router import Flight, Router
from stemcache.gateway.settings import Agree, GatewaySettings
from stemcache.integrations.asked import body_of

__all__ = ["StemcacheRequestRouter"]

_WAITING = 4_096
"""Requests that were chosen for and are not on their way."""


class StemcacheRequestRouter(RequestRouter):  # type: ignore[misc]  # ray is not typed for mypy
    """Sends each request to the replica that should answer first, given what each has cached.

    Not a `FIFOMixin`: a replica that was chosen for one prompt is not given to another.
    """

    def initialize_state(
        self,
        *,
        policy: str = "auto",
        by_hash: bool = False,
        routers: int = 1,
        mirror_bytes: int = 64 * 2**20,
        seed: int = 0,
        **unknown: object,
    ) -> None:
        """Called by Ray with `request_router_kwargs`. Raises TypeError for others.

        `routers`: how many handles and proxies send to the deployment; loads are taken times this.
        """
        if unknown:
            raise TypeError(
                f"unknown request_router_kwargs {sorted(unknown)}; "
                "use policy, by_hash, routers, mirror_bytes, seed"
            )
        self._settings = GatewaySettings(
            policy=policy,
            agree=Agree.HASH if by_hash else Agree.ALONE,
            gateways=routers,
            mirror_bytes=mirror_bytes,
        )
        self._router = Router(self._settings, rng=Random(seed))  # noqa: S311  # ties, no secrets
        self._reader = PromptReader(reads=self._router.reads)
        self._chosen: OrderedDict[str, tuple[Prompt, dict[str, Decision]]] = OrderedDict()
        self._flights: dict[str, Flight] = {}

    @property
    def fleet(self) -> Mapping[str, Any]:
        """As `/v1/fleet` has it."""
        return self._router.fleet(now_s=monotonic())

    def update_replicas(self, replicas: list[RunningReplica]) -> None:
        """Take the replicas as they are now; those that stay keep what was learned."""
        super().update_replicas(replicas)
        self._router.configure(self._settings, [_spec(each.replica_id) for each in replicas])

    async def choose_replicas(
        self,
        candidate_replicas: list[RunningReplica],
        pending_request: PendingRequest | None = None,
    ) -> list[list[RunningReplica]]:
        """Ranks of one: the best, the next best, then all others that may take it."""
        able = self.select_available_replicas(candidate_replicas)
        if pending_request is None or not able:
            return [able]
        by_name = {_name(each.replica_id): each for each in able}
        prompt = self._read(pending_request)
        others = frozenset(
            seat.number
            for member in self._router.members
            if member.spec.name not in by_name
            for seat in member.seats
        )
        ranks: list[list[RunningReplica]] = []
        decisions: dict[str, Decision] = {}
        excluded = others
        for _ in range(2):
            decision = self._router.choose(prompt, now_s=monotonic(), exclude=excluded)
            if decision is None:
                break
            decisions[decision.name] = decision
            ranks.append([by_name.pop(decision.name)])
            excluded |= {decision.seat}
        if by_name:
            ranks.append(list(by_name.values()))
        self._chosen[_request_id(pending_request)] = (prompt, decisions)
        if len(self._chosen) > _WAITING:
            self._chosen.popitem(last=False)  # cancelled before it was routed, most likely
        return ranks

    def on_request_routed(
        self, pending_request: PendingRequest, replica_id: ReplicaID, result: object
    ) -> None:
        """It is on its way."""
        del result
        request = _request_id(pending_request)
        prompt, decisions = self._chosen.pop(request, (None, {}))
        if prompt is None:
            return
        name = _name(replica_id)
        decision = decisions.get(name)
        if decision is None:
            # Neither of the two best would take it: wherever it went, it is held there now.
            away = frozenset(
                seat.number
                for member in self._router.members
                if member.spec.name != name
                for seat in member.seats
            )
            decision = self._router.choose(prompt, now_s=monotonic(), exclude=away)
        if decision is not None:
            self._flights[request] = self._router.sent(decision, prompt, now_s=monotonic())

    def on_request_completed(self, replica_id: ReplicaID, internal_request_id: str) -> None:
        """It has ended, well or not; Ray does not say what the answer held."""
        del replica_id
        flight = self._flights.pop(internal_request_id, None)
        if flight is not None:
            self._router.done(flight, None, now_s=monotonic())

    def on_replica_actor_died(self, replica_id: ReplicaID) -> None:
        """What it held is gone."""
        super().on_replica_actor_died(replica_id)
        name = _name(replica_id)
        for request, flight in list(self._flights.items()):
            if flight.decision.name == name:
                del self._flights[request]
                self._router.failed(flight, "died", now_s=monotonic(), blame=False)
        self._router.restarted(name, "its actor died", now_s=monotonic())

    def _read(self, pending: PendingRequest) -> Prompt:
        asked = body_of((*pending.args, *pending.kwargs.values()))
        return self._reader.read(asked.path, (), asked.body)


def _spec(replica: ReplicaID) -> ReplicaSpec:
    name = _name(replica)
    return ReplicaSpec(name=name, url=f"ray://{name}")


def _name(replica: ReplicaID) -> str:
    return str(replica.unique_id)


def _request_id(pending: PendingRequest) -> str:
    return str(pending.metadata.internal_request_id)
