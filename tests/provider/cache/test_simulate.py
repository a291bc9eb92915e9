"""The simulator, against what providers publish of their caches."""

from dataclasses import replace
from typing import Any

import pytest

from stemcache.provider.cache.simulate import Outcome, PromptCache
from stemcache.provider.rule import Rule, Ttl
from stemcache.provider.shape import Mark, Shape
from tests.provider.cache.prompts import (
    ANTHROPIC,
    BEDROCK,
    DEEPSEEK,
    FIVE_MINUTES,
    GEMINI,
    OLDER_OPENAI,
    OPENAI,
    QWEN,
    VLLM,
    a_rule,
    block,
    shape,
)
from tests.provider.cache.sending import Log


def numbered(first: int, last: int, *, marks: tuple[int, ...] = (), tokens: int = 200) -> Shape:
    """Blocks with these numbers, of 200 tokens each."""
    return shape(
        *(
            block(f"b{n}", tokens, mark=Mark() if n in marks else None)
            for n in range(first, last + 1)
        )
    )


def test_a_growing_conversation_reads_as_the_vendors_example_says() -> None:
    """Ten blocks, then fifteen: a hit at block 10. Then thirty-five: the entry is out of reach."""
    log = Log(ANTHROPIC)
    first = log.send(numbered(1, 10, marks=(10,)))
    assert (first.read_tokens, first.written_tokens) == (0, 2_000)
    second = log.send(numbered(1, 15, marks=(15,)))
    assert (second.read_tokens, second.read_at, second.written_tokens) == (2_000, 9, 1_000)
    third = log.send(numbered(1, 35, marks=(35,)))
    assert (third.read_tokens, third.read_at, third.written_tokens) == (0, None, 7_000)


def test_a_second_marker_finds_what_one_cannot_reach() -> None:
    """With another breakpoint at block 15 the third request of the example reads it."""
    log = Log(ANTHROPIC)
    log.send(numbered(1, 15, marks=(15,)))
    third = log.send(numbered(1, 35, marks=(15, 35)))
    assert (third.read_tokens, third.written_tokens) == (3_000, 4_000)


def test_a_marker_on_what_changes_never_reads() -> None:
    """A look-back finds what was written, not what is stable."""
    log = Log(ANTHROPIC)
    stable = [block(f"b{n}", 1_000, "system") for n in range(5)]
    for n in range(4):
        outcome = log.send(shape(*stable, block(f"time{n}", 100, mark=Mark())))
        assert (outcome.read_tokens, outcome.written_tokens) == (0, 5_100)


def test_a_marker_before_what_changes_reads_from_the_second_request_on() -> None:
    """The mended order of the same prompt."""
    log = Log(ANTHROPIC)
    stable = [block(f"b{n}", 1_000, "system", mark=Mark() if n == 4 else None) for n in range(5)]
    reads = [log.send(shape(*stable, block(f"time{n}", 100))).read_tokens for n in range(3)]
    assert reads == [0, 5_000, 5_000]


def turn(number: int, calls: int, *, parallel: bool) -> list[dict[str, Any]]:
    """An assistant's calls and their results: all at once, or one after the other."""
    uses = [
        block(
            f"u{number}.{n}", 40, "assistant", run="tool_use", ends=not parallel or n == calls - 1
        )
        for n in range(calls)
    ]
    results = [
        block(f"r{number}.{n}", 60, "user", run="tool_result", ends=not parallel or n == calls - 1)
        for n in range(calls)
    ]
    if parallel:
        return uses + results
    return [one for pair in zip(uses, results, strict=True) for one in pair]


@pytest.mark.parametrize(
    ("rule", "form", "read"),
    [
        (ANTHROPIC, "parallel", 2_000),
        (BEDROCK, "parallel", 0),
        (ANTHROPIC, "serial", 0),
        (BEDROCK, "serial", 0),
    ],
)
def test_parallel_calls_stay_in_reach_where_runs_collapse(rule: Rule, form: str, read: int) -> None:
    """Of 26 results at once Bedrock loses the entry, of 24 blocks in series everybody does."""
    log = Log(rule)
    log.send(shape(block("ask", 2_000), automatic=Mark()))
    parallel = form == "parallel"
    blocks = turn(1, 26 if parallel else 12, parallel=parallel)
    outcome = log.send(shape(block("ask", 2_000), *blocks, automatic=Mark()))
    assert outcome.read_tokens == read


