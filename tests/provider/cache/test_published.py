"""Each modelled provider, by its shipped rule, against its published examples.

Sources are those of the rules. Amounts are the examples' own where they give any.
"""

from typing import Any

import pytest

from stemcache.provider.book import load_book
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Mark, Shape
from tests.provider.cache.prompts import block, shape
from tests.provider.cache.sending import Log

BOOK = load_book()


def rule(provider: str, model: str, *, marked: bool = False) -> Rule:
    """The rule that the book has for a model."""
    found = BOOK.rule_for(provider, model, marked=marked)
    assert found is not None
    return found


CLAUDE = [
    ("anthropic", "claude-opus-5"),
    ("vertex", "claude-opus-5"),
    ("bedrock", "anthropic.claude-opus-5"),
    ("azure", "claude-opus-5"),
]
EXPLICIT = [*CLAUDE, ("qwen", "qwen3-max"), ("minimax", "MiniMax-M2")]


def blocks(count: int, *, marks: tuple[int, ...]) -> Shape:
    """Numbered blocks of 200 tokens, some of them marked."""
    return shape(
        *(block(f"b{n}", 200, mark=Mark() if n in marks else None) for n in range(1, count + 1))
    )


@pytest.mark.parametrize(("provider", "model"), EXPLICIT)
def test_a_growing_conversation_of_ten_fifteen_and_thirty_five_blocks(
    provider: str, model: str
) -> None:
    """A hit at block 10; then none, 15 being out of reach of 35, but for a second marker."""
    log = Log(rule(provider, model, marked=True))
    assert log.send(blocks(10, marks=(10,))).written_tokens == 2_000
    second = log.send(blocks(15, marks=(15,)))
    assert (second.read_tokens, second.written_tokens) == (2_000, 1_000)
    third = log.cache.look(blocks(35, marks=(35,)), now_s=5, scope="")
    # Bedrock was measured to look back two positions further.
    assert third.read_tokens == (3_000 if provider == "bedrock" else 0)
    mended = log.send(blocks(35, marks=(15, 35)))
    assert (mended.read_tokens, mended.written_tokens) == (3_000, 4_000)


@pytest.mark.parametrize(("provider", "model"), CLAUDE)
def test_automatic_marks_follow_a_conversation(provider: str, model: str) -> None:
    """System and first question written; then read, with the answer and the next one written."""
    log = Log(rule(provider, model, marked=True))
    talk = [block("system", 1_500, "system"), block("a", 100)]
    first = log.send(shape(*talk, automatic=Mark()))
    assert (first.read_tokens, first.written_tokens) == (0, 1_600)
    talk += [block("b", 200, "assistant"), block("c", 100)]
    second = log.send(shape(*talk, automatic=Mark()))
    assert (second.read_tokens, second.written_tokens) == (1_600, 300)
    talk += [block("d", 200, "assistant"), block("e", 100)]
    third = log.send(shape(*talk, automatic=Mark()))
    assert (third.read_tokens, third.written_tokens) == (1_900, 300)


@pytest.mark.parametrize(("provider", "model"), EXPLICIT)
def test_four_markers_keep_segments_that_change_at_different_rates(
    provider: str, model: str
) -> None:
    """Tools, instructions, documents, conversation: what is before the first change is read."""

    def prompt(documents: str, *turns: str) -> Shape:
        talk = [block(turn, 100, mark=Mark() if turn == turns[-1] else None) for turn in turns]
        return shape(
            block("tools", 3_000, "", mark=Mark()),
            block("instructions", 1_000, "system", mark=Mark()),
            block(documents, 5_000, "system", mark=Mark()),
            *talk,
        )

    log = Log(rule(provider, model, marked=True))
    assert log.send(prompt("docs", "q1")).written_tokens == 9_100
    same = log.send(prompt("docs", "q1", "q2"))
    assert (same.read_tokens, same.written_tokens) == (9_100, 100)
    other = log.send(prompt("others", "q1", "q2"))
    assert (other.read_tokens, other.read_at, other.written_tokens) == (4_000, 1, 5_200)


@pytest.mark.parametrize(
    ("provider", "model", "minimum"),
    [
        ("anthropic", "claude-opus-5-5", 512),
        ("anthropic", "claude-sonnet-4-5", 1_024),
        ("anthropic", "claude-opus-4-7", 2_048),
        ("anthropic", "claude-haiku-4-5", 4_096),
        ("bedrock", "anthropic.claude-opus-4-7-20260416-v1:0", 4_096),
        ("qwen", "qwen3-max", 1_024),
        ("minimax", "MiniMax-M2", 512),
    ],
)
def test_a_prefix_of_the_minimum_is_kept_and_one_token_less_is_not(
    provider: str, model: str, minimum: int
) -> None:
    """Silently: neither a write nor a read."""
    for tokens, kept in ((minimum, minimum), (minimum - 1, 0)):
        log = Log(rule(provider, model, marked=True))
        prompt = shape(block("hello", tokens, mark=Mark()))
        outcome = log.send(prompt)
        assert outcome.written_tokens == kept
        assert log.send(prompt).read_tokens == kept


