"""What the readers of hash traces share: decoding a line, and one block size for a whole trace."""

from typing import Annotated, Generic, TypeVar

import msgspec

from stemcache.trace.problem import BadLineError, decode_problem

__all__ = ["BlockSize", "BlockTokens", "Decoder", "Length", "Name", "name_of"]

T = TypeVar("T")

Length = Annotated[int, msgspec.Meta(ge=0, le=2**48)]
"""Tokens of a prompt or an answer."""
BlockTokens = Annotated[int, msgspec.Meta(ge=1, le=2**24)]
Name = str | int
"""What traces call sessions, scopes and tenants by."""


class Decoder(Generic[T]):
    """Lines of JSON to one type of record."""

    def __init__(self, type_: type[T]) -> None:
        self._decode = msgspec.json.Decoder(type_).decode

    def __call__(self, line: bytes) -> T:
        """Raises BadLineError."""
        try:
            return self._decode(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise BadLineError(decode_problem(error)) from None


def name_of(value: Name | None) -> str | None:
    """The name as text: numbers and texts that look alike are one name."""
    return None if value is None else str(value)


class BlockSize:
    """The block size of a trace: said by the user, by each record, or by habit; never two.

    Ids of blocks of different sizes say nothing about each other, so a trace has one size.
    """

    def __init__(self, said: int | None, *, habit: int) -> None:
        self._said = said
        self._tokens = said
        self._habit = habit

    def of(self, told: int | None) -> int:
        """The size of a record, which may tell its own. Raises BadLineError if it is another."""
        size = told or self._tokens or self._habit
        if self._tokens in {None, size}:
            return size
        if self._said is not None:
            raise BadLineError(
                f"its blocks have {size} tokens, but --block-size says {self._said}",
                fix="leave the flag out",
            )
        raise BadLineError(
            f"its blocks have {size} tokens, but those before have {self._tokens}",
            fix="split the trace by block size",
        )

    def keep(self, size: int) -> None:
        """From a record that was read: what the others must agree with."""
        self._tokens = size
