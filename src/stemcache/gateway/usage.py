"""What an answer says about the tokens of its request."""

import msgspec

__all__ = ["AnswerUsage"]


class AnswerUsage(msgspec.Struct, frozen=True, gc=False):
    """Counts of one answer. None is unknown, never zero."""

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