@pytest.mark.parametrize(
    ("provider", "model", "ttl", "lasts_s"),
    [
        ("anthropic", "claude-opus-5", None, 300),
        ("anthropic", "claude-opus-5", "5m", 300),
        ("anthropic", "claude-opus-5", "1h", 3_600),
        ("vertex", "claude-opus-5", "1h", 3_600),
        ("bedrock", "anthropic.claude-opus-5", "1h", 3_600),
        ("qwen", "qwen3-max", None, 300),
    ],
)
def test_an_entry_lives_for_its_time_from_the_last_use(
    provider: str, model: str, ttl: str | None, lasts_s: int
) -> None:
    """A read starts it anew; one second more and it is gone."""
    log = Log(rule(provider, model, marked=True))
    prompt = shape(block("hello", 5_000, mark=Mark(ttl)))
    log.send(prompt, at=0)
    assert log.send(prompt, at=lasts_s).read_tokens == 5_000
    assert log.send(prompt, at=2 * lasts_s).read_tokens == 5_000
    late = log.send(prompt, at=3 * lasts_s + 1)
    assert (late.read_tokens, late.expired_tokens, late.written_tokens) == (0, 5_000, 5_000)


def wide(calls: int) -> list[dict[str, Any]]:
    """One turn of so many calls in parallel."""
    last = calls - 1
    return [
        *(block(f"u{n}", 40, "assistant", run="tool_use", ends=n == last) for n in range(calls)),
        *(block(f"r{n}", 60, run="tool_result", ends=n == last) for n in range(calls)),
    ]


@pytest.mark.parametrize(
    ("provider", "model", "read"),
    [
        ("anthropic", "claude-opus-5", 2_000),
        ("vertex", "claude-opus-5", 2_000),
        ("bedrock", "anthropic.claude-opus-5", 0),
        ("qwen", "qwen3-max", 0),
    ],
)
def test_a_fan_out_of_twenty_six_calls(provider: str, model: str, read: int) -> None:
    """Two positions where runs collapse, fifty-two where they do not."""
    log = Log(rule(provider, model, marked=True))
    log.send(shape(block("ask", 2_000, mark=Mark())))
    turn = wide(26)
    turn[-1]["mark"] = Mark()
    assert log.send(shape(block("ask", 2_000), *turn)).read_tokens == read


@pytest.mark.parametrize(("provider", "model"), EXPLICIT)
def test_twenty_four_blocks_in_series_are_too_many_for_all(provider: str, model: str) -> None:
    """One marker cannot see over them."""
    log = Log(rule(provider, model, marked=True))
    log.send(shape(block("ask", 2_000, mark=Mark())))
    turn = [
        one
        for n in range(12)
        for one in (
            block(f"u{n}", 10, "assistant", run="tool_use"),
            block(f"r{n}", 10, run="tool_result"),
        )
    ]
    turn[-1]["mark"] = Mark()
    assert log.send(shape(block("ask", 2_000), *turn)).read_tokens == 0


@pytest.mark.parametrize(("provider", "model"), [("openai", "gpt-5.6"), ("azure", "gpt-5.6")])
def test_openai_from_5_6_adds_to_a_conversation(provider: str, model: str) -> None:
    """The guide's requests: 12,000 tokens written; then 12,000 read and 3,000 written."""
    log = Log(rule(provider, model))
    first = (block("tools", 2_000, ""), block("rules", 8_000, "developer"), block("hello", 2_000))
    outcome = log.send(shape(*first))
    assert (outcome.read_tokens, outcome.written_tokens) == (0, 12_000)
    outcome = log.send(shape(*first, block("more", 3_000)))
    assert (outcome.read_tokens, outcome.written_tokens) == (12_000, 3_000)
    assert outcome.written_by_ttl == (("30m", 3_000),)


def test_openai_from_5_6_reads_the_shared_developer_message() -> None:
    """As measured in BerriAI/litellm#37628: the shared 6,002 tokens read, the tail written anew."""
    log = Log(rule("openai", "gpt-5.6"))
    outcomes = [
        log.send(shape(block("shared", 6_002, "developer"), block(f"q{n}", 1_493)))
        for n in range(3)
    ]
    assert [one.read_tokens for one in outcomes] == [0, 6_002, 6_002]
    assert [one.written_tokens for one in outcomes] == [7_495, 1_493, 1_493]


def test_openai_from_5_6_reads_one_write_and_nine_times() -> None:
    """Ten requests with an explicit breakpoint: the guide's arithmetic of 1.25 and nine tenths."""
    log = Log(rule("openai", "gpt-5.6"))
    outcomes = [
        log.send(
            shape(block("rules", 8_000, "user", mark=Mark()), block(f"q{n}", 9), implicit=False)
        )
        for n in range(10)
    ]
    cost = sum(1.25 * one.written_tokens + 0.1 * one.read_tokens for one in outcomes)
    assert cost == pytest.approx(2.15 * 8_000)


