"""One of the two requests: the call, and where the text of its body stands."""

from dataclasses import dataclass

from stemcache.trace.calls.call import Call

__all__ = ["BodyText", "Request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyText:
    """The text that a body was read from."""

    text: str
    """JSON. Bytes that are no UTF-8 stand there as the replacement character."""
    inner: str = ""
    """JSON pointer to the body within the text."""
    first_line: int | None = None
    """Line of the file on which the text begins; None where it is not in the file as it is, but
    inside of a string there."""
    as_sent: bool = True
    """Whether it is spelt as it was sent. Else it serves for places only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request as the reader of the explanation knows it."""

    name: str
    """What the user called it by: `a.json`, `calls.jsonl:3`, `calls.jsonl#msg_1`."""
    call: Call
    text: BodyText | None = None
