"""One message of a conversation. Immutable: what was sent once is sent so for ever."""

from dataclasses import dataclass
from typing import Literal

from stemcache.errors import UsageError
from stemcache.prompt.given import check_type, listed
from stemcache.prompt.part import Part

__all__ = ["Message", "Speaker"]

Speaker = Literal["user", "assistant"]
_SPEAKERS = frozenset({"user", "assistant"})


@dataclass(frozen=True, slots=True)
class Message:
    """Results of tools are a user's. Raises UsageError for anything else."""

    speaker: Speaker
    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        check_type(self.speaker, str, "the speaker of Message", "give 'user' or 'assistant'")
        if self.speaker not in _SPEAKERS:
            raise UsageError(
                f"the speaker of Message is {self.speaker[:20]!r}; give 'user' or 'assistant', and "
                "put instructions into a segment of the layout"
            )
        parts = listed(
            self.parts,
            Part,
            "the parts of Message",
            "give a tuple of parts, (Text(...),) for a text",
        )
        object.__setattr__(self, "parts", parts)
