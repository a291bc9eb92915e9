"""Chance, ids and addresses that come from a seed.

`os.urandom` is under all of `uuid4`, `secrets` and `SystemRandom`, also in modules that hold the
function by a name of their own. Generators that were seeded by hand stay as they are; those that
are made without a seed get one. The state of the shared generators is given back afterwards.

Names of temporary files cannot come from a seed: files of the run before have them. They are made
as ever, and read as other ones, which do.
"""

import importlib
import os
import random
import sys
import tempfile
import uuid
from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Any

from stemcache.integrations.stability_patch import Patches
from stemcache.integrations.stability_world import Perturbation, World

__all__ = ["move_objects", "name_temporaries", "seed_chance", "seed_ids"]

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789_"


def seed_ids(patches: Patches, world: World) -> None:
    """UUIDs and bytes that are meant to be secret."""
    rng = world.rng(Perturbation.ID)

    def urandom(size: int, /) -> bytes:
        return rng.randbytes(size)

    def random_bytes(size: int, _flags: int = 0) -> bytes:
        return rng.randbytes(size)

    def timed(version: int, *_node_and_clock: object, **_named: object) -> uuid.UUID:
        return uuid.UUID(int=rng.getrandbits(128), version=version)

    patches.function(random, "_urandom", urandom)
    patches.function(os, "urandom", urandom)
    patches.function(os, "getrandom", random_bytes)  # where the system has it
    patches.function(sys.modules.get("ssl"), "RAND_bytes", random_bytes)
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
    if "numpy" in sys.modules:  # loaded by whoever uses it; this part only when it is asked for
        numpy = importlib.import_module("numpy.random")
        patches.undo(partial(numpy.set_state, numpy.get_state()))
        numpy.seed(rng.getrandbits(32))
        # default_rng(), RandomState() and every bit generator without a seed ask this.
        patches.function(numpy.bit_generator, "randbits", rng.getrandbits)


def name_temporaries(patches: Patches, world: World, names: dict[str, str]) -> None:
    """Note the names of temporary files that are made, each with the one to be read in its place.

    The n-th of a run has the same in every process.
    """
    rng = world.rng(Perturbation.RANDOM)
    real: Iterator[str] = tempfile._get_candidate_names()  # type: ignore[attr-defined]  # noqa: SLF001

    next(real)  # its own chance, made at the first name, is the system's

    class Noted(Iterator[str]):
        def __next__(self) -> str:
            name = next(real)
            names[name] = "".join(rng.choices(_LETTERS, k=len(name)))
            return name

    patches.attribute(tempfile, "_name_sequence", Noted())


def move_objects(patches: Patches, world: World) -> None:
    """Take the places in memory that the last run's objects were at, from level 1 on."""
    level = world.level(Perturbation.ADDRESS)
    if level:
        ballast = [bytes(size) for size in range(1, 480, 16) for _ in range(64 + 37 * level)]
        patches.undo(ballast.clear)
