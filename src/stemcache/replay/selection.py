"""Which requests of a trace are sent, and how long their answers may be. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from stemcache.replay.shrink import shrunk
from stemcache.trace.record import TraceRequest

__all__ = ["DEFAULT_OUTPUT_TOKENS", "Planned", "Selection", "nothing_left", "select"]

DEFAULT_OUTPUT_TOKENS = 64
"""Where neither the trace nor the user says how long an answer is."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A request that will be sent."""

    number: int
    """Position in the trace, from 0, whatever was left out before it."""
    request: TraceRequest
    """With the blocks as they will be sent."""
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What was chosen, and how much was not."""

    planned: tuple[Planned, ...]
    read: int
    too_long: int
    empty: int
    unknown_outputs: int
    """Sent requests whose trace does not say how long the answer was, where nobody else did."""
    block_tokens: int | None
    """Of the trace's first request; None for an empty trace."""


def select(
    trace: Iterable[TraceRequest],
    *,
    limit: int | None = None,
    tokens_per_block: int | None = None,
    max_prompt_tokens: int | None = None,
    max_tokens: int | None = None,
) -> Selection:
    """Read the first `limit` requests and leave out those that are empty or too long.

    Holds all of them: eight bytes a block. `max_prompt_tokens` is compared after shrinking.
    """
    planned: list[Planned] = []
    read = too_long = empty = unknown = 0
    block_tokens = None
    for number, original in enumerate(islice(trace, limit)):
        read += 1
        block_tokens = block_tokens or original.block_tokens
        request = original if tokens_per_block is None else shrunk(original, tokens_per_block)
        if request.prompt_tokens < 1:
            empty += 1
        elif max_prompt_tokens is not None and request.prompt_tokens > max_prompt_tokens:
            too_long += 1
        else:
            output = request.output_tokens if max_tokens is None else max_tokens
            if output is None:
                unknown += 1
                output = DEFAULT_OUTPUT_TOKENS
            planned.append(Planned(number, request, max(1, output)))
    return Selection(
        planned=tuple(planned),
        read=read,
        too_long=too_long,
        empty=empty,
        unknown_outputs=unknown,
        block_tokens=block_tokens,
    )


def nothing_left(selection: Selection, trace: str) -> str:
    """Why no request is sent, and what can be done about it."""
    if not selection.too_long:
        return (
            f"no request of {trace} is left to send: the prompts of all {selection.empty:,} are "
            "empty; give a trace whose requests have tokens"
        )
    return (
        f"no request of {trace} is left to send: {selection.too_long:,} are too long and "
        f"{selection.empty:,} empty; raise --max-prompt-tokens or lower --tokens-per-block"
    )
