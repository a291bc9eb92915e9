"""A list that only grows, shared by all who went on from a part of it. Immutable.

```
            user ◄── assistant ◄── user ◄── assistant          the conversation
                                     ▲
                                     └───── assistant          its fork: one link of its own
digest      d1         d2            d3        d4
```
Each link has the number and the digest of all up to it, SHA-256 of the digest before and of the
message's canonical bytes. So two lists are equal where their ends have one digest, and one begins
with the other where the longer has it at the shorter's length.

| verb | cost |
|---|---|
| `grown`, `digest`, `count` | that of the message; constant; constant |
| `back(chain, n)`, `links` | the links between the end and n |
| `messages` | all links |
"""

from dataclasses import dataclass
from hashlib import sha256

from stemcache.prompt.conversation.part_json import message_bytes
from stemcache.prompt.message import Message

__all__ = ["EMPTY", "Chain", "back", "grown", "links", "messages"]

_TAG = b"stemcache conversation 1\n"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Chain:
    """The last link, or the empty list."""

    before: "Chain | None"
    message: Message | None
    count: int
    """Messages up to here."""
    digest: bytes
    """32 bytes."""


EMPTY = Chain(None, None, 0, sha256(_TAG).digest())


def grown(chain: Chain, message: Message) -> Chain:
    """With one message more. Raises UsageError for a message that holds what is no part."""
    # Neither field needs its length: the first has 32 bytes.
    digest = sha256(chain.digest + message_bytes(message)).digest()
    return Chain(chain, message, chain.count + 1, digest)


def back(chain: Chain, count: int) -> Chain:
    """The first `count` messages, at most all."""
    assert 0 <= count <= chain.count, f"{count} of {chain.count} messages"
    while chain.count > count:
        assert chain.before is not None, "only the empty list has nothing before it"
        chain = chain.before
    return chain


def links(chain: Chain, behind: bytes) -> tuple[Chain, ...] | None:
    """The links behind the one of that digest, in order; None where it is not among them."""
    found: list[Chain] = []
    while chain.digest != behind:
        if chain.before is None:
            return None
        found.append(chain)
        chain = chain.before
    return tuple(reversed(found))


def messages(chain: Chain, since: int = 0) -> tuple[Message, ...]:
    """Those from number `since` on, in order."""
    found: list[Message] = []
    while chain.count > since:
        assert chain.message is not None, "only the empty list has no message"
        assert chain.before is not None, "only the empty list has nothing before it"
        found.append(chain.message)
        chain = chain.before
    return tuple(reversed(found))
