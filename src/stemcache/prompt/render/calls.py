"""Calls of tools and what answers them: what every API asks of a conversation.

```
assistant   text  call a  call b
user        result b  result a  text        every call answered, before anything else, once
```
APIs answer 400 to anything else, mostly without saying which call it was.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from stemcache.errors import UsageError
from stemcache.prompt.conversation.calls import answered
from stemcache.prompt.part import Native, Part, Text, Thinking, ToolCall, ToolResult
from stemcache.prompt.piece import Piece
from stemcache.prompt.render.turns import Turn, object_of, where
from stemcache.wire.api import Api

__all__ = ["arguments_of", "check_ids", "check_turns", "names_of"]

_NO_TEXT_BEHIND_CALLS = frozenset({Api.CHAT, Api.MESSAGES})
"""In a chat's message calls stand behind all content; Messages takes results for calls only where
nothing but calls stands behind the first."""
_IDS = {
    Api.CHAT: re.compile(r".+", re.DOTALL),
    Api.CONVERSE: re.compile(r"[a-zA-Z0-9_.:-]{1,64}"),
    Api.MESSAGES: re.compile(r"[a-zA-Z0-9_-]+"),
    Api.RESPONSES: re.compile(r".+", re.DOTALL),
}
"""What APIs take for the id of a call. Gemini's need not have one."""
_BEGIN_WITH_USER = frozenset({Api.CONVERSE, Api.GENERATE, Api.MESSAGES})


def check_turns(turns: Sequence[Turn], api: Api) -> None:
    """Raise UsageError, with the place, for what the API would refuse. `turns` are merged."""
    if api in _BEGIN_WITH_USER and turns[0].speaker == "assistant":
        raise UsageError(
            f"{where(turns[0].blocks[0].piece)} begins the conversation, which {api} takes from a "
            "user only; put a user's message before it"
        )
    due: Counter[str] = Counter()
    for turn in turns:
        if turn.speaker == "user":
            _check_user(turn, due)
            due = Counter()
        else:
            due = _check_assistant(turn, api)
    _refuse_due(due, turns[-1])


def _check_user(turn: Turn, due: Counter[str]) -> None:
    left = due.copy()
    leading = True
    for block in turn.blocks:
        part = block.part
        if isinstance(part, ToolCall | Thinking):
            raise UsageError(f"{where(block.piece)} is a user's; only an assistant has it")
        if not isinstance(part, Native | ToolResult):
            leading = False
            continue
        ids = answered(part)
        if ids is None:
            continue
        call = ids.call
        if isinstance(part, Native) and left[call] == 0:  # of a call that is native too, perhaps
            continue
        if left[call] == 0:
            raise UsageError(
                f"{where(block.piece)} answers call {call!r}, which is not among the calls "
                "just before it; answer each call once, in the next message"
            )
        if not leading:
            raise UsageError(
                f"{where(block.piece)} answers call {call!r} behind other content; "
                "put results first"
            )
        left[call] -= 1
    _refuse_due(left, turn)


def _check_assistant(turn: Turn, api: Api) -> Counter[str]:
    due: Counter[str] = Counter()
    for block in turn.blocks:
        part = block.part
        if isinstance(part, ToolResult):
            raise UsageError(f"{where(block.piece)} is an assistant's; results are a user's")
        if isinstance(part, ToolCall):
            if not _takes(part, api):
                raise UsageError(
                    f"{where(block.piece)} has the id {part.id[:80]!r}, which {api} does not take; "
                    "go on with the API that made it, or begin a conversation"
                )
            due[part.id] += 1
        elif due and isinstance(part, Text) and api in _NO_TEXT_BEHIND_CALLS:
            raise UsageError(
                f"{where(block.piece)} stands behind a call, where {api} has no place for a text; "
                "put it before the calls"
            )
    return due


def _refuse_due(due: Counter[str], turn: Turn) -> None:
    for call, count in due.items():
        if count:
            raise UsageError(
                f"call {call!r} has no result in message {turn.blocks[0].piece.message}; "
                "answer each call in the message behind it"
            )


def check_ids(parts: Iterable[Part], api: Api) -> None:
    """Raise UsageError for a call that could not go back to the API that is said to have made it.

    Linear in the parts.
    """
    for part in parts:
        if isinstance(part, ToolCall) and not _takes(part, api):
            raise UsageError(
                f"the answer's call of {part.name[:64]!r} has the id {part.id[:80]!r}, which {api} "
                "does not take back; ask the server for calls with ids, or give them yours"
            )


def _takes(call: ToolCall, api: Api) -> bool:
    return api not in _IDS or _IDS[api].fullmatch(call.id) is not None


def arguments_of(call: ToolCall, piece: Piece) -> dict[str, Any]:
    """Arguments for an API that has an object, members in the order sent; none for no text."""
    if not call.arguments.strip():
        return {}
    try:
        return object_of(call.arguments, piece)
    except UsageError:
        raise UsageError(
            f"the arguments of call {call.id!r} in message {piece.message} are no JSON object, "
            "which this API needs; take the call out, or go on with the API that it was made in"
        ) from None


def names_of(turns: Sequence[Turn]) -> dict[int, str]:
    """Tools that results are of, by the numbers of their pieces. Linear.

    As given, or by the last call of that id before. Raises UsageError where nothing tells.
    """
    called: dict[str, str] = {}
    found: dict[int, str] = {}
    for block in (block for turn in turns for block in turn.blocks):
        part = block.part
        if isinstance(part, ToolCall):
            called[part.id] = part.name
        elif isinstance(part, ToolResult):
            name = part.name or called.get(part.call_id)
            if not name:
                raise UsageError(f"{where(block.piece)} names no tool; give ToolResult its name")
            found[block.place] = name
    return found
