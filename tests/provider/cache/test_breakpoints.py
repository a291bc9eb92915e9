"""Which message endings and breakpoints are written and looked up."""

from stemcache.provider.cache.cut import NOWHERE
from stemcache.provider.cache.cuts import Cuts, held, reach
from stemcache.provider.shape import Mark
from tests.provider.cache.prompts import OPENAI, block, shape


def cuts(*positions: int) -> Cuts:
    """These positions."""
    return Cuts(everywhere=False, positions=positions)


def test_the_implicit_breakpoint_is_the_latest_eligible_message() -> None:
    """An answer that the prompt ends with is not eligible; the user's message before it is."""
    prompt = shape(
        block("rules", 2_000, "developer"),
        block("hello", 100),
        block("hi", 100, "assistant"),
    )
    assert held(OPENAI, prompt) == cuts(0, 1)
    assert reach(OPENAI, prompt) == cuts(0, 1)


def test_of_a_run_of_tool_responses_the_last_is_eligible() -> None:
    """Responses before the last one of a run are no breakpoints."""
    prompt = shape(
        block("hello", 2_000),
        block("call", 10, "assistant"),
        block("r1", 10, "tool"),
        block("r2", 10, "tool"),
        block("r3", 10, "tool"),
        block("call2", 10, "assistant"),
        block("r4", 10, "tool"),
    )
    assert held(OPENAI, prompt) == cuts(6)
    assert reach(OPENAI, prompt) == cuts(0, 4, 6)


def test_developer_messages_within_a_conversation_are_not_eligible() -> None:
    """Only the ones that a prompt begins with, and of those the last."""
    prompt = shape(
        block("rules", 1_000, "developer"),
        block("more", 1_000, "system"),
        block("hello", 100),
        block("note", 100, "developer"),
    )
    assert held(OPENAI, prompt) == cuts(1, 2)


def test_an_implicit_breakpoint_takes_one_of_four_writes() -> None:
    """Of explicit breakpoints the latest three are written beside it, the latest four without."""
    blocks = [block(f"b{n}", 2_000, mark=Mark()) for n in range(6)]
    with_implicit = shape(*blocks, block("hello", 100))
    assert held(OPENAI, with_implicit) == cuts(3, 4, 5, 6)
    explicit_only = shape(*blocks, block("hello", 100), implicit=False)
    assert held(OPENAI, explicit_only) == cuts(2, 3, 4, 5)


def test_explicit_mode_without_breakpoints_caches_nothing() -> None:
    """The implicit breakpoint and the earlier endings are off with it."""
    prompt = shape(block("rules", 5_000, "developer"), block("hello", 100), implicit=False)
    assert held(OPENAI, prompt) == cuts()
    assert reach(OPENAI, prompt) == NOWHERE


def test_first_two_and_latest_fifty_explicit_breakpoints_are_looked_up() -> None:
    """Those between are not."""
    blocks = [block(f"b{n}", 20, "assistant", mark=Mark()) for n in range(60)]
    prompt = shape(*blocks, implicit=False)
    assert reach(OPENAI, prompt).positions == (0, 1, *range(10, 60))


def test_twenty_endings_before_the_implicit_breakpoint_are_looked_up() -> None:
    """And the end of the first developer messages, however long ago."""
    prompt = shape(block("rules", 2_000, "developer"), *(block(f"m{n}", 20) for n in range(40)))
    assert reach(OPENAI, prompt).positions == (0, *range(20, 41))


def test_tools_are_no_message() -> None:
    """The end of the tools is not eligible."""
    prompt = shape(block("tools", 5_000, ""), block("hello", 100))
    assert reach(OPENAI, prompt) == cuts(1)
