"""Where markers write, and how far they look back."""

from stemcache.provider.cache.cuts import Cuts, held, reach
from stemcache.provider.shape import Mark
from tests.provider.cache.prompts import ANTHROPIC, BEDROCK, a_rule, block, shape


def cuts(*positions: int) -> Cuts:
    """These positions."""
    return Cuts(everywhere=False, positions=positions)


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
