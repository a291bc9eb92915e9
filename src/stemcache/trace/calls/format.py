"""What a format of request logs has to give: a way to tell it, and a reader.

```
file ──records──► Record(number, value, text) ──► CallReader.read ──► Call …
                                          file's end ──► CallReader.finish ──► Call …
```
A reader serves one file. What several files share, such as the answers to a batch, is in `Shared`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from stemcache.trace.calls.answer import Answer
from stemcache.trace.calls.call import Call, Fidelity, Place

__all__ = ["CallFormat", "CallReader", "Record", "Shared", "Stateless"]


@dataclass(frozen=True, slots=True)
class Record:
    """A line, an element of an array, or an entry of a document."""

    file: str
    number: int
    """Counted from 1, empty lines included."""
    value: Any
    """Decoded; None for formats of text."""
    text: bytes
    """As it stands in the file; empty for an entry of a document that was decoded at once."""
    size_bytes: int

    def place(self, inner: str = "") -> Place:
        """Where a call in it stands."""
        return Place(self.file, self.number, inner)


@dataclass(slots=True)
class Shared:
    """What the readers of one log have in common."""

    pointers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of `--map`."""
    batch_answers: dict[str, list[tuple[Place, Answer, bool]]] = field(default_factory=dict)
    """Answers to batch requests by custom id, until their requests are read; whether they are
    Anthropic's."""
    batch_taken: Counter[str] = field(default_factory=Counter)
    """How many of them requests took already, for ids that several requests have."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Records that are in order but are no calls to a model, by what they are instead."""


class CallReader(Protocol):
    """Reads one file."""

    def read(self, record: Record) -> Iterable[Call]:
        """The calls that are known once this record is. Raises BadLineError."""
        ...

    def finish(self) -> Iterable[Call]:
        """The calls that were waiting for more."""
        ...

    def again(self, place: Place) -> Call | None:
        """One of the calls once more, behind `finish`. Only of formats that are not stateless."""
        ...


@dataclass(frozen=True, slots=True)
class Stateless:
    """A reader for which a record is all there is to know about its calls."""

    reads: Callable[[Record, Shared], Iterable[Call]]
    shared: Shared

    def read(self, record: Record) -> Iterable[Call]:
        """See `CallReader.read`."""
        return self.reads(record, self.shared)

    def finish(self) -> Iterable[Call]:
        """Nothing waits."""
        return ()

    def again(self, place: Place) -> Call | None:
        """A record is read again instead."""
        del place
        return None


@dataclass(frozen=True, slots=True)
class CallFormat:
    """One format."""

    name: str
    """As `--format` takes it."""
    title: str
    fidelity: Fidelity
    """The best that its calls have; each call says its own."""
    sniff: Callable[[Any], bool]
    """Whether a decoded record is of this format; for a format of text, whether a line is."""
    reader: Callable[[Shared], CallReader]
    stateless: bool = True
    """Whether a record can be read again without those before it."""
    text: bool = False
    """Lines are text, not JSON. Lines of other programs between them are passed over."""
