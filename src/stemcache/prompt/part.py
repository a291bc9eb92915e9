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

from stemcache.errors import UsageError
from stemcache.prompt.given import check_type, listed
from stemcache.wire.api import Api

__all__ = [
    "Document",
    "Image",
    "Native",
    "Part",
    "Text",
    "Thinking",
    "ToolCall",
    "ToolResult",
    "is_blank",
]

_REFUSE_BLANKS = frozenset({Api.CONVERSE, Api.MESSAGES})
"""They answer 400 to a text of white space; the others to an empty one at most."""


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text."""

    text: str
    beside: "Native | None" = None
    """What its API wrote beside it, as a JSON object of members."""

    def __post_init__(self) -> None:
        check_type(self.text, str, "the text of Text", "give a str, made of other values by str()")
        _check_beside(self.beside, "Text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A picture, by its bytes in base64 or by address; exactly one of the two is given."""

    media_type: str
    """`image/png`."""
    base64: str | None = None
    url: str | None = None

    def __post_init__(self) -> None:
        _check_media(self.media_type, self.base64, self.url, "Image")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A file that a provider reads itself, by its bytes in base64 or by address."""

    media_type: str
    """`application/pdf`, `text/plain`."""
    name: str = ""
    base64: str | None = None
    url: str | None = None

    def __post_init__(self) -> None:
        _check_text(self.name, "name", "Document")
        _check_media(self.media_type, self.base64, self.url, "Document")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call that the model made."""

    id: str
    name: str
    arguments: str
    """JSON text. Where an API has an object instead, its members in the order sent."""
    beside: "Native | None" = None
    """What its API wrote beside it, as a JSON object of members."""

    def __post_init__(self) -> None:
        _check_text(self.id, "id", "ToolCall")
        _check_text(self.name, "name", "ToolCall")
        check_type(
            self.arguments,
            str,
            "the arguments of ToolCall",
            "give their JSON text, as the model wrote it",
        )
        _check_beside(self.beside, "ToolCall")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool answered."""

    call_id: str
    parts: tuple["Text | Image | Document", ...]
    name: str = ""
    """Of the tool, for APIs that match results by it."""
    failed: bool = False
    """Whether the tool failed. OpenAI's APIs have no word for it: there the text has to say so."""

    def __post_init__(self) -> None:
        _check_text(self.call_id, "call_id", "ToolResult")
        _check_text(self.name, "name", "ToolResult")
        check_type(self.failed, bool, "failed of ToolResult", "give True or False")
        parts = listed(
            self.parts,
            Text | Image | Document,
            "the parts of ToolResult",
            "give a tuple of parts, (Text(...),) for a text",
        )
        object.__setattr__(self, "parts", parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """A thought with its seal, as the API wrote it; left out for every other API."""

    api: Api
    json: str
    """The block, as compact JSON in the key order received."""

    def __post_init__(self) -> None:
        _check_block(self.api, self.json, "Thinking")


@dataclass(frozen=True, slots=True, kw_only=True)
class Native:
    """Any other block of one API; an error when it is rendered for another."""

    api: Api
    json: str

    def __post_init__(self) -> None:
        _check_block(self.api, self.json, "Native")


Part = Text | Image | Document | ToolCall | ToolResult | Thinking | Native


def is_blank(text: str, api: Api) -> bool:
    """Whether nobody sends such a text to the API: it is empty, or the API refuses it. Linear."""
    return not (text.strip() if api in _REFUSE_BLANKS else text)


def _check_text(value: object, field: str, owner: str) -> None:
    check_type(value, str, f"{field} of {owner}", "give a str")


def _check_beside(value: object, owner: str) -> None:
    check_type(value, Native | None, f"beside of {owner}", "give a Native, or leave it out")


def _check_block(api: object, json: object, owner: str) -> None:
    check_type(api, Api, f"api of {owner}", "give a member of Api")
    check_type(json, str, f"json of {owner}", "give the block's JSON text")


def _check_media(media_type: object, base64: object, url: object, owner: str) -> None:
    check_type(media_type, str, f"media_type of {owner}", "give one such as 'image/png'")
    if not media_type:
        raise UsageError(f"media_type of {owner} is empty; give one such as 'image/png'")
    for value, name in ((base64, "base64"), (url, "url")):
        if value is not None:
            use = "give a str: base64.b64encode(data).decode() makes one of bytes"
            check_type(value, str, f"{name} of {owner}", use if name == "base64" else "give a str")
