"""What segments and messages are made of, whichever API they are rendered for. Immutable.

```
Text  Image  Document        from anybody
ToolCall  Thinking           from the model: kept as it wrote them
ToolResult                   from tools, by the id of their call
Native                       a block of one API, passed on byte for byte
```
Bytes that a model or a server chose (ids, arguments, seals of thoughts) are never made anew: to
render a part twice gives the same bytes. What an API wrote *beside* a text or a call that the part
has no field for (`thoughtSignature`, `citations`, `caller`, an item's `id` and `phase`) goes back
to that API and is left out for others:

| API | the members of `beside` stand in |
|---|---|
| Messages, Converse, Gemini | the content block, or Gemini's part, that the text or call is in |
| Responses | the item: `function_call`, or the `message` around the text |
| Chat | the tool call; for a text, the message |
"""

from dataclasses import dataclass

from stemcache.wire.api import Api

__all__ = ["Document", "Image", "Native", "Part", "Text", "Thinking", "ToolCall", "ToolResult"]


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text."""

    text: str
    beside: "Native | None" = None
    """What its API wrote beside it, as a JSON object of members."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A picture, by its bytes in base64 or by address; exactly one of the two is given."""

    media_type: str
    """`image/png`."""
    base64: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A file that a provider reads itself, by its bytes in base64 or by address."""

    media_type: str
    """`application/pdf`, `text/plain`."""
    name: str = ""
    base64: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call that the model made."""

    id: str
    name: str
    arguments: str
    """JSON text. Where an API has an object instead, its members in the order sent."""
    beside: "Native | None" = None
    """What its API wrote beside it, as a JSON object of members."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool answered."""

    call_id: str
    parts: tuple["Text | Image | Document", ...]
    name: str = ""
    """Of the tool, for APIs that match results by it."""
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """A thought with its seal, as the API wrote it; left out for every other API."""

    api: Api
    json: str
    """The block, as compact JSON in the key order received."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Native:
    """Any other block of one API; an error when it is rendered for another."""

    api: Api
    json: str


Part = Text | Image | Document | ToolCall | ToolResult | Thinking | Native
