"""Conversations as interleaved requests, ids removed, with planted changes,.

```
trajectory   S u a t a u a …        requests of it: S u · S u a t · S u a t a u · …
clock        one in four: first line of the system prompt; one in four: of the user message;
             one in four: last line of the latest message, gone in the next request
rewrite      an old tool result is shortened from some request on, or the oldest turns are dropped
fork         some request is continued a second time, with other turns
```
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

__all__ = ["Message", "Sent", "traffic"]

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sent:
    """One request and the number of the one that it goes on from; None for a first one."""

    messages: list[Message]
    parent: int | None
    how: str
    """What is between the two: `append`, `shortened`, `truncated`, `fork`, or `first`."""


class _Session:
    """One conversation, asked for its next request until it has none."""

    def __init__(self, turns: Sequence[Message], clock: str, draw: Random) -> None:
        self.turns = list(turns)
        self.clock = clock
        self.draw = draw
        self.at = 1
        self.parent: int | None = None
        self.how = "first"
        self.dropped: set[int] = set()
        self.shortened: set[int] = set()

    def next(self) -> Sent | None:
        """The next request; its turns are all before the next answer."""
        while self.at < len(self.turns) and self.turns[self.at]["role"] != "assistant":
            self.at += 1
        if self.at >= len(self.turns):
            return None
        how = self.how
        if self.parent is not None and how == "append":
            how = self._rewrite()
        sent = Sent(self._messages(), self.parent, how)
        self.at += 1
        self.how = "append"
        return sent

    def fork(self, others: Sequence[Message], at: int, number: int) -> "_Session":
        """Another continuation of request `number`, which had the turns before `at`.

        Its turns are those of another conversation with the words of each in another order, since
        nobody says the same twice.
        """
        start = next((i for i, turn in enumerate(others) if i and turn["role"] == "assistant"), 1)
        turns = [self._retold(turn) for turn in others[start : start + 12]]
        other = _Session([*self.turns[:at], *turns], self.clock, self.draw)
        other.at = at + 1
        other.parent, other.how = number, "fork"
        other.dropped, other.shortened = set(self.dropped), set(self.shortened)
        return other

    def _retold(self, turn: Message) -> Message:
        words = (turn["content"] or "no words").split()
        self.draw.shuffle(words)
        return {**turn, "content": " ".join(words)}

    def _rewrite(self) -> str:
        chance = self.draw.random()
        long = [
            i
            for i, turn in enumerate(self.turns[: self.at - 4])  # not the latest
            if turn["role"] == "tool" and len(turn["content"] or "") > 200
        ]
        left = [i for i in range(1, self.at) if i not in self.dropped]
        if chance < 0.04 and (choice := [i for i in long if i not in self.shortened]):
            self.shortened.add(self.draw.choice(choice))
            return "shortened"
        if chance < 0.08 and len(left) > 6:
            self.dropped.update(left[: self.draw.choice((2, 4))])
            return "truncated"
        return "append"

    def _messages(self) -> list[Message]:
        messages = []
        for i, turn in enumerate(self.turns[: self.at]):
            if i in self.dropped:
                continue
            message = {key: value for key, value in turn.items() if key != "tool_call_id"}
            if i in self.shortened:
                message["content"] = message["content"][:80] + " [shortened]"
            messages.append(message)
        now = f"Now: 2026-11-30 {self.draw.randrange(24):02}:{self.draw.randrange(60):02}:"
        now += f"{self.draw.randrange(60):02}.{self.draw.randrange(1000):03}\n"
        at = {"system": 0, "user": 1}.get(self.clock)
        if at is not None and at < len(messages):
            messages[at] = {**messages[at], "content": now + (messages[at]["content"] or "")}
        if self.clock == "latest" and messages[-1]["content"]:
            content = f"{messages[-1]['content']}\n{now}".strip()
            messages[-1] = {**messages[-1], "content": content}
        return messages


def traffic(
    trajectories: Sequence[Sequence[Message]], *, at_once: int, seed: int
) -> Iterator[Sent]:
    """Requests of all, so many conversations at once, in a random order that keeps each one's."""
    draw = Random(seed)
    waiting = [
        _Session(turns, draw.choice(("none", "system", "user", "latest")), draw)
        for turns in trajectories
    ]
    draw.shuffle(waiting)
    live: list[_Session] = []
    number = 0
    while waiting or live:
        while waiting and len(live) < at_once:
            live.append(waiting.pop())
        session = draw.choice(live)
        sent = session.next()
        if sent is None:
            live.remove(session)
            continue
        yield sent
        session.parent = number
        if draw.random() < 0.03:
            others = draw.choice(trajectories)
            live.append(session.fork(others, session.at - 1, number))
        number += 1
