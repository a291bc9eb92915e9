"""Which seat gets a request: pure policies, the load they see, the rates that are learned."""

from stemcache.errors import UsageError, unknown_choice
from stemcache.policy.route.auto import Auto
from stemcache.policy.route.cache_aware import CacheAware
from stemcache.policy.route.contract import RoutePolicy
from stemcache.policy.route.least_load import LeastLoad
from stemcache.policy.route.power_of_two import PowerOfTwo
from stemcache.policy.route.prefix_hash import PrefixHash
from stemcache.policy.route.random import Random
from stemcache.policy.route.round_robin import RoundRobin
from stemcache.policy.route.session import Session

__all__ = [
    "NAMES",
    "Auto",
    "CacheAware",
    "LeastLoad",
    "PowerOfTwo",
    "PrefixHash",
    "Random",
    "RoundRobin",
    "Session",
    "make",
]

_POLICIES: dict[str, type[RoutePolicy]] = {
    "auto": Auto,
    "cache-aware": CacheAware,
    "least-load": LeastLoad,
    "power-of-two": PowerOfTwo,
    "prefix-hash": PrefixHash,
    "random": Random,
    "round-robin": RoundRobin,
    "session": Session,
}

NAMES: tuple[str, ...] = tuple(_POLICIES)
"""What `--policy` and `--routing` take."""


def make(name: str, *, by_hash: bool = False, source: str = "--policy") -> RoutePolicy:
    """A new policy by name; `source` says in the error where the name came from.

    `by_hash`: several gateways without shared state must agree, so what nobody is known to hold
    goes down an order of preference that all of them compute alike.
    """
    if name not in _POLICIES:
        raise UsageError(unknown_choice("policy", name, source, NAMES))
    return Auto(by_hash=by_hash) if name == Auto.name else _POLICIES[name]()
