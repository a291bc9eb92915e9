"""What a request leaves and finds, whatever the family."""

from stemcache.provider.cache.cut import EVERYWHERE, NOWHERE
from stemcache.provider.cache.cuts import Cuts, held, reach, tokens_at
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
