"""What an answer says about the tokens of its request."""

from dataclasses import dataclass

__all__ = ["AnswerUsage"]


@dataclass(frozen=True, slots=True)
class AnswerUsage:
    """Counts of one answer. None is unknown, never zero."""

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
