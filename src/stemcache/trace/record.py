"""One request of a trace: when it came, how long it was, and what its prompt shares with others.

```
    prompt of 1,100 tokens, 512 tokens a block

    block_ids   17            18             90          three ids: the last block is partial
                └ tokens      └ 512 to       └ 1,024 to
                  0 to 511      1,023          1,099
```

An id is *chained*: two prompts with an equal id in one scope are equal up to the end of that
block. So a trace says what could be shared without holding a word of any prompt.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["BlockIds", "TraceRequest"]

BlockIds = npt.NDArray[np.int64]
"""Shape (blocks,). Chained ids; any 64-bit values, compared for equality only."""


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """One prompt of a trace, in the order in which the trace gives them.

    `scope` is what ids are local to: ids of different scopes are never equal. Where `arrival_s`
    counts from the start of a session of its own, `session_clock` is true, and times of different
    sessions cannot be compared.
    """

    block_ids: BlockIds
    """One for each block, the partial last one included where the trace counts it."""
    block_tokens: int
    """Tokens in a full block; characters where the trace was read without a tokenizer."""
    prompt_tokens: int
    """Length of the prompt; may exceed what `block_ids` cover by less than a block."""
    output_tokens: int | None = None
    """Length of the answer; None if the trace does not say."""
    arrival_s: float | None = None
    """Seconds since the trace's, or the session's, zero; None if the trace has no times."""
    scope: str = ""
    session: str | None = None
    session_clock: bool = False
    tenant: str | None = None

    @property
    def covered_tokens(self) -> int:
        """Prompt tokens that lie in blocks, the partial last one included."""
        return min(self.prompt_tokens, len(self.block_ids) * self.block_tokens)
