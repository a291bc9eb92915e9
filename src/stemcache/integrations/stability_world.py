"""What a prompt's surroundings are in one run: each perturbation held still, or at a variant.

```
            clock  time-zone  random  directory-order  …  hash-seed
held          0        0        0           0                  0      what is compared with
varied        2        2        2           2                  2      all at once: one run finds any
alone         2        0        0           0                  0      … and these tell which it was
```
Level 0 is held still, not left alone: clocks start at one moment and ids count from one seed, so
that two runs at level 0 are equal but for state that a builder keeps. A variant is told by its
level and the seed of the check alone, so that a failure comes again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from stemcache.errors import UsageError, unknown_choice

__all__ = ["ANYWHERE", "IN_A_PROCESS", "Perturbation", "World", "allowed"]


class Perturbation(StrEnum):
    """What may be another when a prompt is built again."""

    AGAIN = "again"
    """Nothing at all: the builder is called once more."""
    CLOCK = "clock"
    ZONE = "time-zone"
    ID = "injected-id"
    """UUIDs, secrets, `os.urandom`."""
    RANDOM = "random"
    ADDRESS = "address"
    """Where objects lie in memory: `id()` and the default `repr`."""
    ARGUMENTS = "argument-order"
    """In which order the dictionaries that the builder is given have their keys."""
    DIRECTORY = "directory-order"
    LOCALE = "locale"
    ENVIRONMENT = "environment"
    """User, home, machine, folder, process, terminal, temporary files, Python's version."""
    PROCESS = "process"
    """Nothing but another process."""
    HASH = "hash-seed"
    """The order of sets."""
    ENCODING = "encoding"
    """What `open()` reads without being told."""


ANYWHERE = (
    Perturbation.CLOCK,
    Perturbation.ZONE,
    Perturbation.ID,
    Perturbation.RANDOM,
    Perturbation.ADDRESS,
    Perturbation.ARGUMENTS,
    Perturbation.DIRECTORY,
    Perturbation.LOCALE,
    Perturbation.ENVIRONMENT,
)
"""What can be changed while a process runs."""
IN_A_PROCESS = (Perturbation.HASH, Perturbation.ENCODING, *ANYWHERE)
"""What can be changed for a process that is started; those first that nothing else shows."""


@dataclass(frozen=True, slots=True)
class World:
    """One run's surroundings."""

    levels: Mapping[Perturbation, int] = field(default_factory=dict)
    seed: int = 0
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables with other values, besides."""

    def level(self, of: Perturbation) -> int:
        """0 is held still."""
        return self.levels.get(of, 0)

    def rng(self, of: Perturbation) -> Random:
        """Chance for a perturbation, equal in every process."""
        return Random(f"{self.seed} {of} {self.level(of)}")  # noqa: S311 - repeatable, no secret

    def at(self, level: int, which: Iterable[Perturbation]) -> "World":
        """A world with these at a level and all else held still."""
        return World(dict.fromkeys(which, level), self.seed)


@dataclass(frozen=True, slots=True)
class Allowed:
    """What may change a prefix."""

    perturbations: frozenset[Perturbation]
    variables: frozenset[str]

    def without(self, which: Iterable[Perturbation]) -> tuple[Perturbation, ...]:
        """Those that are not allowed."""
        return tuple(one for one in which if one not in self.perturbations)


def allowed(names: Iterable[str]) -> Allowed:
    """Names of perturbations, and `$NAME` for environment variables. Raises UsageError."""
    if isinstance(names, str):
        name = str(names)  # a member of Perturbation too
        raise UsageError(f"allow is the text {name!r}; give a set of names: allow={{{name!r}}}")
    variables: set[str] = set()
    perturbations: set[Perturbation] = set()
    for name in names:
        if name.startswith("$") and len(name) > 1:
            variables.add(name[1:])
        elif name in IN_A_PROCESS:
            perturbations.add(Perturbation(name))
        else:
            raise UsageError(
                f"{unknown_choice('perturbation', name, 'allow', IN_A_PROCESS)}; "
                "'$NAME' allows an environment variable"
            )
    return Allowed(frozenset(perturbations), frozenset(variables))
