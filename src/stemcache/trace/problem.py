"""What is wrong with a line of a trace, and what was skipped for it."""

import json
import re
from dataclasses import dataclass

import msgspec

__all__ = ["BadLineError", "Problem", "decode_problem"]


class BadLineError(Exception):
    """A line cannot be read. Never leaves the package: a reader stops with it, or counts it.

    `reason` says positions, names of fields and types, never what a prompt says. `fix` is what to
    do beside skipping.
    """

    def __init__(self, reason: str, *, fix: str = "mend the line") -> None:
        super().__init__(reason)
        self.reason = reason
        self.fix = fix


@dataclass(frozen=True, slots=True)
class Problem:
    """A line that was skipped."""

    line: int
    """Counted from 1, empty lines included."""
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_HALF_PAIR = "a text holds half of a surrogate pair, which is no character"


def decode_problem(
    error: msgspec.MsgspecError | RecursionError | UnicodeDecodeError, text: bytes | str
) -> str:
    """Word what msgspec says of a line; its messages hold places and types, no values."""
    if isinstance(error, RecursionError):
        return "the JSON nests too deep"
    if isinstance(error, UnicodeDecodeError):
        return "the text is not UTF-8"
    said = str(error)
    if "utf-16 surrogate pair" in said:
        return _HALF_PAIR
    if "truncated" in said:
        # Half a pair near the end of a line looks to msgspec as if the other half had been cut off.
        return _HALF_PAIR if _is_whole(text) else "the JSON ends early"
    if said.startswith("JSON is malformed: "):
        return f"not JSON: {said.removeprefix('JSON is malformed: ')}"
    if "UTF-8" in said:
        return "the text is not UTF-8"
    what, _, path = said.partition(" - at `$")
    path = path.removesuffix("`")
    what = what[:1].lower() + what[1:]
    return f"{path.lstrip('.')}: {what}" if path else what


def _is_whole(text: bytes | str) -> bool:
    """Whether JSON ends where it should, for those who take half of a pair for a character."""
    try:
        spelled = text if isinstance(text, str) else text.decode()
        if not _SURROGATE.search(spelled):
            return False
        json.loads(spelled)
    except (ValueError, RecursionError):
        return False
    return True
