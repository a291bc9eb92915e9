"""The order of a prompt: what stays longest stands first, so that what changes costs least.

```
Layout(segments, tools)
  tools     static · reference · session, by name
  system    static · reference · session, as given           what is shared by most, first
  messages  [opening] history … [turn]                       turn: what nobody will ask for again
```
Where pieces stand, and why:

- A session segment stands in the system section, behind what is shared. It keys all that follows,
  the history with it, and that is right: the history is the session's own anyway.
- No API takes pictures or files in its system section. From the first segment that has one, all
  stable segments stand in the *opening* instead, ahead of the history, so that order is kept; of
  equal stability, those of text alone come first, so that as few as possible have to move there.
- Turn segments stand behind the history and the last mark. They join the last message if a user's,
  since some APIs and templates refuse two messages of one speaker in a row. Where caches are read
  at the ends of messages (`apart`) they are a message of their own: a message that was longer when
  it was sent than it is in the history ends nowhere that was written. The opening likewise.

Invariant: equal segments, tools and history give equal pieces, whatever order tools and the keys
of their schemas came in.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from stemcache.errors import UsageError
from stemcache.prompt.canonical import canonical_schema
from stemcache.prompt.count import Count, count_bytes, part_tokens, tool_tokens
from stemcache.prompt.given import check_callable, check_number, listed
from stemcache.prompt.marks.markable import is_markable
from stemcache.prompt.message import Message, Speaker
from stemcache.prompt.part import Part, Text, ToolCall, ToolResult
from stemcache.prompt.piece import Laid, Piece
from stemcache.prompt.render.media import check_media
from stemcache.prompt.segment import Segment
from stemcache.prompt.sendable import check_sendable
from stemcache.prompt.stability import Stability
from stemcache.prompt.tool import Tool
from stemcache.prompt.volatile.check import VolatileError, check
from stemcache.provider.shape import Run
from stemcache.wire.api import Api
from stemcache.wire.section import Section

__all__ = ["Layout", "VolatileError"]

_SEGMENTS = "give a list of segments, as static(...), reference(...), session(...) and turn(...)"
_HISTORY = (
    "give a Conversation or a list of Message; Conversation.extend_from takes the list of an API"
)
_TURN = "give a list of turn(...) segments"


class Layout:
    """Segments and tools in their order, checked once. Immutable; make one, lay many prompts.

    Raises UsageError for names that occur twice, segments without content and schemas that are no
    JSON, and VolatileError for text that will change in what is declared to stay: that look takes
    about a second a megabyte. `count` gives the tokens of a text, a whole number from 0 on; without
    it they are estimated. It is called for all texts of the history whenever a prompt is laid: one
    that is costly should remember (`functools.cache`).
    """

    def __init__(
        self,
        segments: Iterable[Segment],
        tools: Iterable[Tool] = (),
        *,
        count: Callable[[str], int] | None = None,
    ) -> None:
        given: tuple[Segment, ...] = listed(segments, Segment, "segments", _SEGMENTS)
        _check_segments(given)
        for one in given:
            check_media(one.parts, f"segment {one.name!r}")
        if count is not None:
            check_callable(count, "count", "give a function from a text to its tokens")
        self._count = count_bytes if count is None else _checked(count)
        self.tools: tuple[Tool, ...] = _ordered_tools(tools)
        """By stability and then by name, their schemas canonical."""
        stable = [one for one in given if one.stability is not Stability.TURN]
        self.segments: tuple[Segment, ...] = tuple(
            sorted(stable, key=lambda one: (one.stability.rank, _has_media(one)))
        )
        """The stable ones in the order that they are laid in."""
        self.turn: tuple[Segment, ...] = tuple(
            one for one in given if one.stability is Stability.TURN
        )
        """Laid behind the history of every prompt, ahead of those that `lay` is given."""
        check(self.segments, self.tools)
        self._tool_tokens = tuple(self._tokens_of_tool(tool) for tool in self.tools)
        self._segment_tokens = {one.name: self._tokens_of(one) for one in self.segments}

    def lay(
        self,
        order: tuple[Section, ...],
        history: Sequence[Message] = (),
        turn: Sequence[Segment] = (),
        *,
        api: Api | None = None,
        apart: bool = False,
    ) -> Laid:
        """The pieces in a provider's order of sections. Linear in the prompt; changes nothing.

        `api` says where marks may stand, and where messages end; None leaves that to any API.
        `apart`: opening and turn are messages of their own. Raises UsageError for an order that is
        not each section once, and for a segment in `turn` that is declared stable.
        """
        if len(order) != len(Section) or set(order) != set(Section):
            raise UsageError(
                f"an order of sections is {', '.join(order) or 'empty'}; "
                f"it needs each of {', '.join(Section)} once"
            )
        messages: tuple[Message, ...] = listed(history, Message, "the history", _HISTORY)
        for at, message in enumerate(messages):
            check_sendable(message.parts, f"message {at}")
        behind = self._behind(listed(turn, Segment, "turn", _TURN))
        first_media = next(
            (at for at, one in enumerate(self.segments) if _has_media(one)), len(self.segments)
        )
        system, opening = self.segments[:first_media], self.segments[first_media:]
        sections = {
            Section.TOOLS: self._tool_pieces(api),
            Section.SYSTEM: self._system_pieces(system, api),
            Section.MESSAGES: self._message_pieces(opening, messages, behind, api, apart=apart),
        }
        return Laid(tuple(piece for section in order for piece in sections[section]))

    def _behind(self, turn: Sequence[Segment]) -> tuple[Segment, ...]:
        for one in turn:
            if one.stability is not Stability.TURN:
                raise UsageError(
                    f"segment {one.name!r} in turn is declared {one.stability}; "
                    "give it to Layout, or declare it with turn(...)"
                )
        behind = (*self.turn, *turn)
        _check_segments((*self.segments, *behind))
        return behind

    def _tool_pieces(self, api: Api | None) -> list[Piece]:
        last = len(self.tools) - 1
        return [
            Piece(
                section=Section.TOOLS,
                stability=tool.stability,
                tokens=tokens,
                source=tool,
                part=None,
                ends_message=at == last,
                markable=is_markable(api, Section.TOOLS, None, "user", ends=at == last),
            )
            for at, (tool, tokens) in enumerate(zip(self.tools, self._tool_tokens, strict=True))
        ]

    def _system_pieces(self, segments: Sequence[Segment], api: Api | None) -> list[Piece]:
        parts = [(segment, part) for segment in segments for part in _parts(segment)]
        tokens = [one for segment in segments for one in self._segment_tokens[segment.name]]
        last = len(parts) - 1
        return [
            Piece(
                section=Section.SYSTEM,
                stability=segment.stability,
                tokens=tokens[at],
                source=segment,
                part=part,
                ends_message=at == last,
                markable=is_markable(api, Section.SYSTEM, part, "user", ends=at == last),
            )
            for at, (segment, part) in enumerate(parts)
        ]

    def _message_pieces(
        self,
        opening: Sequence[Segment],
        history: Sequence[Message],
        behind: Sequence[Segment],
        api: Api | None,
        *,
        apart: bool,
    ) -> list[Piece]:
        groups = _grouped(opening, history, behind, apart=apart)
        pieces: list[Piece] = []
        for number, group in enumerate(groups):
            # What generateContent reads from an object has to be followed by a message.
            closed = api is Api.GENERATE and number + 1 == len(groups)
            pieces += self._group(number, group, api, closed=closed)
        return pieces

    def _group(
        self, number: int, group: Sequence[Segment | Message], api: Api | None, *, closed: bool
    ) -> list[Piece]:
        parts = [(source, part) for source in group for part in _parts(source)]
        pieces: list[Piece] = []
        for at, (source, part) in enumerate(parts):
            ends = at + 1 == len(parts) or _ends(api, part)
            speaker: Speaker = source.speaker if isinstance(source, Message) else "user"
            stability = Stability.SESSION if isinstance(source, Message) else source.stability
            pieces.append(
                Piece(
                    section=Section.MESSAGES,
                    stability=stability,
                    tokens=self._tokens(part, source, number),
                    source=source,
                    part=part,
                    message=number,
                    ends_message=ends,
                    run=_run(part),
                    markable=not closed
                    and stability is not Stability.TURN
                    and is_markable(api, Section.MESSAGES, part, speaker, ends=ends),
                )
            )
        return pieces

    def _tokens_of(self, segment: Segment) -> tuple[int, ...]:
        return tuple(self._tokens(part, segment, 0) for part in _parts(segment))

    def _tokens(self, part: Part, source: Segment | Message, message: int) -> int:
        try:
            return part_tokens(part, self._count)
        except _CountError as error:
            segment = source.name if isinstance(source, Segment) else None
            whose = f"message {message}" if segment is None else f"segment {segment!r}"
            raise UsageError(f"for {whose}, {error}") from error.__cause__

    def _tokens_of_tool(self, tool: Tool) -> int:
        try:
            return tool_tokens(tool, self._count)
        except _CountError as error:
            raise UsageError(f"for tool {tool.name!r}, {error}") from error.__cause__


class _CountError(UsageError):
    """`count` failed, or gave what is no number of tokens."""


def _checked(count: Count) -> Count:
    """The same, with errors for what is no number of tokens. Raises _CountError."""

    def checked(text: str) -> int:
        try:
            tokens = count(text)
        except Exception as error:
            raise _CountError(
                f"count raised {type(error).__name__} ({str(error)[:120]}) at a text of "
                f"{len(text):,} characters; let it take any text"
            ) from error
        try:
            check_number(tokens, "what count gave", low=0, whole=True)
        except UsageError as error:
            raise _CountError(str(error)) from None
        return int(tokens)

    return checked


def _grouped(
    opening: Sequence[Segment],
    history: Sequence[Message],
    behind: Sequence[Segment],
    *,
    apart: bool,
) -> list[list[Segment | Message]]:
    """What becomes one message each."""
    groups: list[list[Segment | Message]] = [[message] for message in history if message.parts]
    if opening:
        if groups and not apart and _is_users(groups[0][0]):
            groups[0][:0] = opening
        else:
            groups.insert(0, list(opening))
    if any(_parts(one) for one in behind):
        if groups and not apart and _is_users(groups[-1][-1]):
            groups[-1] += behind
        else:
            groups.append(list(behind))
    return groups


def _is_users(source: Segment | Message) -> bool:
    return isinstance(source, Segment) or source.speaker == "user"


def _parts(source: Segment | Message) -> tuple[Part, ...]:
    """Of a segment, without empty texts, which APIs refuse; of a message, all that was sent."""
    if isinstance(source, Message):
        return source.parts
    return tuple(part for part in source.parts if not _is_blank(part))


def _is_blank(part: Part) -> bool:
    return isinstance(part, Text) and not part.text


def _has_media(segment: Segment) -> bool:
    return any(not isinstance(part, Text) for part in segment.parts)


def _ends(api: Api | None, part: Part) -> bool:
    """OpenAI's APIs have a message, or an item, for each result of a tool."""
    return api in {Api.CHAT, Api.RESPONSES} and isinstance(part, ToolResult)


