"""A conversation that only grows: what was sent once is sent so for ever.

```
conversation = Conversation()
conversation.user("Where is order 7?")
conversation.answer(client.messages.create(…), Api.MESSAGES)     thoughts, calls, ids as they came
conversation.results(ToolResult(call_id=…, parts=(Text("…"),)))  in the order of the calls
branch = conversation.fork()                                     shares all messages so far

conversation.extend_from(Api.CHAT, messages)      a framework's whole list: the new ones are taken,
                                                  a changed one is a RewrittenError with its place
```
Messages are never changed, moved or dropped; to begin anew behind a summary is a conversation of
its own. Text that holds for one request only is no message: it is a turn segment of the layout.

| verb | cost |
|---|---|
| `append`, `user`, `answer` | that of the message |
| `results`, `pending` | the messages from the last answer on |
| `fork()`, `digest`, `len` | constant; `fork(n)` and `digest_at(n)` the messages behind n |
| `extend_from` | the list and the conversation |

Several threads may append at once: each call takes effect as a whole, one after the other, and none
is lost. In which order is chance, though, and so the bytes: where order matters, fork, and give
each thread its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from threading import RLock

from stemcache.errors import UsageError
from stemcache.prompt.answer.parts import parts_of, turns_of
from stemcache.prompt.conversation import chain as chains
from stemcache.prompt.conversation.calls import check_once, pending, settled
from stemcache.prompt.conversation.chain import Chain
from stemcache.prompt.conversation.match import ended, news
from stemcache.prompt.conversation.part_json import message_bytes
from stemcache.prompt.conversation.rewritten import RewrittenError
from stemcache.prompt.given import check_each, check_type, listed
from stemcache.prompt.message import Message
from stemcache.prompt.part import Document, Image, Native, Part, Text, ToolCall, ToolResult
from stemcache.prompt.render.calls import check_ids
from stemcache.prompt.render.media import check_media
from stemcache.prompt.sendable import check_sendable
from stemcache.wire.api import Api

__all__ = ["Conversation", "Extended", "RewrittenError"]

_MESSAGES = "give a list of Message; extend_from takes the list of an API"


@dataclass(frozen=True, slots=True)
class Extended:
    """What `extend_from` found."""

    appended: int
    """Messages that were new."""
    covered: int
    """Messages that the list stands for. With `allow_shorter`, fewer than the conversation has
    where an earlier turn is sent again: `fork(covered)` is where its new answer belongs."""

    @property
    def replay(self) -> bool:
        """Whether the list held nothing new: a turn is sent again."""
        return self.appended == 0


class Conversation:
    """See the module. Equal where all messages are."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._end: Chain = chains.EMPTY
        self._messages: tuple[Message, ...] | None = None
        self._growing = RLock()
        for message in listed(messages, Message, "messages of a Conversation", _MESSAGES):
            self.append(message)

    def __len__(self) -> int:
        return self._end.count

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Conversation):
            return NotImplemented
        return self._end.digest == other._end.digest

    __hash__ = None  # type: ignore[assignment]  # it grows

    def __reduce__(self) -> tuple[type["Conversation"], tuple[tuple[Message, ...]]]:
        """For `pickle` and `copy`, which know neither locks nor chains of any length."""
        return type(self), (self.messages,)

    def __repr__(self) -> str:
        return f"<Conversation of {len(self)} messages, digest {self.digest[:12]}>"

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, in order. Made once after each growth."""
        with self._growing:
            if self._messages is None:
                self._messages = chains.messages(self._end)
            return self._messages

    @property
    def digest(self) -> str:
        """64 hexadecimal digits, equal for equal messages in every process and at all times."""
        return self._end.digest.hex()

    def digest_at(self, messages: int) -> str:
        """The digest of the first `messages` ones."""
        return chains.back(self._end, self._number(messages)).digest.hex()

    def begins_with(self, other: "Conversation") -> bool:
        """Whether this one goes on from the other, or is equal to it. One comparison."""
        return len(other) <= len(self) and self.digest_at(len(other)) == other.digest

    def shared_with(self, other: "Conversation") -> int:
        """How many messages the two have in common from the start on."""
        shorter = min(len(self), len(other))
        one = chains.back(self._end, shorter)
        two = chains.back(other._end, shorter)  # noqa: SLF001  # of the same class
        while one.digest != two.digest:
            assert one.before is not None, "empty lists are equal"
            assert two.before is not None, "both are of one length"
            one, two = one.before, two.before
        return one.count

    def append(self, message: Message) -> None:
        """Take a message as it is. Raises UsageError for one that could not be sent.

        It has no parts, or half of a surrogate pair, or two calls of one id.
        """
        if not isinstance(message, Message):
            raise UsageError(
                f"a {type(message).__name__} is no Message; make one, or use extend_from for "
                "messages of an API"
            )
        if not message.parts:
            raise UsageError(
                f"a message of speaker {message.speaker!r} has 0 parts; give one at least"
            )
        with self._growing:
            _check(message, f"message {len(self)}")
            self._end = chains.grown(self._end, message)
            self._messages = None

    def user(self, *content: str | Text | Image | Document | Native) -> None:
        """Append what a user says. Raises UsageError while calls wait for their results."""
        with self._growing:
            waiting = self.pending
            if waiting:
                names = ", ".join(f"{call.id[:64]!r} ({call.name[:64]})" for call in waiting[:5])
                raise UsageError(
                    f"{len(waiting)} calls wait for their results: {names}; give them by results() "
                    "before the user's message"
                )
            parts = tuple(_part(one) for one in content)
            check_media(parts, "the user's message")
            self.append(Message("user", parts))

    def results(self, *results: ToolResult) -> None:
        """Append what tools answered: all calls that wait, in any order; kept in that of the calls.

        A result without its tool's name gets it from the call. Raises UsageError for a result that
        answers no call, one given twice, and a call without a result.
        """
        check_each(
            results,
            ToolResult,
            "results",
            "give each as a ToolResult(call_id=..., parts=...), a list of them with * before it",
        )
        check_media(results, "a result")
        with self._growing:
            self.append(Message("user", settled(results, self.pending)))

    def answer(self, answer: object, api: Api) -> tuple[Part, ...]:
        """Append what a model answered and return its parts; nothing is appended for an empty one.

        `answer` is a dictionary, a client's object, or the events of a stream (`answer.parts`).
        Raises UsageError for what is no answer of the API, and for calls whose ids the API would
        not take back: nothing could be sent behind them.
        """
        parts = parts_of(answer, api)
        check_ids(parts, api)
        if parts:
            self.append(Message("assistant", parts))
        return parts

    @property
    def pending(self) -> tuple[ToolCall, ...]:
        """Calls of the last answer that have no result yet."""
        since = self._end
        while since.message is not None and since.message.speaker == "user":
            assert since.before is not None, "only the empty list has nothing before it"
            since = since.before
        while since.message is not None and since.message.speaker == "assistant":
            assert since.before is not None, "only the empty list has nothing before it"
            since = since.before
        return pending(chains.messages(self._end, since.count))

    def fork(self, messages: int | None = None) -> "Conversation":
        """Another that goes on from here, or from behind the first `messages`; it shares them."""
        count = len(self) if messages is None else self._number(messages)
        return Conversation.of(chains.back(self._end, count))

    def extend_from(self, api: Api, messages: object, *, allow_shorter: bool = False) -> Extended:
        """Take from a whole list of an API's messages what is new.

        The list is that of a request's body: `messages`, `input`, `contents`. It may hold the
        answers that `answer` has taken already. Markers are no content, leading system messages
        are not history, and results of parallel calls come in the order of the calls. Raises
        RewrittenError where the list says otherwise what is kept, or ends before the
        conversation does, and UsageError for what cannot be read or sent; then nothing is appended.

        `allow_shorter`: a list may end earlier, where a turn is sent again for another answer.
        """
        turns = turns_of(messages, api)
        with self._growing:
            found = news(self.messages, turns, api)
            if found.covered < len(self) and not allow_shorter:
                raise ended(found.covered, len(self), turns)
            end = self._end
            for message in found.messages:
                _check(message, f"message {end.count}")
                end = chains.grown(end, message)
            self._end = end
            if found.messages:
                self._messages = None
        return Extended(len(found.messages), found.covered + len(found.messages))

    def since(self, messages: int) -> tuple[Message, ...]:
        """Those behind the first `messages`, at the cost of these alone."""
        return chains.messages(self._end, self._number(messages))

    @classmethod
    def of(cls, end: Chain) -> "Conversation":
        """The one that ends so; shares all of it."""
        made = cls()
        made._end = end
        return made

    def links(self) -> tuple[Chain, ...]:
        """All links in order, for those who write them."""
        return chains.links(self._end, chains.EMPTY.digest) or ()

    def behind(self, digest: bytes) -> tuple[Chain, ...] | None:
        """The links behind the messages of that digest, at the cost of these; None without them."""
        return chains.links(self._end, digest)

    def check(self) -> None:
        """Raise AssertionError where a digest is not that of its messages."""
        end = chains.EMPTY
        for message in chains.messages(self._end):
            assert message.parts, "a message without parts"
            assert message_bytes(message), "a message without bytes"
            end = chains.grown(end, message)
        assert end.digest == self._end.digest, "the digest is not that of the messages"
        assert end.count == self._end.count, "the count is not that of the messages"

    def _number(self, messages: int) -> int:
        check_type(messages, int, "a number of messages", f"give an int from 0 to {len(self)}")
        if 0 <= messages <= len(self):
            return messages
        raise UsageError(
            f"the conversation has {len(self)} messages, not {messages}; "
            f"give a number from 0 to {len(self)}"
        )


def _check(message: Message, owner: str) -> None:
    """Raise UsageError for what could never be sent."""
    check_sendable(message.parts, owner)
    check_once(message.parts, owner)


def _part(content: str | Text | Image | Document | Native) -> Part:
    return Text(content) if isinstance(content, str) else content
