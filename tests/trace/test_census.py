import pytest
from hypothesis import given

from stemcache.trace import census
from stemcache.trace.census import Census
from stemcache.trace.record import TraceRequest
from tests.trace.traces import related_requests


def counts(requests: list[TraceRequest]) -> tuple[int, int, int]:
    """Distinct blocks, distinct prompts, and ids that came behind another one than at first."""
    counted = Census()
    for one in requests:
        counted.add(one)
    counted.flush()
    counted.flush()
    return counted.blocks.count, counted.prompts.count, counted.blocks.conflicts


@given(related_requests())
def test_blocks_and_prompts_are_those_of_a_set(requests: list[TraceRequest]) -> None:
    """Of scopes and ids; a prompt is known by its scope, its last id and its length."""
    blocks = {(one.scope, block) for one in requests for block in one.block_ids.tolist()}
    ends = {(one.scope, *one.block_ids.tolist()[-1:], one.prompt_tokens) for one in requests}
    assert counts(requests)[:2] == (len(blocks), len(ends))


@given(related_requests())
def test_the_size_of_batches_changes_nothing(requests: list[TraceRequest]) -> None:
    """Neither what is distinct nor what came behind another one."""
    whole = counts(requests)
    with pytest.MonkeyPatch.context() as patch:
        for blocks, most in ((1, 2**12), (2**16, 1), (5, 3)):
            patch.setattr(census, "_BATCH_BLOCKS", blocks)
            patch.setattr(census, "_BATCH_REQUESTS", most)
            assert counts(requests) == whole


def test_nothing_counts_nothing() -> None:
    """Not even a batch."""
    assert counts([]) == (0, 0, 0)
