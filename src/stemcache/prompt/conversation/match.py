"""A list of native messages beside a conversation: what of it is new. Pure.

```
kept     user q   assistant thought text call   user result
given    user q   assistant thought text call   user result   assistant text   user q2
         ═══════════════ held: part by part ═══════════════   ───────── new ─────────
```
Parts are compared in their order with who speaks; where one message of a speaker ends and the next
begins is not, for APIs join them or have no such ends. Kept parts that the list's API cannot say
(thoughts and blocks of another) are passed over, and thoughts of Chat too where they are missing:
its clients drop them. Empty texts are no parts.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from stemcache.prompt.conversation.calls import Waiting, ordered_results
from stemcache.prompt.conversation.native import Turn
from stemcache.prompt.conversation.rewritten import Difference, RewrittenError, difference
from stemcache.prompt.message import Message, Speaker
from stemcache.prompt.part import Native, Part, Text, Thinking, ToolCall, is_blank
from stemcache.wire.api import Api

__all__ = ["News", "ended", "news"]


class News(NamedTuple):
    """What a list has beside a conversation."""

    messages: tuple[Message, ...]
    """To append."""
    covered: int
    """Messages of the conversation that the list reaches into, before anything is appended."""


class _Kept(NamedTuple):
    message: int
    part: int
    speaker: Speaker
    value: Part


def news(kept: Sequence[Message], given: Sequence[Turn], api: Api) -> News:
    """What is new. Linear in both. Raises RewrittenError where the list does not go on from it."""
    turns = _joined(given)
    ordered = _with_results((message.speaker, message.parts) for message in kept)
    try:
        return _news(kept, ordered, _in_order(turns), api)
    except RewrittenError as error:
        # Results may have been taken one by one, as they came: then they go on in that order.
        try:
            return _news(kept, (message.parts for message in kept), turns, api)
        except RewrittenError:
            raise error from None


def _news(
    kept: Sequence[Message], ordered: Iterable[tuple[Part, ...]], turns: Sequence[Turn], api: Api
) -> News:
    old = _Reader(kept, ordered, api)
    for at, turn in enumerate(turns):
        for number, part in enumerate(turn.parts):
            if _empty(part, api):
                continue
            one = old.next_for(part)
            if one is None:
                rest = Turn(turn.speaker, turn.parts[number:], turn.where)
                return News(_grouped([rest, *turns[at + 1 :]]), len(kept))
            found = _compared(one, turn.speaker, part, api)
            if found is not None:
                raise RewrittenError(
                    message=one.message,
                    part=one.part,
                    found=found,
                    given=f"{turn.where}, part {number}",
                    hint=_hint(kept, turns, at, one.message, api),
                )
    return News((), _covered(old, turns, len(kept)))


def _covered(old: "_Reader", given: Sequence[Turn], count: int) -> int:
    one = old.peek()
    if one is None:
        return count
    if one.part and old.begun(one):
        where = f"the end of {given[-1].where}" if given else "the end"
        raise RewrittenError(message=one.message, part=one.part, found=None, given=where)
    return one.message


def ended(covered: int, count: int, given: Sequence[Turn]) -> RewrittenError:
    """The error for a list that stands for the first messages of a conversation only."""
    return RewrittenError(
        message=covered,
        part=0,
        found=None,
        given=f"the end of {given[-1].where}" if given else "the end of an empty list",
        hint=f"the list ends {count - covered} messages early; allow_shorter=True takes one where "
        "an earlier turn is sent again",
    )


class _Reader:
    """The kept parts that the API can say, one by one."""

    def __init__(
        self, kept: Sequence[Message], ordered: Iterable[tuple[Part, ...]], api: Api
    ) -> None:
        self._api = api
        self._parts = self._said(kept, ordered)
        self._ahead: _Kept | None = next(self._parts, None)
        self._read = -1
        """The message of the last part read."""

    def _said(
        self, kept: Sequence[Message], ordered: Iterable[tuple[Part, ...]]
    ) -> Iterator[_Kept]:
        for i, (message, parts) in enumerate(zip(kept, ordered, strict=True)):
            for j, part in enumerate(parts):
                foreign = isinstance(part, Thinking | Native) and part.api is not self._api
                if not foreign and not _empty(part, self._api):
                    yield _Kept(i, j, message.speaker, part)

    def peek(self) -> _Kept | None:
        """The next part that must be given, None at the end."""
        while self._ahead is not None and self._droppable(self._ahead.value):
            self._ahead = next(self._parts, None)
        return self._ahead

    def next_for(self, part: Part) -> _Kept | None:
        one = self._ahead if isinstance(part, Thinking) else self.peek()
        if one is not None:
            self._read = one.message
            self._ahead = next(self._parts, None)
        return one

    def begun(self, one: _Kept) -> bool:
        """Whether something of the message of this part has been read."""
        return self._read == one.message

    def _droppable(self, part: Part) -> bool:
        return self._api is Api.CHAT and isinstance(part, Thinking)


def _empty(part: Part, api: Api) -> bool:
    return isinstance(part, Text) and part.beside is None and is_blank(part.text, api)


def _compared(one: _Kept, speaker: Speaker, part: Part, api: Api) -> Difference | None:
    if one.speaker != speaker:
        return Difference("speaker", 0, one.speaker, speaker)
    return difference(one.value, part, api)


def _hint(kept: Sequence[Message], turns: Sequence[Turn], at: int, message: int, api: Api) -> str:
    """Whether messages are missing or have come in between, where that is plain to see."""
    for later in range(message + 1, len(kept)):
        if _same(kept[later], turns[at], api):
            missing = (
                f"messages {message} to {later - 1} are"
                if later > message + 1
                else f"message {message} is"
            )
            return (
                f"{missing} missing from the list: drop old turns by a compaction, not in passing"
            )
    for turn in turns[at + 1 :]:
        if _same(kept[message], turn, api):
            return f"something stands before {turn.where} that was not there"
    return ""


def _same(message: Message, turn: Turn, api: Api) -> bool:
    return (
        message.speaker == turn.speaker
        and len(message.parts) == len(turn.parts)
        and all(
            difference(one, other, api) is None
            for one, other in zip(message.parts, turn.parts, strict=True)
        )
    )


def _joined(given: Sequence[Turn]) -> list[Turn]:
    """The same with turns that join as one. Linear."""
    groups: list[list[Turn]] = []
    for turn in given:
        last = groups[-1][-1] if groups else None
        if last is not None and turn.joins and last.joins and last.speaker == turn.speaker:
            groups[-1].append(turn)
        else:
            groups.append([turn])
    return [
        group[0]
        if len(group) == 1
        else Turn(
            group[0].speaker,
            tuple(part for turn in group for part in turn.parts),
            group[0].where,
            joins=True,
        )
        for group in groups
    ]


def _in_order(turns: Sequence[Turn]) -> list[Turn]:
    """The same with results in the order of their calls."""
    parts = _with_results((turn.speaker, turn.parts) for turn in turns)
    return [
        Turn(turn.speaker, one, turn.where, joins=turn.joins)
        for turn, one in zip(turns, parts, strict=True)
    ]


def _with_results(said: Iterable[tuple[Speaker, tuple[Part, ...]]]) -> Iterator[tuple[Part, ...]]:
    """The parts of each message, results in the order of the calls before them. Linear."""
    waiting, speaker = Waiting(), "user"
    for now, parts in said:
        if now == "user":
            yield ordered_results(parts, waiting)
        else:
            if speaker == "user":
                waiting = Waiting()
            for part in parts:
                if isinstance(part, ToolCall):
                    waiting.add(part)
            yield parts
        speaker = now


def _grouped(turns: Sequence[Turn]) -> tuple[Message, ...]:
    """New turns as messages."""
    return tuple(Message(turn.speaker, turn.parts) for turn in turns if turn.parts)
