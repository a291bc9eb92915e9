"""Whether text can be sent at all: half of a surrogate pair has no UTF-8, so no client takes it.

```
"cut ?"     half of an emoji: JSON that was cut, open(…, errors="surrogateescape")
      ▲ character 4 of the text of part 0 of segment 'rules'
```
It is refused where it enters, with its place: once it is in a history, no request can be sent.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stemcache.errors import UsageError
from stemcache.prompt.part import (
    Document,
    Image,
    Native,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

__all__ = ["check_sendable", "check_text", "check_values"]

_DEEPEST = 128


def check_text(text: str, what: str) -> None:
    """Raise UsageError for half of a surrogate pair. Linear; free for ASCII."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{what} has half of a surrogate pair at character {error.start}, which is no UTF-8 "
            "and cannot be sent; replace it: text.encode('utf-8', 'replace').decode()"
        ) from None


def check_sendable(parts: Sequence[Part], owner: str) -> None:
    """Raise UsageError for the first part with such a text. Linear; free for ASCII."""
    for at, part in enumerate(parts):
        for field, text in _texts(part):
            if not text.isascii():
                check_text(text, f"{field} of part {at} of {owner}")


def check_values(value: object, what: str, depth: int = 0) -> None:
    """Raise UsageError, with a JSON pointer, for such a text in dictionaries and lists. Linear."""
    if isinstance(value, str):
        check_text(value, what)
    elif depth > _DEEPEST:
        return  # whoever writes it says so
    elif isinstance(value, Mapping):
        for name, member in value.items():
            if isinstance(name, str):
                check_text(name, f"a name in {what}")
            check_values(member, f"{what}/{name}", depth + 1)
    elif isinstance(value, list | tuple):
        for at, member in enumerate(value):
            check_values(member, f"{what}/{at}", depth + 1)


def _texts(part: Part) -> Iterator[tuple[str, str]]:
    """Its texts, each with what it is."""
    match part:
        case Text():
            yield "the text", part.text
            yield from _beside(part.beside)
        case Image() | Document():
            yield from _media(part)
        case ToolCall():
            yield "the id", part.id
            yield "the name", part.name
            yield "the arguments", part.arguments
            yield from _beside(part.beside)
        case ToolResult():
            yield "the call_id", part.call_id
            yield "the name", part.name
            for at, one in enumerate(part.parts):
                for field, text in _texts(one):
                    yield f"{field} of parts[{at}]", text
        case Thinking() | Native():
            yield "the json", part.json


def _beside(native: Native | None) -> Iterator[tuple[str, str]]:
    if native is not None:
        yield "what stands beside the text or call", native.json


def _media(part: Any) -> Iterator[tuple[str, str]]:
    for field in ("media_type", "name", "base64", "url"):
        text = getattr(part, field, None)
        if text is not None:
            yield f"the {field}", text
