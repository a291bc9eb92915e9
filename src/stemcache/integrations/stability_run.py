"""One run of a builder in a world: what it gave, or how it failed.

Coroutine functions are run to their end in a loop of their own, in a thread of their own, since the
test may have a loop already; variables of the context are there.
"""

import asyncio
import contextvars
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import isawaitable
from pathlib import Path
from threading import Thread

from stemcache.integrations.stability_address import note_ids, with_ids
from stemcache.integrations.stability_chance import (
    move_objects,
    name_temporaries,
    seed_chance,
    seed_ids,
)
from stemcache.integrations.stability_clock import turn_clocks, turn_zone
from stemcache.integrations.stability_order import shuffle_directories, shuffled
from stemcache.integrations.stability_patch import Patches
from stemcache.integrations.stability_prompt import Reading, Seen, seen
from stemcache.integrations.stability_surroundings import (
    change_locale,
    change_surroundings,
    note_variables,
)
from stemcache.integrations.stability_world import World

__all__ = ["Builder", "Outcome", "Raised", "placed", "run"]

_OURS = str(Path(__file__).with_name("stability_"))
"""Frames of files that begin so are no part of what a builder raised."""
_NUMPY = "numpy.random"


@dataclass(frozen=True, slots=True)
class Builder:
    """What is called, and how what it gives is read."""

    function: Callable[..., object]
    args: Sequence[object]
    keywords: Mapping[str, object]
    reading: Reading


@dataclass(frozen=True, slots=True)
class Raised:
    """A builder that gave no prompt."""

    said: str
    """The last line of its traceback."""
    trace: str
    error: BaseException | None = field(default=None, compare=False)
    """Where it was raised in this process."""

    @classmethod
    def of(cls, error: BaseException) -> "Raised":
        """From an exception."""
        told = traceback.TracebackException.from_exception(error)
        frames = [frame for frame in told.stack if not frame.filename.startswith(_OURS)]
        told.stack = traceback.StackSummary.from_list(frames)
        said = traceback.format_exception_only(error)[-1].strip()
        return cls(said, "".join(told.format()), error)


Outcome = Seen | Raised


@dataclass(slots=True)
class Noted:
    """What was handed out during a run that no seed can make."""

    ids: set[int] = field(default_factory=set)
    """Of objects, by `id()`."""
    names: dict[str, str] = field(default_factory=dict)
    """Of temporary files, each with the one to be read in its place."""

    def read_in(self, seen: Seen) -> Seen:
        """A prompt with the names replaced, and with the ids that stand in it."""
        if self.names:
            name = re.compile("|".join(map(re.escape, self.names)))
            seen = seen.rewritten(lambda text: name.sub(lambda one: self.names[one[0]], text))
        return with_ids(seen, self.ids)


@contextmanager
def placed(world: World, scratch: Path, *, noting: set[str] | None = None) -> Iterator[Noted]:
    """Put the process into a world, until it is left. `scratch` is a folder of our own.

    `noting` collects the names of environment variables that are read meanwhile.
    """
    noted = Noted()
    with Patches() as patches:
        change_surroundings(patches, world, scratch)
        change_locale(patches, world)
        turn_zone(patches, world)
        turn_clocks(patches, world)
        name_temporaries(patches, world, noted.names)
        seed_ids(patches, world)
        seed_chance(patches, world)
        shuffle_directories(patches, world)
        move_objects(patches, world)
        if noting is not None:
            note_variables(patches, noting)
        patches.rebind()
        note_ids(patches, noted.ids)  # last, for much is asked for its id here
        yield noted


def run(
    builder: Builder, world: World, scratch: Path, *, noting: set[str] | None = None
) -> Outcome:
    """Call a builder in a world. What is no error of a program (a skipped test) passes through.

    Raises UsageError where what it gave is no prompt.
    """
    chance_was_loaded = _NUMPY in sys.modules
    args = shuffled(list(builder.args), world)
    keywords = shuffled(dict(builder.keywords), world)
    try:
        with placed(world, scratch, noting=noting) as noted:
            value = _finished(builder.function(*args, **keywords))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the builder's own, told to its author
        return Raised.of(error)
    if _NUMPY in sys.modules and not chance_was_loaded:
        # Its start took chance that was meant for the builder, and was under no seed.
        return run(builder, world, scratch, noting=noting)
    return noted.read_in(seen(value, builder.reading))


def _finished(value: object) -> object:
    if not isawaitable(value):
        return value
    told: list[object] = []
    failed: list[BaseException] = []

    async def waited() -> object:
        return await value

    def work() -> None:
        try:
            told.append(asyncio.run(waited()))
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that asked
            failed.append(error)

    context = contextvars.copy_context()
    thread = Thread(target=context.run, args=(work,), name="stemcache-builder")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return told[0]
