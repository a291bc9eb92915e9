"""What is asked of the gateways: prompts made from a seed or from a trace.

A prompt is a sequence of message contents of hexadecimal digits, so that nothing needs escaping and
a character is a byte. Two prompts share a beginning exactly where their contents are equal. What
the chat template puts before each is counted in: 2,000 characters are sent as 1,996.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt

from benchmarks.route.cache import BLOCK_CHARACTERS
from benchmarks.route.tokens import BEGIN

__all__ = ["Ids", "Prompt", "TracePlan", "body", "hot", "zipf"]

MESSAGE_BLOCKS = 4
"""Blocks of a trace in one message."""

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request: when it is due (None: as soon as may be), and what it says."""

    contents: tuple[str, ...]
    session: str
    at_s: float | None = None

    @property
    def text(self) -> str:
        """What a worker's cache sees."""
        return "".join(BEGIN + content for content in self.contents)


def zipf(
    seed: int,
    count: int,
    *,
    groups: int = 60,
    exponent: float = 0.8,
    prefix: int = 2_000,
    tail: int = 200,
) -> Iterator[Prompt]:
    """Groups that share a prefix, group k drawn as 1 / k ** exponent, each with a tail of its own.

    Characters are counted. The tails and the draws depend on the seed, and so do the prefixes.
    """
    random = Random(seed)
    begin = len(BEGIN)
    prefixes = [random.randbytes(prefix // 2).hex()[begin:] for _ in range(groups)]
    weights = list(accumulate((1 / (rank + 1) ** exponent) for rank in range(groups)))
    for _ in range(count):
        group = random.choices(range(groups), cum_weights=weights)[0]
        yield Prompt((prefixes[group], random.randbytes(tail // 2).hex()[begin:]), f"group-{group}")


def hot(seed: int, count: int, *, prefix: int = 8_000, tail: int = 200) -> Iterator[Prompt]:
    """One prefix that all share."""
    return zipf(seed, count, groups=1, prefix=prefix, tail=tail)


@dataclass(frozen=True, slots=True)
class TracePlan:
    """A trace's prompts as ids of blocks, and when each is due at speed 1."""

    at_s: npt.NDArray[np.float64]
    offsets: Ids
    """Prompt i has ids[offsets[i] : offsets[i + 1]]."""
    ids: Ids
    sessions: Ids

    def save(self, path: Path) -> None:
        """Write it."""
        np.savez(path, at_s=self.at_s, offsets=self.offsets, ids=self.ids, sessions=self.sessions)

    @classmethod
    def load(cls, path: Path) -> "TracePlan":
        """Read what `save` has written."""
        with np.load(path) as found:
            return cls(*(found[name] for name in ("at_s", "offsets", "ids", "sessions")))

    def __len__(self) -> int:
        return len(self.at_s)

    def blocks(self, number: int) -> list[int]:
        """The ids of one prompt."""
        ids: list[int] = self.ids[self.offsets[number] : self.offsets[number + 1]].tolist()
        return ids

    def prompts(self, speed: float, count: int | None = None) -> Iterator[Prompt]:
        """In order of time, so many times as fast."""
        for number in range(min(len(self), count or len(self))):
            blocks = self.blocks(number)
            contents = tuple(
                "".join(map(block_text, blocks[at : at + MESSAGE_BLOCKS]))[len(BEGIN) :]
                for at in range(0, len(blocks), MESSAGE_BLOCKS)
            )
            session = f"session-{self.sessions[number]}"
            yield Prompt(contents or ("",), session, float(self.at_s[number]) / speed)


@lru_cache(maxsize=200_000)
def block_text(block: int) -> str:
    """The text that stands for a trace's block: as long as a worker's block."""
    return blake2b(str(block).encode(), digest_size=BLOCK_CHARACTERS // 2).hexdigest()


def body(prompt: Prompt, *, stream: bool, tokens: int, usage: bool = False) -> bytes:
    """The chat completion that asks it."""
    messages = ",".join(
        f'{{"role":"{"user" if number else "system"}","content":"{content}"}}'
        for number, content in enumerate(prompt.contents)
    )
    more = ',"stream":true' * stream + ',"stream_options":{"include_usage":true}' * usage
    return f'{{"model":"fake","messages":[{messages}],"max_tokens":{tokens}{more}}}'.encode()
