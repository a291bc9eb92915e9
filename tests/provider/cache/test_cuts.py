"""What a request leaves and finds, family by family."""

from stemcache.provider.cache.cut import EVERYWHERE, NOWHERE
from stemcache.provider.cache.cuts import Cuts, answer_end, held, reach, readable, tokens_at
from stemcache.provider.shape import Mark
from tests.provider.cache.prompts import (
    ANTHROPIC,
    BEDROCK,
    DEEPSEEK,
    GEMINI,
    OLDER_OPENAI,
    OPENAI,
    VLLM,
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


def test_markers_write_where_they_stand_and_the_automatic_one_at_the_end() -> None:
    """Only markers and the mark on the request as a whole write entries."""
    prompt = shape(
        block("tools", 2_000, "", mark=Mark()),
        block("system", 100, "system"),
        block("hello", 100),
        automatic=Mark(),
    )
    assert held(ANTHROPIC, prompt) == cuts(0, 2)


def test_an_automatic_mark_on_a_marked_end_is_one_marker() -> None:
    """The last block is not counted twice."""
    prompt = shape(block("hello", 2_000, mark=Mark()), automatic=Mark())
    assert held(ANTHROPIC, prompt) == cuts(0)


def test_of_five_markers_the_last_four_count() -> None:
    """A request with too many markers is either refused or read by its last ones."""
    prompt = shape(*(block(f"b{n}", 2_000, mark=Mark()) for n in range(5)))
    assert held(ANTHROPIC, prompt) == cuts(1, 2, 3, 4)


def test_a_marker_below_the_minimum_writes_nothing() -> None:
    """The minimum is of the prefix, not of the block."""
    prompt = shape(
        block("system", 1_023, "system", mark=Mark()),
        block("hello", 1, mark=Mark()),
    )
    assert held(ANTHROPIC, prompt) == cuts(1)


def test_a_look_back_counts_the_marker_as_its_first_position() -> None:
    """From block 35 it reaches to block 16, as the vendor's example says."""
    blocks = [block(f"b{n}", 200) for n in range(1, 35)]
    prompt = shape(*blocks, block("b35", 200, mark=Mark()))
    assert reach(ANTHROPIC, prompt).positions == tuple(range(15, 35))


def test_every_marker_looks_back_for_itself() -> None:
    """A second marker starts a second window."""
    blocks = [block(f"b{n}", 200, mark=Mark() if n in {15, 45} else None) for n in range(1, 46)]
    assert reach(ANTHROPIC, shape(*blocks)).positions == (*range(15), *range(25, 45))


def test_runs_collapse_where_the_rule_says_so() -> None:
    """Twenty-six parallel calls and results are two positions on the Claude API, 52 on Bedrock."""
    prompt = shape(
        block("ask", 2_000),
        *(block(f"u{n}", 10, "assistant", run="tool_use", ends=n == 25) for n in range(26)),
        *(block(f"r{n}", 10, run="tool_result", ends=n == 25) for n in range(25)),
        block("r25", 10, run="tool_result", mark=Mark()),
    )
    assert reach(ANTHROPIC, prompt).positions[0] == 0
    assert reach(BEDROCK, prompt).positions == tuple(range(31, 53))


def test_a_look_back_without_an_end_reaches_the_beginning() -> None:
    """Where the rule states no look-back, every position is looked at."""
    rule = a_rule("markers")
    prompt = shape(*(block(f"b{n}", 2) for n in range(60)), automatic=Mark())
    assert reach(rule, prompt).positions == tuple(range(60))


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


def test_an_answer_ends_with_the_assistants_message_behind_the_prompt() -> None:
    """Whatever its number of blocks, and only where answers are kept."""
    prompt = shape(
        block("hello", 100),
        block("thinking", 10, "assistant", ends=False),
        block("hi", 10, "assistant"),
        block("more", 10),
    )
    assert answer_end(VLLM, prompt, 0) == 2
    assert answer_end(VLLM, prompt, 2) is None
    assert answer_end(VLLM, prompt, 3) is None
    assert answer_end(OLDER_OPENAI, prompt, 0) is None
