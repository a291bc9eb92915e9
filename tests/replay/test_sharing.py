"""What a cache finds in the prompts on the wire is what it would find in the trace."""

import json
from random import Random
from typing import Any

import pytest

from stemcache.core.hash_index import HashIndex
from stemcache.core.tokens import Chain
from stemcache.policy.evict import Lru
from stemcache.replay.prompts import PromptMaker, TextPrompts, TokenPrompts, TokenRange
from stemcache.replay.selection import Planned, select
from stemcache.replay.words import WORDS
from stemcache.trace.record import TraceRequest
from tests.replay.made import request


def random_trace(seed: int, requests: int, block: int) -> list[TraceRequest]:
    """Prompts that grow out of each other, in two scopes that use the same ids."""
    random = Random(seed)
    prompts: list[tuple[str, list[int]]] = [("a", [0]), ("b", [0])]
    made: dict[tuple[str, tuple[int, ...], int], int] = {}
    for _ in range(requests):
        scope, ids = random.choice(prompts)
        keep = random.randint(0, len(ids))
        grown = ids[:keep]
        for _ in range(random.randint(1, 4)):
            # Chained: an id stands for all that is before it too.
            key = (scope, tuple(grown), random.randint(0, 1))
            grown = [*grown, made.setdefault(key, 1 + len(made))]
        prompts.append((scope, grown))
    return [
        request(
            ids,
            len(ids) * block - random.choice([0, 0, random.randrange(block)]),
            block=block,
            scope=scope,
            tenant=scope,
        )
        for scope, ids in prompts
    ]


def in_the_trace(trace: list[TraceRequest]) -> list[int]:
    """Tokens of each prompt in whole blocks that an earlier one has too."""
    seen: set[tuple[str, int]] = set()
    found = []
    for each in trace:
        keys = [(each.scope, block_id) for block_id in each.block_ids.tolist()]
        keys = keys[: each.prompt_tokens // each.block_tokens]
        found.append(each.block_tokens * sum(key in seen for key in keys))
        seen |= set(keys)
    return found


def on_the_wire(planned: tuple[Planned, ...], maker: PromptMaker, block: int) -> list[int]:
    """The same, of the prompts as they are sent, by the index that engines use."""
    index: HashIndex[None, Any] = HashIndex(block_size=block, policy=Lru())
    found = []
    for now, each in enumerate(planned):
        sent = json.loads(maker.opening + b"".join(maker.pieces(each)) + maker.closing)
        ids = sent if isinstance(sent, list) else [WORDS.index(word) for word in sent.split(" ")]
        assert len(ids) == each.request.prompt_tokens
        chain = Chain(ids, block_size=block, namespace=b"n")
        found.append(index.match(chain).blocks * block)
        with index.pin(chain, now=float(now)) as lease:
            missing = len(ids) // block - found[-1] // block
            index.insert(chain, [None] * missing, now=float(now), lease=lease)
    index.check()
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("salt", ["", "salt"])
def test_tokens_on_the_wire_share_what_ids_in_the_trace_do(seed: int, salt: str) -> None:
    """Request by request, salted or not."""
    trace = random_trace(seed, 150, 32)
    chosen = select(trace, max_tokens=1)
    wire = on_the_wire(chosen.planned, TokenPrompts(salt, TokenRange(1000, 30000)), 32)
    assert wire == in_the_trace(trace)
    assert sum(wire) > 0


@pytest.mark.parametrize("seed", range(5))
def test_words_share_as_tokens_do(seed: int) -> None:
    """A word may be any number of tokens: equal texts are equal tokens."""
    trace = random_trace(seed, 100, 24)
    chosen = select(trace, max_tokens=1)
    assert on_the_wire(chosen.planned, TextPrompts("x"), 24) == in_the_trace(trace)


@pytest.mark.parametrize("seed", range(5))
def test_shrunk_blocks_share_as_many_blocks(seed: int) -> None:
    """Whole blocks of the trace are whole blocks on the wire.

    A partial block may round up to a whole one, which then can be shared too.
    """
    trace = random_trace(seed, 150, 512)
    chosen = select(trace, tokens_per_block=16, max_tokens=1)
    wire = on_the_wire(chosen.planned, TokenPrompts("s", TokenRange(1000, 30000)), 16)
    after = [tokens // 16 for tokens in wire]
    assert wire == in_the_trace([each.request for each in chosen.planned])
    for before, small in zip(in_the_trace(trace), after, strict=True):
        assert before // 512 <= small <= before // 512 + 1


def test_runs_of_other_salts_share_nothing() -> None:
    """Not a block, over a whole trace sent three times."""
    trace = random_trace(9, 60, 32)
    chosen = select(trace, max_tokens=1)
    index: HashIndex[None, Any] = HashIndex(block_size=32, policy=Lru())
    seen: set[tuple[int, ...]] = set()
    for salt in ("", "a", "b"):
        maker = TokenPrompts(salt, TokenRange(1000, 30000))
        mine: set[tuple[int, ...]] = set()
        for each in chosen.planned:
            ids = json.loads(b"[" + b"".join(maker.pieces(each)) + b"]")
            mine |= {tuple(ids[:end]) for end in range(32, len(ids) + 1, 32)}
        assert not mine & seen
        seen |= mine
    assert len(index) == 0
