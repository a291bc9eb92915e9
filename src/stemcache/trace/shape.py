"""What the readers of hash traces share: decoding a line, and one block size for a whole trace."""

from typing import Annotated, Generic, TypeVar, overload

import msgspec

from stemcache.trace.problem import BadLineError, decode_problem

__all__ = ["BlockSize", "BlockTokens", "Decoder", "Length", "Name", "length_of", "name_of"]

T = TypeVar("T")

_EXACT = 2**53
"""Beyond it a float is not the number that was written."""

_MOST_TOKENS = 2**48
_MOST_BLOCK_TOKENS = 2**24

Length = Annotated[int, msgspec.Meta(ge=0, le=_MOST_TOKENS)] | float
"""Tokens of a prompt or an answer; `length_of` takes whole floats, as columns with gaps become."""
BlockTokens = Annotated[int, msgspec.Meta(ge=1, le=_MOST_BLOCK_TOKENS)] | float
Name = str | int | float
"""What traces call sessions, scopes and tenants by; `name_of` takes whole floats."""


class Decoder(Generic[T]):
    """Lines of JSON to one type of record."""

    def __init__(self, type_: type[T]) -> None:
        self._decode = msgspec.json.Decoder(type_).decode

    def __call__(self, line: bytes) -> T:
        """Raises BadLineError."""
        try:
            return self._decode(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise BadLineError(decode_problem(error, line)) from None


@overload
def length_of(value: Length, field: str) -> int: ...
@overload
def length_of(value: Length | None, field: str) -> int | None: ...
def length_of(value: Length | None, field: str) -> int | None:
    """A whole number of tokens; 4.0 is 4. Raises BadLineError."""
    if not isinstance(value, float):
        return value
    return _whole(value, field, range(_MOST_TOKENS + 1))


@overload
def name_of(value: Name, field: str) -> str: ...
@overload
def name_of(value: Name | None, field: str) -> str | None: ...
def name_of(value: Name | None, field: str) -> str | None:
    """The name as text: numbers and texts that look alike are one name. Raises BadLineError."""
    if value is None:
        return None
    if isinstance(value, float):
        value = _whole(value, field, range(-_EXACT, _EXACT + 1))
    return str(value)


def _whole(value: float, field: str, allowed: range) -> int:
    if not value.is_integer() or int(value) not in allowed:
        raise BadLineError(
            f"{field} is {'a fraction' if not value.is_integer() else 'out of range'}, "
            "where a whole number belongs"
        )
    return int(value)


class BlockSize:
    """The block size of a trace: said by the user, by each record, or by habit; never two.

    Ids of blocks of different sizes say nothing about each other, so a trace has one size.
    """

    def __init__(self, said: int | None, *, habit: int) -> None:
        self._said = said
        self._tokens = said
        self._habit = habit

    def of(self, told: BlockTokens | None) -> int:
        """The size of a record, which may tell its own. Raises BadLineError if it is another."""
        if isinstance(told, float):
            told = _whole(told, "block_size", range(1, _MOST_BLOCK_TOKENS + 1))
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
