"""Type-checked, never run: the documented uses of the public interfaces."""

from stemcache.core.events import Event, Removed, Stored
from stemcache.core.hash_index import HashIndex
from stemcache.core.index import (
    Inserted,
    Lease,
    Match,
    Policy,
    PrefixIndex,
    Removal,
    RequestPolicy,
    Victim,
)
from stemcache.core.namespace import Namespace
from stemcache.core.radix_index import RadixIndex
from stemcache.core.tokens import Chain
from stemcache.engine.model import Model
from stemcache.engine.toy import ToyModel
from stemcache.policy.evict import Cost, Fifo, Lfu, Lru, Odds, Priority, Slru
from stemcache.policy.evict.cost import CostState
from stemcache.policy.evict.lfu import LfuState
from stemcache.policy.evict.odds import OddsState
from stemcache.policy.evict.priority import PriorityState
from stemcache.policy.evict.slru import SlruState

fifo: Policy[int] = Fifo()
lru: Policy[int] = Lru()
cost: Policy[CostState] = Cost(block_tokens=1)
odds: RequestPolicy[OddsState] = Odds()
lfu: HashIndex[int, LfuState] = HashIndex(block_size=16, policy=Lfu())
slru: RadixIndex[None, SlruState] = RadixIndex(block_size=1, policy=Slru())
priority: RadixIndex[str, PriorityState] = RadixIndex(block_size=1, policy=Priority(), keyed=True)

toy: Model = ToyModel()


def either(form: str) -> PrefixIndex[str]:
    """Both forms are a `PrefixIndex` of any value."""
    if form == "hash":
        return HashIndex(block_size=16, policy=Lru())
    return RadixIndex(block_size=16, policy=Lru())


def verbs(index: PrefixIndex[str], chain: Chain) -> None:
    """Every verb, with the types of its answers."""
    match: Match = index.match(chain, max_blocks=3)
    lease: Lease[str] = index.pin(chain, now=0.0)
    with lease as held:
        done: Inserted[str] = index.insert(chain, ["a"], now=1.0, lease=held)
        spare: tuple[str, ...] = done.spare
    victims: list[Victim[str]] = index.evict(match.blocks + len(spare))
    removal: Removal[str] = index.remove(chain)
    assert removal.held == len(victims)
    index.check()


def listener(event: Event) -> None:
    """Events are a closed set."""
    match event:
        case Stored(keys=keys, parent=None):
            assert keys
        case Stored() | Removed():
            pass


space: bytes = Namespace(model="m", salt="s").encode()
chain = Chain([1, 2, 3], block_size=1, namespace=space)
