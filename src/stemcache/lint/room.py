"""How much an analysis keeps of earlier calls: bounds, each of which fills up only if it is needed.

| | a log | a running program |
|---|---|---|
| contents among which parents are looked for | 32 MiB, 44 MiB of table | 8 MiB, 3 MiB |
| digests and texts of earlier calls | 24 MiB each | 4 MiB, 8 MiB |
| entries of a simulated cache | 18 MB a rule | 2 MB a rule |
| ends, ids, open writes, causes | 60 MB | 3 MB |

A call whose parent is forgotten counts as cold: less is found, and nothing is found that is wrong.
"""

from dataclasses import dataclass

__all__ = ["RUNNING", "Room"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Bounds, all at least 1. The defaults are those for a log."""

    calls: int = 200_000
    """Of which is known where their units are, and by which id they are named."""
    units: int = 2**20
    """Of the table by which parents are found."""
    content_bytes: int = 32 * 2**20
    """Of contents of earlier calls among which parents are looked for."""
    known_bytes: int = 24 * 2**20
    """Of digests."""
    prompt_bytes: int = 24 * 2**20
    """Of texts, by the length of their JSON."""
    memo_characters: int = 2**22
    """Of texts that were cut before; up to twice as many are held."""
    cache_entries: int = 150_000
    """Of each simulated cache: about 120 bytes each."""
    ends: int = 100_000
    open_writes: int = 200_000
    causes: int = 20_000
    """Told apart; those beyond are put together by their rule."""


RUNNING = Room(
    calls=20_000,
    units=2**16,
    content_bytes=8 * 2**20,
    known_bytes=4 * 2**20,
    prompt_bytes=8 * 2**20,
    memo_characters=2**20,
    cache_entries=20_000,
    ends=5_000,
    open_writes=5_000,
    causes=200,
)
"""Beside the work of a program whose calls are judged as they end."""