def test_openai_from_5_6_keeps_for_half_an_hour_at_least() -> None:
    """Beyond it a read is doubtful, not impossible."""
    log = Log(rule("openai", "gpt-5.6"))
    prompt = shape(block("hello", 5_000))
    log.send(prompt, at=0)
    assert log.send(prompt, at=1_800).doubtful_tokens == 0
    late = log.send(prompt, at=1_800 + 1_801)
    assert (late.read_tokens, late.doubtful_tokens) == (5_000, 5_000)


def test_openai_from_5_6_keeps_accounts_apart_by_key() -> None:
    """Another `prompt_cache_key` does not read."""
    log = Log(rule("openai", "gpt-5.6"))
    prompt = shape(block("hello", 5_000))
    log.send(prompt, routing="a")
    outcome = log.send(prompt, routing="b")
    assert (outcome.read_tokens, outcome.routed_tokens) == (0, 5_000)


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4.1", "gpt-5", "gpt-5.5"])
def test_openai_before_5_6_reports_multiples_of_128(model: str) -> None:
    """Of 2,006 tokens that were sent before, 1,920."""
    log = Log(rule("openai", model))
    prompt = shape(block("system", 1_900, "system"), block("question", 106))
    assert prompt.tokens == 2_006
    log.send(prompt)
    assert log.send(prompt).read_tokens == 1_920


@pytest.mark.parametrize(
    ("provider", "model", "shared", "read"),
    [
        ("openai", "gpt-4o", 1_100, 1_024),
        ("openai", "gpt-4o", 1_000, 0),
        ("xai", "grok-4.7", 1_100, 1_024),
        ("vllm", "any", 1_100, 1_088),
        ("vllm", "any", 15, 0),
        ("sglang", "any", 1_100, 1_100),
        ("qwen", "qwen3-max", 1_100, 1_100),
        ("minimax", "MiniMax-M2", 511, 0),
        ("minimax", "MiniMax-M2", 512, 512),
        ("gemini", "gemini-2.5-flash", 2_047, 0),
        ("gemini", "gemini-2.5-flash", 2_048, 2_048),
    ],
)
def test_caches_of_units_read_what_is_shared(
    provider: str, model: str, shared: int, read: int
) -> None:
    """In whole units, from the minimum on."""
    log = Log(rule(provider, model))
    for n in range(2):
        outcome = log.send(shape(block("system", shared, "system"), block(f"q{n}", 3_000)))
    assert outcome.read_tokens == read


def test_deepseek_by_its_two_examples() -> None:
    """A B then A B C reads A B. A B, A C, A D reads A the third time."""
    deepseek = rule("deepseek", "deepseek-v4-flash")
    log = Log(deepseek)
    talk = (block("helpful", 640, "system"), block("china", 640))
    log.send(shape(*talk))
    second = log.send(shape(*talk, block("beijing", 64, "assistant"), block("states", 640)))
    assert second.read_tokens == 1_280

    log = Log(deepseek)
    reads = [
        log.send(shape(block("analyst report", 6_400, "system"), block(task, 640))).read_tokens
        for task in ("summary", "profit", "outlook")
    ]
    assert reads == [0, 0, 6_400]


def test_qwen_makes_entries_once_the_answer_is_over() -> None:
    """Whoever builds the log says when that is; before it requests race."""
    explicit = rule("qwen", "qwen3-max", marked=True)
    assert explicit.readable_after == "answer-ends"
    log = Log(explicit)
    prompt = shape(block("a", 1_200, "system", mark=Mark()), block("q", 10))
    log.send(prompt, at=0, takes_s=30)
    assert log.send(prompt, at=10).raced_tokens == 1_200
    assert log.send(prompt, at=31).read_tokens == 1_200


def test_qwen_writes_only_what_is_new() -> None:
    """1,200 tokens are there and 1,500 wanted: 300 are created."""
    log = Log(rule("qwen", "qwen3-max", marked=True))
    log.send(shape(block("a", 1_200, mark=Mark())))
    outcome = log.send(shape(block("a", 1_200), block("b", 300, mark=Mark())))
    assert (outcome.read_tokens, outcome.written_tokens) == (1_200, 300)


def test_gemini_reads_a_named_object() -> None:
    """From the first request that names it, for it was made before."""
    log = Log(rule("gemini", "gemini-2.5-flash", marked=True))
    for question in ("q1", "q2"):
        prompt = shape(
            block("transcript", 30_000, mark=Mark()),
            block(question, 20),
            object_name="cachedContents/1",
        )
        outcome = log.send(prompt)
        assert (outcome.read_tokens, outcome.written_tokens) == (30_000, 0)


@pytest.mark.parametrize("provider", ["groq", "mistral", "fireworks", "together", "zhipu"])
def test_of_providers_without_a_testable_rule_nothing_is_predicted(provider: str) -> None:
    """Usage and prices only."""
    log = Log(rule(provider, "any"))
    prompt = shape(block("hello", 50_000))
    assert [log.send(prompt).read_tokens for _ in range(2)] == [0, 0]
