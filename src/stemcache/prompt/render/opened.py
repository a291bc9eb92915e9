"""What a renderer begins with: what is sent, checked, and the marks that it takes as it writes."""

import re
from typing import NamedTuple

from stemcache.prompt.marks.placement import Placement
from stemcache.prompt.piece import Laid
from stemcache.prompt.render.calls import check_turns
from stemcache.prompt.render.marks import Marks
from stemcache.prompt.render.turns import (
    SystemText,
    Turn,
    merged,
    system_texts,
    tools_of,
    turns_of,
)
from stemcache.prompt.tool import Tool
from stemcache.wire.api import Api

__all__ = ["Opened", "opened"]


class Opened(NamedTuple):
    """Each with the numbers of its pieces."""

    tools: tuple[tuple[int, Tool], ...]
    system: tuple[SystemText, ...]
    turns: tuple[Turn, ...]
    """Messages as they were laid; `merged` joins those of one speaker."""
    marks: Marks
    """Made for one rendering, which uses them up."""


def opened(
    laid: Laid, placement: Placement, api: Api, names: re.Pattern[str] | None = None
) -> Opened:
    """What is sent to the API. Linear in the prompt; changes nothing.

    `names` are those that a server takes for tools. Raises UsageError for what would be refused.
    """
    tools = tools_of(laid, api, names)
    system = system_texts(laid, api)
    turns = turns_of(laid, api)
    check_turns(merged(turns), api)
    sent = [place for place, _ in (*tools, *system)]
    blocks = [block.place for turn in turns for block in turn.blocks]
    return Opened(tools, system, turns, Marks(laid, placement, [*sent, *blocks]))