@pytest.mark.parametrize(("added", "read"), [(21, 2_000), (22, 0)])
def test_on_bedrock_twenty_one_blocks_more_were_measured_to_hit(added: int, read: int) -> None:
    """And twenty-two to miss."""
    log = Log(BEDROCK)
    log.send(shape(block("ask", 2_000), automatic=Mark()))
    blocks = [block(f"b{n}", 10) for n in range(added)]
    assert log.send(shape(block("ask", 2_000), *blocks, automatic=Mark())).read_tokens == read


@pytest.mark.parametrize(("added", "read"), [(19, 2_000), (20, 0)])
def test_on_the_claude_api_the_twentieth_position_is_the_last(added: int, read: int) -> None:
    """The marker itself counts as the first."""
    log = Log(ANTHROPIC)
    log.send(shape(block("ask", 2_000), automatic=Mark()))
    blocks = [block(f"b{n}", 10) for n in range(added)]
    assert log.send(shape(block("ask", 2_000), *blocks, automatic=Mark())).read_tokens == read


@pytest.mark.parametrize(
    ("minimum", "written"), [(512, 900), (900, 900), (901, 0), (1_024, 0), (4_096, 0)]
)
def test_a_prompt_below_the_minimum_is_silently_not_cached(minimum: int, written: int) -> None:
    """Nothing is written and nothing read."""
    rule = replace(ANTHROPIC, minimum_tokens=a_rule("markers", minimum=minimum).minimum_tokens)
    log = Log(rule)
    prompt = shape(block("hello", 900), automatic=Mark())
    first, second = log.send(prompt), log.send(prompt)
    assert (first.written_tokens, second.read_tokens) == (written, written)


def test_writes_are_divided_among_lifetimes_as_the_marks_ask() -> None:
    """What stands before the hour's mark is written for an hour, the rest for five minutes."""
    prompt = shape(
        block("tools", 3_000, "", mark="1h"),
        block("system", 1_000, "system"),
        block("hello", 500, mark="5m"),
    )
    outcome = Log(ANTHROPIC).send(prompt)
    assert outcome.written_tokens == 4_500
    assert outcome.written_by_ttl == (("1h", 3_000), ("5m", 1_500))


def test_a_mark_without_a_lifetime_has_the_default() -> None:
    """And so has one that names a lifetime unknown to the rule."""
    prompt = shape(block("system", 2_000, "system", mark=Mark()), block("hello", 500, mark="7d"))
    assert Log(ANTHROPIC).send(prompt).written_by_ttl == (("5m", 2_500),)


def test_an_entry_expires_after_its_lifetime_and_says_so() -> None:
    """At exactly five minutes it is there; behind it the outcome tells the gap and the lifetime."""
    prompt = numbered(1, 10, marks=(10,))
    log = Log(ANTHROPIC)
    log.send(prompt, at=0)
    assert log.send(prompt, at=300).read_tokens == 2_000
    late = log.send(prompt, at=600.5)
    assert (late.read_tokens, late.written_tokens) == (0, 2_000)
    assert (late.expired_tokens, late.expired_gap_s, late.expired_ttl) == (2_000, 300.5, "5m")


def test_reading_refreshes_an_entry() -> None:
    """Every four minutes for an hour it is still there."""
    prompt = numbered(1, 10, marks=(10,))
    log = Log(ANTHROPIC)
    log.send(prompt, at=0)
    reads = [log.send(prompt, at=240.0 * n).read_tokens for n in range(1, 16)]
    assert reads == [2_000] * 15


