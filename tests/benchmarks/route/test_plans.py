"""What is asked of the gateways."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks.route.cache import BLOCK_CHARACTERS, chain
from benchmarks.route.plans import Prompt, TracePlan, block_text, body, hot, zipf
from benchmarks.route.traces import plan_of
from stemcache.trace.record import TraceRequest


def test_same_seed_same_prompts() -> None:
    """A seed decides everything."""
    assert list(zipf(3, 20)) == list(zipf(3, 20))
    assert list(zipf(3, 20)) != list(zipf(4, 20))


def test_groups_share_their_prefix_and_nothing_else() -> None:
    """2,000 characters of a group's, 200 of a request's own, what begins a message counted in."""
    prompts = list(zipf(1, 200, groups=5))
    assert {len(prompt.contents[0]) for prompt in prompts} == {1_996}
    assert {len(prompt.contents[1]) for prompt in prompts} == {196}
    assert len({prompt.contents[0] for prompt in prompts}) == 5
    assert len({prompt.contents[1] for prompt in prompts}) == 200
    assert {len(prompt.text) for prompt in prompts} == {2_200}
    of_group = {prompt.session: prompt.contents[0] for prompt in prompts}
    assert all(of_group[prompt.session] == prompt.contents[0] for prompt in prompts)


def test_low_groups_are_drawn_more_often() -> None:
    """As 1 / rank ** .8: the first group about 2 ** .8 times as often as the second."""
    counts = Counter(prompt.session for prompt in zipf(1, 20_000, prefix=6, tail=6))
    assert counts["group-0"] / counts["group-1"] == pytest.approx(2**0.8, rel=0.1)
    assert len(counts) == 60


def test_a_hot_prefix_is_everybodys() -> None:
    """One group of 8,000 characters."""
    prompts = list(hot(2, 30))
    assert {prompt.contents[0] for prompt in prompts} == {prompts[0].contents[0]}
    assert len(prompts[0].contents[0]) == 7_996


def test_a_body_is_what_clients_send() -> None:
    """Valid JSON with the contents in order, and only the options that were asked for."""
    prompt = Prompt(("ab", "cd"), "s")
    assert json.loads(body(prompt, stream=False, tokens=3)) == {
        "model": "fake",
        "messages": [{"role": "system", "content": "ab"}, {"role": "user", "content": "cd"}],
        "max_tokens": 3,
    }
    streamed = json.loads(body(prompt, stream=True, tokens=3, usage=True))
    assert streamed["stream"] is True
    assert streamed["stream_options"] == {"include_usage": True}


def _request(ids: list[int], at_s: float, *, block: int = 512, scope: str = "") -> TraceRequest:
    return TraceRequest(
        block_ids=np.array(ids, dtype=np.int64),
        block_tokens=block,
        prompt_tokens=block * len(ids),
        arrival_s=at_s,
        scope=scope,
        session=scope or None,
    )


def test_a_traces_prompts_share_what_their_ids_say() -> None:
    """Equal beginnings of ids are equal beginnings of text, a worker's block for each id."""
    plan = plan_of([_request([1, 2, 3, 4, 5], 10.0), _request([1, 2, 3, 9], 12.0)])
    first, second = plan.prompts(speed=4.0)
    assert (first.at_s, second.at_s) == (0.0, 0.5)
    assert len(first.text) == 5 * BLOCK_CHARACTERS
    shared = [a == b for a, b in zip(chain(first.text), chain(second.text), strict=False)]
    assert shared == [True, True, True, False]
    assert [len(content) for content in first.contents] == [252, 60]
    assert first.session != second.session


def test_smaller_blocks_are_taken_together() -> None:
    """Of blocks of 64 tokens every eighth id stands; ids of two sessions are never equal."""
    ids = list(range(100, 120))
    plan = plan_of(
        [_request(ids, 0.0, block=64, scope="a"), _request(ids, 1.0, block=64, scope="b")]
    )
    assert plan.blocks(0) == [107, 115]
    assert plan.blocks(1) == [107 + (1 << 40), 115 + (1 << 40)]
    assert plan.sessions.tolist() == [0, 1]


def test_a_plan_can_be_kept(tmp_path: Path) -> None:
    """What is read is what was written, and a count bounds it."""
    plan = plan_of([_request([n, n + 1], float(n)) for n in range(6)])
    plan.save(tmp_path / "plan.npz")
    again = TracePlan.load(tmp_path / "plan.npz")
    assert list(again.prompts(1.0)) == list(plan.prompts(1.0))
    assert len(list(again.prompts(1.0, count=4))) == 4
    assert all(a.at_s <= b.at_s for a, b in pairwise(again.prompts(1.0)) if a.at_s and b.at_s)


def test_a_blocks_text_is_a_block() -> None:
    """As many characters as a worker's block, another for another id."""
    assert len(block_text(7)) == BLOCK_CHARACTERS
    assert block_text(7) == block_text(7) != block_text(8)
