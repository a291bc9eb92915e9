"""The flags of `stemcache simulate --replicas`: a fleet behind a router.

```python
@click.command()
@fleet_options
def command(*, fleet: FleetFlags | None) -> None: ...
```
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import click
from click.core import ParameterSource

from stemcache.cli.durations import DURATION
from stemcache.cli.lists import CommaList
from stemcache.cli.paces import PACE, Pace
from stemcache.errors import UsageError
from stemcache.lab.fleet.setup import EVICTIONS, Agreement, FleetSetup, Knowledge, Speeds
from stemcache.lab.question import OPTIMA, Capacity
from stemcache.policy import route

__all__ = ["FleetFlags", "fleet_options"]

R = TypeVar("R")

_MOST_REPLICAS = 1024
_MOST_GATEWAYS = 64

_GIVEN_WITH = {
    "fleet_routings": "--routing",
    "fleet_prefill_rate": "--prefill-rate",
    "fleet_overhead_s": "--overhead",
    "fleet_decode_rate": "--decode-rate",
    "fleet_slots": "--slots",
    "fleet_speed": "--speed",
    "fleet_spread_s": "--spread",
    "fleet_concurrency": "--concurrency",
    "fleet_knowledge": "--knowledge",
    "fleet_gateways": "--gateways",
    "fleet_agree": "--agree",
    "fleet_seed": "--routing-seed",
}
"""Flags by parameter that do nothing without --replicas."""


class _PaceOrNone(Pace):
    """A pace, or `inf` for what takes no time."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if str(value).strip().lower() in {"inf", "infinity"}:
            return math.inf
        return super().convert(value, param, ctx)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFlags:
    """What the flags say of a fleet, but for what `--capacity` and `--policy` say."""

    replicas: int
    routings: tuple[str, ...]
    speeds: Speeds
    speed: float
    spread_s: float
    concurrency: int | None
    knowledge: Knowledge
    gateways: int
    agree: Agreement
    seed: int

    def setup(
        self, capacities: tuple[Capacity, ...] | None, policies: tuple[str, ...] | None
    ) -> FleetSetup:
        """The fleet. Raises UsageError unless there is one capacity and a policy that can run."""
        if capacities is None:
            raise UsageError(
                "--replicas needs the --capacity of each replica; give one, such as 5000, 2Mtok "
                "or inf"
            )
        if len(capacities) > 1:
            raise UsageError(
                f"--capacity has {len(capacities)} values, but the replicas of --replicas are all "
                "alike; give one"
            )
        if policies is not None and len(policies) > 1:
            raise UsageError(
                f"--policy has {len(policies)} values, but the replicas of --replicas are all "
                "alike; give one"
            )
        eviction = "lru" if policies is None else policies[0]
        if eviction not in EVICTIONS:
            why = "knows the future" if eviction in OPTIMA else "keeps blocks behind gaps"
            raise UsageError(
                f"--policy {eviction} {why}, which no replica of --replicas does; use one of "
                f"{', '.join(sorted(EVICTIONS))}"
            )
        return FleetSetup(
            replicas=self.replicas,
            capacity=capacities[0],
            routings=self.routings,
            eviction=eviction,
            speeds=self.speeds,
            knowledge=self.knowledge,
            routers=self.gateways,
            agreement=self.agree,
            speed=self.speed,
            spread_s=self.spread_s,
            concurrency=self.concurrency,
            seed=self.seed,
        )