def test_where_reads_do_not_refresh_the_clock_runs_on() -> None:
    """Six minutes after the write it is gone, whoever read it."""
    prompt = numbered(1, 10, marks=(10,))
    log = Log(replace(ANTHROPIC, refreshed_by_reads=False))
    log.send(prompt, at=0)
    assert log.send(prompt, at=240).read_tokens == 2_000
    assert log.send(prompt, at=360).expired_tokens == 2_000


def test_an_hours_mark_outlives_five_minutes() -> None:
    """The lifetime is that of the mark."""
    prompt = shape(block("system", 2_000, "system", mark="1h"), block("hello", 500, mark="5m"))
    log = Log(ANTHROPIC)
    log.send(prompt, at=0)
    late = log.send(prompt, at=1_800)
    assert (late.read_tokens, late.expired_tokens) == (2_000, 500)
    assert late.expired_ttl == "5m"


def test_the_clock_runs_from_the_start_of_a_request() -> None:
    """An answer that took four minutes leaves one minute."""
    prompt = numbered(1, 10, marks=(10,))
    for gap_s, read in ((299.0, 2_000), (301.0, 0)):
        log = Log(ANTHROPIC)
        log.send(prompt, at=0, takes_s=240.0)
        assert log.send(prompt, at=gap_s).read_tokens == read


def test_between_the_low_and_the_high_end_of_a_lifetime_an_entry_counts_as_there() -> None:
    """Contested lifetimes are read in the caller's favour, and said to be doubtful."""
    rule = replace(OLDER_OPENAI, ttls=(Ttl("in_memory", 300.0, 3_600.0),))
    prompt = shape(block("hello", 2_048))
    log = Log(rule)
    log.send(prompt, at=0)
    soon = log.send(prompt, at=300)
    assert (soon.read_tokens, soon.doubtful_tokens, soon.read_gap_s) == (1_920, 0, 300.0)
    later = log.send(prompt, at=3_000)
    assert (later.read_tokens, later.doubtful_tokens, later.read_gap_s) == (1_920, 1_920, 2_700.0)
    assert log.send(prompt, at=6_601).expired_tokens == 1_920


def test_an_entry_can_be_read_only_once_the_answer_has_begun() -> None:
    """Requests in parallel all write; the outcome says what one could have left to the others."""
    prompt = numbered(1, 10, marks=(10,))
    log = Log(ANTHROPIC)
    log.send(prompt, at=0, takes_s=5)
    second = log.send(prompt, at=1, takes_s=5)
    assert (second.read_tokens, second.written_tokens, second.raced_tokens) == (0, 2_000, 2_000)
    third = log.send(prompt, at=5, takes_s=5)
    assert (third.read_tokens, third.raced_tokens) == (2_000, 0)


def test_where_readability_is_unknown_the_first_byte_decides_and_then_nothing() -> None:
    """Without times of an answer nobody is said to have raced."""
    prompt = numbered(1, 10, marks=(10,))
    for answered_s, raced in ((9.0, 2_000), (None, 0)):
        cache = PromptCache(QWEN)
        outcome = cache.look(prompt, now_s=0, scope="")
        cache.keep(
            prompt, outcome, now_s=0, readable_s=None, scope="", routing="", answered_s=answered_s
        )
        assert cache.look(prompt, now_s=1, scope="").raced_tokens == raced


def test_without_times_nothing_expires_and_nothing_races() -> None:
    """What is not known is never held against an entry."""
    prompt = numbered(1, 10, marks=(10,))
    cache = PromptCache(ANTHROPIC)
    for _ in range(2):
        outcome = cache.look(prompt, now_s=None, scope="")
        cache.keep(prompt, outcome, now_s=None, readable_s=None, scope="")
    assert outcome.read_tokens == 2_000
    assert cache.look(prompt, now_s=1e9, scope="").read_tokens == 2_000


def test_scopes_never_share() -> None:
    """Whatever is equal."""
    prompt = numbered(1, 10, marks=(10,))
    log = Log(ANTHROPIC)
    log.send(prompt, scope="a")
    assert log.send(prompt, scope="b").read_tokens == 0
    assert log.send(prompt, scope="a").read_tokens == 2_000


