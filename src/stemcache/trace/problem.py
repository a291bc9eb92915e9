"""What is wrong with a line of a trace, and what was skipped for it."""

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


def decode_problem(error: msgspec.MsgspecError | RecursionError | UnicodeDecodeError) -> str:
    """Word what msgspec says of a line; its messages hold places and types, no values."""
    if isinstance(error, RecursionError):
        return "the JSON nests too deep"
    if isinstance(error, UnicodeDecodeError):
        return "the text is not UTF-8"
    text = str(error)
    if "truncated" in text:
        return "the JSON ends early"
    if text.startswith("JSON is malformed: "):
        return f"not JSON: {text.removeprefix('JSON is malformed: ')}"
    if "UTF-8" in text:
        return "the text is not UTF-8"
    what, _, path = text.partition(" - at `$")
    path = path.removesuffix("`")
    what = what[:1].lower() + what[1:]
    return f"{path.lstrip('.')}: {what}" if path else what
