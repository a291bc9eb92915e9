"""A history made short: an explicit step that puts a summary where old messages were.

```
before   u a u a a+call result a │ u a u          a stable prefix, then what is kept
after    summary+u a u                            a new stable prefix: written once, then read
```
It is the one step at which a conversation's bytes change, so it is taken rarely, at a moment that
`compaction.plan` chooses. A cut never parts a call from its results.
"""

from collections.abc import Sequence

from stemcache.errors import UsageError
from stemcache.prompt.given import check_type, listed
from stemcache.prompt.message import Message
from stemcache.prompt.part import Text, ToolCall, ToolResult

__all__ = ["borders", "compact"]


def borders(messages: Sequence[Message]) -> tuple[int, ...]:
    """Where the history can be cut: how many messages may go, rising. Costs O(parts).

    What is kept begins with a user's message, and no call stands before the cut whose result
    comes behind it, or is still to come.
    """
    owed: set[str] = set()
    found: list[int] = []
    for number, message in enumerate(messages):
        if number and not owed and message.speaker == "user":
            found.append(number)
        for part in message.parts:
            if isinstance(part, ToolCall):
                owed.add(part.id)
            elif isinstance(part, ToolResult):
                owed.discard(part.call_id)
    if messages and not owed:
        found.append(len(messages))
    return tuple(found)


def compact(messages: Sequence[Message], summary: str, *, drop: int) -> tuple[Message, ...]:
    """The history with a summary in place of its first `drop` messages. Changes nothing.

    The summary goes into the first message that is kept, so that speakers still take turns; where
    nothing is kept it is a user's message of its own. An empty summary just drops. Raises
    UsageError where the history cannot be cut there.
    """
    messages = listed(messages, Message, "messages", "give conversation.messages")
    check_type(summary, str, "summary", "give its text, '' to drop without one")
    check_type(drop, int, "drop", "give how many of the first messages go")
    allowed = borders(messages)
    if drop not in allowed:
        near = min(allowed, key=lambda one: (abs(one - drop), one), default=None)
        hint = "the history has no such place" if near is None else f"the nearest is {near}"
        raise UsageError(
            f"a history of {len(messages)} messages cannot be cut behind {drop} of them, which "
            f"would part a call from its result or begin with an answer; {hint}"
        )
    kept = tuple(messages[drop:])
    if not summary:
        return kept
    text = Text(summary)
    if not kept:
        return (Message("user", (text,)),)
    first, *rest = kept
    return (Message("user", (text, *first.parts)), *rest)