def fleet_options(command: Callable[..., R]) -> Callable[..., R]:
    """Add the flags to a command, which gets them as one argument, `fleet`.

    It is None without --replicas. Raises UsageError for a flag that would do nothing.
    """

    @click.option(
        "--replicas",
        "fleet_replicas",
        type=click.IntRange(1, _MOST_REPLICAS),
        metavar="N",
        help="Simulate a fleet of N replicas, each with a cache of --capacity and a queue.",
    )
    @click.option(
        "--routing",
        "fleet_routings",
        default="auto,round-robin",
        show_default=True,
        type=CommaList(click.Choice(route.NAMES)),
        help="With --replicas: who gets a request, as in stemcache route: "
        + ", ".join(route.NAMES)
        + ".",
    )
    @click.option(
        "--prefill-rate",
        "fleet_prefill_rate",
        default="8000",
        show_default=True,
        type=PACE,
        help="With --replicas: tokens a second that one computes, one request after the other.",
    )
    @click.option(
        "--overhead",
        "fleet_overhead_s",
        default="20ms",
        show_default=True,
        type=DURATION,
        help="With --replicas: time that each prefill takes beside its tokens.",
    )
    @click.option(
        "--decode-rate",
        "fleet_decode_rate",
        default="50",
        show_default=True,
        type=_PaceOrNone(),
        help="With --replicas: tokens a second of each answer; inf: answers take no time.",
    )
    @click.option(
        "--slots",
        "fleet_slots",
        default=64,
        show_default=True,
        type=click.IntRange(1),
        help="With --replicas: requests that run at once on one.",
    )
    @click.option(
        "--speed",
        "fleet_speed",
        default="1",
        show_default=True,
        type=PACE,
        help="With --replicas: requests come so many times as fast as in the trace.",
    )
    @click.option(
        "--spread",
        "fleet_spread_s",
        default="0s",
        show_default=True,
        type=DURATION,
        help="With --replicas: spread requests of one moment over this time, where the trace's "
        "clock is coarse (3s for mooncake).",
    )
    @click.option(
        "--concurrency",
        "fleet_concurrency",
        type=click.IntRange(1),
        metavar="N",
        help="With --replicas: N clients that wait for their answers, not the trace's times.",
    )
    @click.option(
        "--knowledge",
        "fleet_knowledge",
        default="exact",
        show_default=True,
        type=click.Choice([each.value for each in Knowledge]),
        help="With --replicas: what a gateway knows of caches: all, as by KV events, or what it "
        "has sent there and answers report.",
    )
    @click.option(
        "--gateways",
        "fleet_gateways",
        default=1,
        show_default=True,
        type=click.IntRange(1, _MOST_GATEWAYS),
        metavar="N",
        help="With --replicas: deal requests in turn to N gateways.",
    )
    @click.option(
        "--agree",
        "fleet_agree",
        default="alone",
        show_default=True,
        type=click.Choice([each.value for each in Agreement]),
        help="With --gateways: each as if alone, by hashing, or with one memory.",
    )
    @click.option(
        "--routing-seed",
        "fleet_seed",
        default=0,
        show_default=True,
        help="With --replicas: other draws where a policy draws.",
    )
    @functools.wraps(command)
    def with_fleet(
        *args: object,
        fleet_replicas: int | None,
        fleet_routings: tuple[str, ...],
        fleet_prefill_rate: float,
        fleet_overhead_s: float,
        fleet_decode_rate: float,
        fleet_slots: int,
        fleet_speed: float,
        fleet_spread_s: float,
        fleet_concurrency: int | None,
        fleet_knowledge: str,
        fleet_gateways: int,
        fleet_agree: str,
        fleet_seed: int,
        **kwargs: object,
    ) -> R:
        given = _given()
        if fleet_replicas is None:
            if given:
                raise UsageError(
                    f"{given[0]} is given without --replicas; add it, or leave {given[0]} out"
                )
            return command(*args, fleet=None, **kwargs)
        for flag in ("--speed", "--spread"):
            if flag in given and fleet_concurrency is not None:
                raise UsageError(
                    f"{flag} and --concurrency do not go together: clients that wait do not look "
                    "at the trace's times; leave one out"
                )
        if "--agree" in given and fleet_gateways == 1:
            raise UsageError(
                f"--agree {fleet_agree} is given with one gateway; add --gateways 2, or leave it "
                "out"
            )
        for flag, seconds in (("--overhead", fleet_overhead_s), ("--spread", fleet_spread_s)):
            if math.isinf(seconds):
                raise UsageError(f"{flag} is inf; use a time with an end, such as 20ms or 3s")
        flags = FleetFlags(
            replicas=fleet_replicas,
            routings=fleet_routings,
            speeds=Speeds(fleet_prefill_rate, fleet_overhead_s, fleet_decode_rate, fleet_slots),
            speed=fleet_speed,
            spread_s=fleet_spread_s,
            concurrency=fleet_concurrency,
            knowledge=Knowledge(fleet_knowledge),
            gateways=fleet_gateways,
            agree=Agreement(fleet_agree),
            seed=fleet_seed,
        )
        return command(*args, fleet=flags, **kwargs)

    return with_fleet


def _given() -> list[str]:
    context = click.get_current_context()
    return [
        flag
        for parameter, flag in _GIVEN_WITH.items()
        if context.get_parameter_source(parameter) is not ParameterSource.DEFAULT
    ]
