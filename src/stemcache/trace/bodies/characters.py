"""Prompts as characters: what two prompts share when no tokenizer is at hand.

```
␝ tool ␝ tool ␞ system ␟ text ␞ user ␟ text ␞ assistant ␟ text …
```

Each tool and message goes behind a control character that texts do not hold as a rule, then its
strings as they are, decoded, and other values as JSON. So two prompts share characters up to where
their content differs, and a list of one text part is the same as that text. Two things are left
out: `cache_control`, which moves from message to message and is not content; and media, in whose
place their kind and a digest stand, for how many tokens they make cannot be told from here.
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Literal

import msgspec
import numpy as np

from stemcache.core.tokens import Tokens
from stemcache.trace.bodies.prompt import Conversation, TextPrompt
from stemcache.trace.problem import BadLineError

__all__ = ["CharacterPrompts", "media_mark", "rendered", "text_of"]

_TOOL, _MESSAGE, _CONTENT = "\x1d", "\x1e", "\x1f"
_NOT_CONTENT = "cache_control"
_TEXT_PARTS = {"input_text", "output_text", "reasoning_text", "summary_text", "text"}
_MEDIA = {
    "audio",
    "document",
    "file",
    "image",
    "image_url",
    "input_audio",
    "input_file",
    "input_image",
    "video_url",
}


class CharacterPrompts:
    """Code points in place of tokens."""

    unit: Literal["characters"] = "characters"

    def tokens(self, prompt: TextPrompt | Conversation) -> Tokens:
        """One number a character."""
        text = prompt.text if isinstance(prompt, TextPrompt) else rendered(prompt)
        return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def rendered(conversation: Conversation) -> str:
    """The whole conversation as one text. Raises BadLineError for nesting without end."""
    try:
        return "".join(_pieces(conversation))
    except RecursionError:
        raise BadLineError("the body nests too deep") from None


def _pieces(conversation: Conversation) -> Iterator[str]:
    for tool in conversation.tools:
        yield _TOOL
        yield from _value(tool)
    if conversation.system is not None:
        yield f"{_MESSAGE}system{_CONTENT}"
        yield from _content(conversation.system)
    for i, message in enumerate(conversation.messages):
        if not isinstance(message, Mapping):
            raise BadLineError(f"messages[{i}] is no object")
        kind = message.get("role") or message.get("type")
        yield f"{_MESSAGE}{kind if isinstance(kind, str) else ''}{_CONTENT}"
        yield from _content(message.get("content"))
        # A message of the Responses API may be marked as one, or not.
        rest = {
            name: value
            for name, value in message.items()
            if name not in {"role", "content", "type", _NOT_CONTENT} and value is not None
        }
        if rest:
            yield from _value(rest)


def _content(content: object) -> Iterator[str]:
    if isinstance(content, list):
        for part in content:
            yield from _part(part)
    elif content is not None:
        yield from _value(content)


def _part(part: object) -> Iterator[str]:
    text = text_of(part)
    if text is not None:
        yield text
    else:
        yield media_mark(part) or "".join(_value(part))


def text_of(part: object) -> str | None:
    """The text of a part of that kind, else None."""
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and part.get("type") in _TEXT_PARTS:
        text = part.get("text")
        return text if isinstance(text, str) else None
    return None


def media_mark(part: object) -> str | None:
    """What stands in place of an image, a sound or a file; None for other parts."""
    kind = part.get("type") if isinstance(part, Mapping) else None
    if not isinstance(part, Mapping) or not isinstance(kind, str) or kind not in _MEDIA:
        return None
    content = {name: value for name, value in part.items() if name != _NOT_CONTENT}
    digest = blake2b(msgspec.json.encode(content), digest_size=8)
    return f"[{kind} {digest.hexdigest()}]"


def _value(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        mark = media_mark(value)
        if mark is not None:
            yield mark
            return
        yield "{"
        for name, inner in value.items():
            if name != _NOT_CONTENT:
                yield f"{name}:"
                yield from _value(inner)
                yield ","
        yield "}"
    elif isinstance(value, Sequence):
        yield "["
        for inner in value:
            yield from _value(inner)
            yield ","
        yield "]"
    else:
        yield msgspec.json.encode(value).decode()
