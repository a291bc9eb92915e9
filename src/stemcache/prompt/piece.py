"""A prompt laid out: its pieces as a provider reads them one by one, and where marks may be.

```
 tools          system                        messages
 search  fetch  rules  handbook  │ profile │ question  answer  question │ now
 static  static static reference │ session │ history …                  │ turn
        boundary 1  2        3        4         5        6        7         (behind each piece)
```
A boundary is the number of pieces before it. Invariants: within a section stability never rises
again, but for history, which only grows; whatever is `turn` stands at the end.
"""

from dataclasses import dataclass

from stemcache.prompt.message import Message
from stemcache.prompt.part import Document, Image, Part, Text
from stemcache.prompt.segment import Segment
from stemcache.prompt.stability import Stability
from stemcache.prompt.tool import Tool
from stemcache.provider.shape import Run
from stemcache.wire.section import Section

__all__ = ["Laid", "Piece"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One content block, or one tool. What a mark can stand behind."""

    section: Section
    stability: Stability
    """Of history: SESSION."""
    tokens: int
    """Estimated, at least 1."""
    source: Tool | Segment | Message
    part: Part | Text | Image | Document | None
    """None for tools."""
    message: int = -1
    """Number of the message it is part of, in the request; -1 outside of messages."""
    ends_message: bool = False
    run: Run | None = None
    """Runs of calls, and of results, may count as one position of a look-back."""
    markable: bool = True
    """Whether the API lets a mark stand here: not on a thought, nor on an empty text."""


@dataclass(frozen=True, slots=True)
class Laid:
    """What a renderer gets."""

    pieces: tuple[Piece, ...]

    def tokens(self) -> tuple[int, ...]:
        """Tokens before each boundary, from 0 to all: `len(pieces) + 1` numbers."""
        sums = [0]
        for piece in self.pieces:
            sums.append(sums[-1] + piece.tokens)
        return tuple(sums)
