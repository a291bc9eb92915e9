"""What a request leaves and finds, whatever the family."""

from stemcache.provider.cache.cut import EVERYWHERE, NOWHERE
from stemcache.provider.cache.cuts import Cuts, held, reach, readable, tokens_at
from stemcache.provider.shape import Mark
from tests.provider.cache.prompts import (
    ANTHROPIC,
    DEEPSEEK,
    GEMINI,
    OLDER_OPENAI,
    OPENAI,
    a_rule,
    block,
    shape,
)


def cuts(*positions: int) -> Cuts:
    """These positions."""
    return Cuts(everywhere=False, positions=positions)


def test_an_empty_prompt_leaves_and_finds_nothing() -> None:
    """No family fails on a prompt without blocks."""
    for rule in (ANTHROPIC, OPENAI, DEEPSEEK, GEMINI, a_rule("usage-only")):
        empty = shape()
        assert held(rule, empty).positions == ()
        assert not reach(rule, empty).positions
        assert readable(rule, empty, EVERYWHERE, 5_000) == 0


def test_caches_of_units_keep_everything_above_the_minimum() -> None:
    """And nothing of a prompt below it."""
    assert held(OLDER_OPENAI, shape(block("hello", 1_024))) == EVERYWHERE
    assert held(OLDER_OPENAI, shape(block("hello", 1_023))) == NOWHERE


def test_an_object_is_kept_where_it_ends() -> None:
    """Only for a request that names one."""
    blocks = (block("object", 5_000, mark=Mark()), block("hello", 100))
    assert held(GEMINI, shape(*blocks, object_name="cachedContents/1")) == cuts(0)
    assert held(GEMINI, shape(*blocks)) == NOWHERE


def test_tokens_at_counts_all_before_the_end_of_a_position() -> None:
    """The block's own among them."""
    assert tokens_at(shape(block("a", 10), block("b", 5)), 1) == 15


def test_readable_of_markers_is_the_longest_cut_that_both_have_within_the_extent() -> None:
    """A cut behind the extent, and one that nobody left, are worth nothing."""
    prompt = shape(
        block("system", 2_000, "system", mark=Mark()),
        block("one", 500),
        block("two", 500, mark=Mark()),
    )
    assert readable(ANTHROPIC, prompt, cuts(0, 1), 3_000) == 2_500
    assert readable(ANTHROPIC, prompt, cuts(0, 1), 2_499) == 2_000
    assert readable(ANTHROPIC, prompt, cuts(0, 1), 1_999) == 0
    assert readable(ANTHROPIC, prompt, cuts(), 3_000) == 0


def test_readable_of_units_is_the_extent_in_whole_units() -> None:
    """Less the last token of the prompt, and none below the minimum."""
    prompt = shape(block("hello", 2_048))
    assert readable(OLDER_OPENAI, prompt, EVERYWHERE, 2_000) == 1_920
    assert readable(OLDER_OPENAI, prompt, EVERYWHERE, 9_999) == 1_920
    assert readable(OLDER_OPENAI, prompt, EVERYWHERE, 1_023) == 0
    assert readable(OLDER_OPENAI, prompt, NOWHERE, 2_000) == 0


def test_readable_of_persisted_units_is_a_whole_one() -> None:
    """What two prompts share beyond the last unit is not read."""
    prompt = shape(block("a", 640), block("b", 640), block("c", 640))
    assert readable(DEEPSEEK, prompt, cuts(0, 1), 1_500) == 1_280
