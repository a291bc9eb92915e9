"""Chance, ids and addresses that come from a seed.

`os.urandom` is under all of `uuid4`, `secrets` and `SystemRandom`, also in modules that hold the
function by a name of their own. Generators that were seeded by hand stay as they are; those that
are made without a seed get one. The state of the shared generators is given back afterwards.
"""

import os
import random
import sys
import uuid
from functools import partial
from random import Random
from typing import Any

from stemcache.integrations.stability_patch import Patches
from stemcache.integrations.stability_world import Perturbation, World

__all__ = ["move_objects", "seed_chance", "seed_ids"]


def seed_ids(patches: Patches, world: World) -> None:
    """UUIDs and bytes that are meant to be secret."""
    rng = world.rng(Perturbation.ID)

    def urandom(size: int, /) -> bytes:
        return rng.randbytes(size)

    def timed(version: int, *_node_and_clock: object, **_named: object) -> uuid.UUID:
        return uuid.UUID(int=rng.getrandbits(128), version=version)

    patches.function(random, "_urandom", urandom)
    patches.function(os, "urandom", urandom)
    patches.function(uuid, "uuid1", partial(timed, 1))
    if sys.version_info >= (3, 14):
        patches.function(uuid, "uuid6", partial(timed, 6))


def seed_chance(patches: Patches, world: World) -> None:
    """The generators of `random` and NumPy, and those that are made without a seed."""
    rng = world.rng(Perturbation.RANDOM)
    patches.undo(partial(random.setstate, random.getstate()))
    random.seed(rng.getrandbits(64))
    real = Random.seed

    def seed(self: Random, a: Any = None, version: int = 2) -> None:
        real(self, rng.getrandbits(64) if a is None else a, version)

    patches.attribute(Random, "seed", seed)
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:  # loaded by whoever uses it
        patches.undo(partial(numpy.set_state, numpy.get_state()))
        numpy.seed(rng.getrandbits(32))


def move_objects(patches: Patches, world: World) -> None:
    """Take the places in memory that the last run's objects were at, from level 1 on."""
    level = world.level(Perturbation.ADDRESS)
    if level:
        ballast = [bytes(size) for size in range(1, 480, 16) for _ in range(64 + 37 * level)]
        patches.undo(ballast.clear)