def test_another_routing_value_is_another_cache_and_the_outcome_says_so() -> None:
    """For a rule that routes; for others the value means nothing."""
    rule = replace(OLDER_OPENAI, routing_fields=("header:x-grok-conv-id",))
    prompt = shape(block("hello", 2_048))
    log = Log(rule)
    log.send(prompt, routing="a")
    other = log.send(prompt, routing="b")
    assert (other.read_tokens, other.routed_tokens) == (0, 1_920)
    again = log.send(prompt, routing="a")
    assert (again.read_tokens, again.routed_tokens) == (1_920, 0)
    unrouted = Log(OLDER_OPENAI)
    unrouted.send(prompt, routing="a")
    assert unrouted.send(prompt, routing="b").read_tokens == 1_920


def test_look_changes_nothing() -> None:
    """Asked twice it says the same."""
    prompt = numbered(1, 10, marks=(10,))
    log = Log(ANTHROPIC)
    log.send(prompt, at=0)
    for now_s in (200.0, 400.0, 200.0):
        outcome = log.cache.look(prompt, now_s=now_s, scope="")
        assert outcome.read_tokens == (2_000 if now_s < 300 else 0)


def test_openai_adds_a_turn_as_the_guide_shows() -> None:
    """12,000 tokens written, then read with 3,000 more written."""
    first = (block("tools", 2_000, ""), block("rules", 8_000, "developer"), block("hello", 2_000))
    log = Log(OPENAI)
    outcome = log.send(shape(*first))
    assert (outcome.read_tokens, outcome.written_tokens) == (0, 12_000)
    outcome = log.send(shape(*first, block("more", 3_000)))
    assert (outcome.read_tokens, outcome.written_tokens) == (12_000, 3_000)


def test_openai_in_explicit_mode_writes_up_to_the_last_breakpoint_only() -> None:
    """What follows it is plain input."""
    log = Log(OPENAI)
    for n in range(2):
        prompt = shape(
            block("rules", 8_000, "developer", mark=Mark()), block(f"q{n}", 500), implicit=False
        )
        outcome = log.send(prompt)
        assert (outcome.read_tokens, outcome.written_tokens) == ((0, 8_000), (8_000, 0))[n]


def growing_message(turns: int, *, marks: bool) -> list[Shape]:
    """The actor run of ax-llm/ax#573: each turn's log is appended to the one user message."""
    logs = [block(f"turn{n}", 4_680, ends=False) for n in range(turns)]
    prompts = []
    for n in range(turns):
        blocks = [
            {**one, "ends": i == n, "mark": Mark() if marks and i >= n - 2 else None}
            for i, one in enumerate(logs[: n + 1])
        ]
        prompts.append(shape(block("rules", 10_445, "developer"), *blocks))
    return prompts


def test_openai_reads_stay_pinned_while_one_message_keeps_growing() -> None:
    """Seventeen turns to 90,000 tokens: 10,445 read on each, about a fifth of all."""
    prompts = growing_message(17, marks=False)
    assert prompts[-1].tokens == 90_005
    log = Log(OPENAI)
    reads = [log.send(prompt).read_tokens for prompt in prompts]
    assert reads == [0] + [10_445] * 16
    assert sum(reads) / sum(prompt.tokens for prompt in prompts) == pytest.approx(0.187, abs=0.001)


def test_older_models_read_a_growing_message_as_far_as_it_was() -> None:
    """The same run before 5.6: any prefix is found, in steps of 128."""
    prompts = growing_message(17, marks=False)
    log = Log(OLDER_OPENAI)
    reads = [log.send(prompt).read_tokens for prompt in prompts]
    assert reads[-1] == 85_248
    assert sum(reads) / sum(prompt.tokens for prompt in prompts) == pytest.approx(0.898, abs=0.001)


