"""A prompt as a list of spans: the pieces that a provider reads one after the other.

```
body ──► tools[0]  tools[1]  system[0]  messages[0].content[0]  messages[1].content[0] …
          span 0    span 1    span 2          span 3                  span 4   (Anthropic's order)
                              marker                                  marker
```
A span is one content block, one tool, or one message whose content is a plain string. `text` is
what is compared: a text as decoded (so that white space and escapes of the JSON around it do not
count), or for a structure its compact JSON in the key order that was sent, without markers, since
providers render that order and do not see the markers. Arguments of a tool call that are a string
stay that string.

Invariants: spans stand in the provider's order of sections, inside a section in the body's order;
pointers are unique; a body's system messages that lead its messages are the section SYSTEM, with
the pointers that they have in `messages`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from stemcache.wire.api import Api
from stemcache.wire.section import Section

__all__ = ["Marker", "Prompt", "Span", "SpanKind"]


class SpanKind(StrEnum):
    """What a span holds."""

    TEXT = "text"
    IMAGE = "image"
    DOCUMENT = "document"
    TOOL = "tool"
    """The definition of a tool."""
    TOOL_USE = "tool_use"
    """A call that the model made."""
    TOOL_RESULT = "tool_result"
    THINKING = "thinking"
    TOKENS = "tokens"
    """Token ids; `text` has them with blanks between."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Marker:
    """A place where the caller asks for the prefix up to here to be kept."""

    pointer: str
    """JSON pointer to the marker itself, e.g. `/system/0/cache_control`."""
    ttl: str | None = None
    """As written, `5m`, `1h`, `30m`; None is the provider's default."""


@dataclass(frozen=True, slots=True)
class Span:
    """One piece of a prompt."""

    section: Section
    pointer: str
    """JSON pointer to the block in the body: `/system/0`, `/messages/3/content/1`, `/tools/2`; to
    the message where its content is a plain string or null: `/messages/3`, or `/system`."""
    text_pointer: str
    """JSON pointer to the string that `text` is, e.g. `/system/0/text` or `/messages/3/content`;
    for a structure equal to `pointer`."""
    role: str
    """`system`, `developer`, `user`, `assistant`, `tool`; empty for tools."""
    kind: SpanKind
    text: str
    value: object
    """The decoded node at `pointer`, markers included, for those who look closer."""
    message: int
    """Number of the message that it belongs to, -1 outside of messages."""
    ends_message: bool
    """Whether it is the last span of its message (of its section, outside of messages)."""
    marker: Marker | None = None
    label: str = ""
    """What a provider reads of it beside `text`: the name of who speaks, the id of the call that a
    result answers, the seal of a thought. Spans are equal where role, kind, label and text are."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """All spans of one request, in the provider's order, and what else keys its cache."""

    api: Api
    spans: tuple[Span, ...]
    order: tuple[Section, ...]
    parameters: Mapping[str, object]
    """Everything of the body that is no span, by JSON pointer of one or two levels
    (`/tool_choice`, `/reasoning/effort`, `/output_config/effort`), values as decoded. Objects are
    given whole and by their members."""
    automatic: Marker | None = None
    """A marker on the request as a whole, which the provider puts at its end."""