def _run(part: Part) -> Run | None:
    match part:
        case ToolCall():
            return "tool_use"
        case ToolResult():
            return "tool_result"
        case _:
            return None


def _check_segments(segments: Iterable[Segment]) -> None:
    names: set[str] = set()
    for one in segments:
        if one.name in names:
            raise UsageError(f"two segments are called {one.name!r}; give each a name of its own")
        names.add(one.name)
        if not one.parts:
            raise UsageError(
                f"segment {one.name!r} has no content; give it a text, or leave it out"
            )


def _ordered_tools(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    names: set[str] = set()
    ordered: list[Tool] = []
    for tool in listed(
        tools, Tool, "tools", "give a list of Tool(name=…, description=…, schema=…)"
    ):
        if tool.name in names:
            raise UsageError(f"two tools are called {tool.name!r}; give each a name of its own")
        names.add(tool.name)
        if tool.stability is Stability.TURN:
            raise UsageError(
                f"tool {tool.name!r} is declared {tool.stability}; tools stand before all else, so "
                "declare it static, reference or session, or say in a turn segment what may be used"
            )
        try:
            schema = canonical_schema(tool.schema)
        except UsageError as error:
            raise UsageError(f"the schema of tool {tool.name!r}: {error}") from error
        ordered.append(replace(tool, schema=schema))
    return tuple(sorted(ordered, key=lambda one: (one.stability.rank, one.name)))
