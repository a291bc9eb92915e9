"""A request as a provider's cache sees it: places where its prompt can be cut, and no text.

```
tokens   0        900      1,400                2,300          2,350
         │ tools  │ system │  user              │ assistant    │ user
         ├────────┼────────┼────────────────────┼──────────────┤
position     0        1            2                  3             4      (one a content block)
marker                ▲                                             ▲
```
`chain` of a position stands for everything before it, the parameters that key the cache there
included: equal chains, equal prefixes. `fine_chain` and `fine_tokens` cut the same prompt in more
places, for caches that can be read anywhere; every position's cut is among them.

Invariants: `end_tokens` and `fine_tokens` never fall; chains identify prefixes, so two shapes that
agree at a cut agree at all before it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from stemcache.wire.api import Api
from stemcache.wire.section import Section

if TYPE_CHECKING:  # whoever only lays out prompts needs no numpy, half of the time an import takes
    import numpy as np
    import numpy.typing as npt

__all__ = ["Mark", "Position", "Shape"]

Run = Literal["tool_use", "tool_result"]


@dataclass(frozen=True, slots=True)
class Mark:
    """A caller's wish to keep the prefix up to a position."""

    ttl: str | None = None
    """`5m`, `1h`, `30m`, `12h`; None is the provider's default."""


@dataclass(frozen=True, slots=True)
class Position:
    """The end of one content block."""

    chain: int
    end_tokens: int
    section: Section
    role: str
    """`system`, `developer`, `user`, `assistant`, `tool`; empty for tools."""
    ends_message: bool
    mark: Mark | None = None
    run: Run | None = None
    """Kind of a block whose runs may count as one position of a look-back."""
    message: int = -1


@dataclass(frozen=True, slots=True)
class Shape:
    """One request."""

    positions: tuple[Position, ...]
    fine_chain: "npt.NDArray[np.uint64]"
    fine_tokens: "npt.NDArray[np.int64]"
    api: Api
    automatic: Mark | None = None
    """A mark on the request as a whole."""
    implicit: bool = True
    """False where the body turns the provider's own breakpoints off (OpenAI from 5.6:
    `prompt_cache_options.mode` is `explicit`)."""
    object_name: str | None = None
    """Gemini: name of the `CachedContent` that the request reads."""
    output_tokens: int | None = None
    """Length of the answer, where known: some caches keep it too."""

    @property
    def tokens(self) -> int:
        """Prompt tokens in all."""
        return self.positions[-1].end_tokens if self.positions else 0
