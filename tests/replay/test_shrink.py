from random import Random

import pytest

from stemcache.replay.shrink import shrunk
from tests.replay.made import request


@pytest.mark.parametrize(
    ("ids", "tokens", "per_block", "length"),
    [
        ([1, 2, 3], 1536, 32, 96),
        ([1, 2, 3], 1100, 32, 69),  # 76 tokens of the last block become 5
        ([1, 2, 3], 1025, 32, 65),  # one token stays one
        ([1, 2, 3], 1535, 32, 96),  # rounded up
        ([1, 2], 1100, 32, 68),  # what no block covers is rounded down
        ([], 100, 32, 6),
        ([], 10, 32, 0),
        ([1], 512, 1, 1),
        ([1, 2], 1000, 512, 1000),
        ([1, 2], 1000, 1024, 2000),
    ],
)
def test_lengths_shrink_with_the_block(
    ids: list[int], tokens: int, per_block: int, length: int
) -> None:
    """Blocks keep their ids."""
    small = shrunk(request(ids, tokens, block=512), per_block)
    assert (small.prompt_tokens, small.block_tokens) == (length, per_block)
    assert small.block_ids.tolist() == ids


def test_ids_beyond_the_prompt_are_dropped() -> None:
    """A trace may give more than its length covers."""
    small = shrunk(request([1, 2, 3], 600, block=512), 32)
    assert small.block_ids.tolist() == [1, 2]
    assert small.prompt_tokens == 38


def test_everything_else_stays() -> None:
    """Times, sessions, tenants, the answer's length."""
    before = request([1], 512, block=512, arrival_s=2.0, session="s", tenant="t", output_tokens=9)
    after = shrunk(before, 16)
    assert (after.arrival_s, after.session, after.tenant, after.output_tokens) == (2.0, "s", "t", 9)


def test_whole_blocks_stay_whole_and_partial_ones_fit() -> None:
    """For random lengths: covered tokens lie in the blocks, the rest is less than one."""
    random = Random(3)
    for _ in range(500):
        block, small = random.randint(1, 600), random.randint(1, 100)
        blocks, tokens = random.randint(0, 5), random.randint(0, 3000)
        covered_blocks = min(blocks, -(-tokens // block))
        after = shrunk(request(list(range(blocks)), tokens, block=block), small)
        assert len(after.block_ids) == covered_blocks
        assert after.covered_tokens <= covered_blocks * small
        whole = min(tokens, blocks * block) // block
        assert after.covered_tokens >= whole * small