def test_openai_breakpoints_on_the_blocks_mend_it() -> None:
    """Each turn then reads all that the one before had."""
    prompts = growing_message(17, marks=True)
    log = Log(OPENAI)
    reads = [log.send(prompt).read_tokens for prompt in prompts]
    assert reads == [0, *(prompt.tokens for prompt in prompts[:-1])]
    assert sum(reads) / sum(prompt.tokens for prompt in prompts) == pytest.approx(0.899, abs=0.001)


def test_openai_appended_messages_mend_it_too() -> None:
    """A message of its own for each turn is an ending that is looked up."""
    turns = [block(f"turn{n}", 4_680) for n in range(17)]
    prompts = [shape(block("rules", 10_445, "developer"), *turns[: n + 1]) for n in range(17)]
    log = Log(OPENAI)
    reads = [log.send(prompt).read_tokens for prompt in prompts]
    assert reads == [0, *(prompt.tokens for prompt in prompts[:-1])]


def test_openai_never_falls_back_to_a_prefix_that_nobody_marked() -> None:
    """A large stable block before a changing one, in one message, is written anew each time."""
    log = Log(OPENAI)
    for n in range(3):
        outcome = log.send(shape(block("corpus", 9_000, ends=False), block(f"q{n}", 100)))
        assert (outcome.read_tokens, outcome.written_tokens) == (0, 9_100)


def test_older_openai_models_read_in_steps_of_128() -> None:
    """Rounded down, and nothing below 1,024."""
    log = Log(OLDER_OPENAI)
    log.send(shape(block("system", 1_920, "system"), block("q0", 100)))
    assert log.send(shape(block("system", 1_920, "system"), block("q1", 100))).read_tokens == 1_920
    log.send(shape(block("short", 1_000, "system"), block("q0", 100)))
    assert log.send(shape(block("short", 1_000, "system"), block("q1", 100))).read_tokens == 0


def test_a_repeated_prompt_is_read_but_for_its_last_token() -> None:
    """Something has to be computed for an answer to begin."""
    log = Log(VLLM)
    prompt = shape(block("hello", 1_600))
    log.send(prompt)
    assert log.send(prompt).read_tokens == 1_584


def test_deepseek_reads_a_conversation_that_goes_on() -> None:
    """The vendor's first example: A B, then A B C."""
    log = Log(DEEPSEEK)
    first = (block("system", 640, "system"), block("capital", 640))
    log.send(shape(*first))
    second = shape(*first, block("beijing", 64, "assistant"), block("another", 640))
    assert log.send(second).read_tokens == 1_280


def test_deepseek_reads_a_common_prefix_from_the_third_request_on() -> None:
    """The vendor's second example: A B, A C, A D, parting within a message."""
    log = Log(DEEPSEEK)
    report = "p1 p2 p3 p4 p5 p6 p7 p8"
    reads = [
        log.send(shape(block("system", 640, "system"), block(f"{report} q{n}", 5_760))).read_tokens
        for n in range(3)
    ]
    assert reads[:2] == [0, 0]
    # What is common ends at a sampled cut, somewhat short of 640 + 8 x 640 tokens.
    assert 640 + 7 * 640 <= reads[2] <= 640 + 8 * 640


def test_deepseek_keeps_an_answer_behind_its_prompt() -> None:
    """Where its length is known, the next turn reads the answer too."""
    first = (block("system", 640, "system"), block("capital", 640))
    second = shape(*first, block("beijing", 128, "assistant"), block("another", 640))
    for output_tokens, read in ((128, 1_408), (None, 1_280)):
        log = Log(DEEPSEEK)
        log.send(shape(*first, output_tokens=output_tokens))
        outcome = log.send(second)
        assert (outcome.read_tokens, outcome.read_at) == (read, 2 if output_tokens else 1)


def test_vllm_reads_through_an_answer_that_it_kept() -> None:
    """The assistant's message behind the prompt, in whole blocks."""
    first = (block("system", 160, "system"), block("capital", 160))
    log = Log(VLLM)
    log.send(shape(*first, output_tokens=80))
    assert log.send(shape(*first, block("b", 80, "assistant"), block("c", 80))).read_tokens == 400


