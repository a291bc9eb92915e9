"""How what is written divides among lifetimes."""

from stemcache.provider.cache.cut import EVERYWHERE, NOWHERE, Cuts
from stemcache.provider.cache.written import written
from stemcache.provider.shape import Mark
from tests.provider.cache.prompts import ANTHROPIC, OLDER_OPENAI, block, shape

PROMPT = shape(
    block("tools", 3_000, "", mark="1h"),
    block("system", 1_000, "system", mark="1h"),
    block("hello", 500, mark="5m"),
    block("more", 100),
)
ALL_MARKS = Cuts(everywhere=False, positions=(0, 1, 2))


def test_each_stretch_has_the_lifetime_of_the_cut_that_ends_it() -> None:
    """What follows the last cut is not written."""
    assert written(ANTHROPIC, PROMPT, ALL_MARKS, 0) == (("1h", 4_000), ("5m", 500))


def test_what_was_read_is_not_written() -> None:
    """Counted from the read on, in the middle of a stretch too."""
    assert written(ANTHROPIC, PROMPT, ALL_MARKS, 3_500) == (("1h", 500), ("5m", 500))
    assert written(ANTHROPIC, PROMPT, ALL_MARKS, 4_500) == ()


def test_nothing_kept_is_nothing_written() -> None:
    """Whatever the prompt's length."""
    assert written(ANTHROPIC, PROMPT, NOWHERE, 0) == ()


def test_where_every_prefix_is_kept_whole_units_are_written() -> None:
    """Under the default lifetime, or the one that the request names; nameless where none is."""
    assert written(OLDER_OPENAI, PROMPT, EVERYWHERE, 1_280) == (("", 3_200),)
    hour = shape(block("hello", 2_000), automatic=Mark("1h"))
    assert written(ANTHROPIC, hour, EVERYWHERE, 0) == (("1h", 2_000),)
