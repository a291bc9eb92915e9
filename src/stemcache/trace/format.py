"""The seam between lines and requests: one reader a format, each with a sniffer.

A reader is fed the lines of one trace in order and may remember what it needs of earlier ones, in
bounded memory. It raises BadLineError where a line cannot be read, and is then as before that line.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from stemcache.trace.bodies.prompt import PromptReader
from stemcache.trace.record import TraceRequest

__all__ = ["Format", "LineReader", "ReadOptions", "Unit"]

Unit = Literal["tokens", "characters"]
"""What lengths of prompts and blocks count."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the user says about a trace."""

    block_tokens: int | None = None
    """Tokens in a block; None leaves it to the trace, or to the format's habit."""
    prompts: PromptReader | None = None
    """Reads prompts of bodies as tokens; None reads them as characters."""
    chain_ids: bool = False
    """Ids are of blocks' own content: make them ids of prefixes."""


class LineReader(Protocol):
    """**Protocol**: lines of one format to requests."""

    @property
    def unit(self) -> Unit:
        """Known once the first line was read."""
        ...

    @property
    def joined_lines(self) -> int:
        """Lines so far that were taken for more of the session of an earlier one."""
        ...

    def read(self, line: bytes) -> Iterable[TraceRequest]:
        """The requests of a line, at least one as a rule. Raises BadLineError."""
        ...


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of trace."""

    name: str
    sniff: Callable[[Mapping[str, object]], bool]
    """Whether a record, the first of a trace, looks like this format."""
    reader: Callable[[ReadOptions], LineReader]