def test_qwen_creates_entries_after_the_answer_and_looks_back_twenty_blocks() -> None:
    """The vendor's example: 21 messages more and the block is not found, but a new one is made."""
    log = Log(QWEN)
    system = block("system", 1_200, "system", mark=Mark())
    log.send(shape(system, block("q", 10)), at=0, takes_s=30)
    assert log.send(shape(system, block("q", 10)), at=10).raced_tokens == 1_200
    near = [block(f"m{n}", 10) for n in range(18)]
    far = [block(f"m{n}", 10) for n in range(20)]
    plain = block("system", 1_200, "system")
    hit = log.send(shape(plain, *near, block("end", 10, mark=Mark())), at=40)
    assert hit.read_tokens == 1_200
    miss = log.send(shape(plain, *far, block("end", 10, mark=Mark())), at=50)
    assert (miss.read_tokens, miss.written_tokens) == (0, 1_410)


def test_qwen_charges_only_what_is_new_behind_a_hit() -> None:
    """1,200 tokens kept, 1,500 wanted: 300 are written."""
    log = Log(QWEN)
    log.send(shape(block("a", 1_200, mark=Mark())))
    outcome = log.send(shape(block("a", 1_200), block("b", 300, mark=Mark())))
    assert (outcome.read_tokens, outcome.written_tokens) == (1_200, 300)


def test_gemini_reads_the_object_that_a_request_names() -> None:
    """The API refuses a name that is gone, so that an answered request read it."""
    log = Log(GEMINI)
    blocks = (block("object", 5_000, mark=Mark()), block("hello", 100))
    outcome = log.send(shape(*blocks, object_name="cachedContents/1"))
    assert (outcome.read_tokens, outcome.read_at, outcome.written_tokens) == (5_000, 0, 0)
    assert log.send(shape(*blocks)).read_tokens == 0


def test_a_rule_without_a_model_predicts_nothing() -> None:
    """Usage and prices only."""
    log = Log(a_rule("usage-only"))
    prompt = shape(block("hello", 5_000))
    assert log.send(prompt) == log.send(prompt) == Outcome(read_tokens=0)


def test_memory_is_bounded_and_the_latest_entries_stay() -> None:
    """A cache of a hundred entries has seen a thousand and remembers the last fifty."""
    log = Log(a_rule("markers", ttls=(FIVE_MINUTES,)), most_entries=100)
    prompts = [shape(block(f"p{n}", 10), automatic=Mark()) for n in range(1_000)]
    for prompt in prompts:
        log.send(prompt, at=0, takes_s=0)
    assert len(log.cache) <= 100
    assert all(log.cache.look(one, now_s=1, scope="").read_tokens for one in prompts[-50:])
    assert not any(log.cache.look(one, now_s=1, scope="").read_tokens for one in prompts[:-100])


def test_a_prompt_of_more_cuts_than_there_is_room_keeps_its_beginning() -> None:
    """Longer prefixes are forgotten first."""
    log = Log(replace(VLLM, unit_tokens=1), most_entries=100)
    prompt = shape(*(block(f"b{n}", 64) for n in range(500)))
    log.send(prompt)
    assert 50 * 64 <= log.send(prompt).read_tokens <= 100 * 64


def test_what_prompts_share_is_noticed_even_if_there_is_no_room_for_all_of_it() -> None:
    """The beginning of what was seen is forgotten last."""
    log = Log(replace(DEEPSEEK, keeps_answer=False), most_entries=400)
    shared = [block(f"b{n}", 64) for n in range(500)]
    for n in range(2):
        assert log.send(shape(*shared, block(f"q{n}", 640))).read_tokens == 0
    assert log.send(shape(*shared, block("q2", 640))).read_tokens >= 64 * 100


def test_room_for_a_single_entry_is_refused() -> None:
    """Two generations need one entry each."""
    with pytest.raises(ValueError, match="most_entries is 1; a cache needs room for at least 2"):
        PromptCache(ANTHROPIC, most_entries=1)
