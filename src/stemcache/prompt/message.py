"""One message of a conversation. Immutable: what was sent once is sent so for ever."""

from dataclasses import dataclass
from typing import Literal

from stemcache.prompt.part import Part

__all__ = ["Message", "Speaker"]

Speaker = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """Results of tools are a user's."""

    speaker: Speaker
    parts: tuple[Part, ...]
