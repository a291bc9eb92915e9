from stemcache.replay.selection import DEFAULT_OUTPUT_TOKENS, nothing_left, select
from tests.replay.made import request


def test_everything_is_sent_unless_told_otherwise() -> None:
    """Numbers are positions in the trace."""
    chosen = select([request([1], output_tokens=7), request([2, 3], output_tokens=0)])
    assert [(each.number, each.output_tokens) for each in chosen.planned] == [(0, 7), (1, 1)]
    assert (chosen.read, chosen.block_tokens, chosen.unknown_outputs) == (2, 4, 0)


def test_a_limit_counts_what_is_read() -> None:
    """Those that are left out count too, so that the same part of a trace is meant."""
    trace = [request([1]), request(range(9)), request([2]), request([3])]
    chosen = select(iter(trace), limit=3, max_prompt_tokens=8, max_tokens=5)
    assert [each.number for each in chosen.planned] == [0, 2]
    assert (chosen.read, chosen.too_long) == (3, 1)
    assert {each.output_tokens for each in chosen.planned} == {5}


def test_no_more_is_read_than_asked_for() -> None:
    """A trace may be larger than memory."""
    trace = iter([request([1]), request([2])])
    select(trace, limit=1)
    assert next(trace).block_ids.tolist() == [2]


def test_lengths_are_compared_after_shrinking() -> None:
    """The target gets the shrunk ones."""
    trace = [request([1, 2], 1024, block=512)]
    assert select(trace, tokens_per_block=32, max_prompt_tokens=64).too_long == 0
    assert select(trace, tokens_per_block=32, max_prompt_tokens=63).too_long == 1


def test_empty_prompts_are_left_out_and_counted() -> None:
    """No server takes one."""
    chosen = select([request([], 0), request([], 10, block=512)], tokens_per_block=4)
    assert (chosen.planned, chosen.empty) == ((), 2)
    assert select([]).block_tokens is None


def test_unknown_answers_are_counted_where_nobody_says_how_long() -> None:
    """They get a default, which the report tells."""
    chosen = select([request([1]), request([2], output_tokens=3)])
    assert chosen.unknown_outputs == 1
    assert chosen.planned[0].output_tokens == DEFAULT_OUTPUT_TOKENS
    assert select([request([1])], max_tokens=9).unknown_outputs == 0


def test_what_is_advised_where_nothing_is_left_would_help() -> None:
    """Longer prompts do not fill empty ones."""
    empty = nothing_left(select([request([], 0)] * 3), "t.jsonl")
    assert empty == (
        "no request of t.jsonl is left to send: the prompts of all 3 are empty; "
        "give a trace whose requests have tokens"
    )
    both = nothing_left(select([request([1]), request([], 0)], max_prompt_tokens=1), "t.jsonl")
    assert both.endswith(
        "1 are too long and 1 empty; raise --max-prompt-tokens or lower --tokens-per-block"
    )
