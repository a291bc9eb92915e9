"""Published traces, where they lie beside the checkout; their small parts are in `data`."""

from pathlib import Path

import pytest

from stemcache.trace.anonymize import Anonymizer
from stemcache.trace.multiplex import Mix, multiplex
from stemcache.trace.open import open_trace
from stemcache.trace.summary import Summary
from stemcache.trace.write import write_trace
from tests.trace.traces import read, same

TRACES = Path(__file__).parents[3] / "shared" / "traces"
CONVERSATION = TRACES / "mooncake_conversation.jsonl.gz"
SESSIONS = TRACES / "claude_code_sessions_rle.jsonl.gz"

pytestmark = pytest.mark.skipif(not TRACES.is_dir(), reason="the traces are not there")


def cold_hits(path: Path, hide: Anonymizer | None = None) -> int:
    """Blocks that an unbounded cache finds, which starts empty."""
    seen: set[int] = set()
    hits = 0
    for request in read(path):
        ids = (request if hide is None else hide(request)).block_ids.tolist()
        found = next((i for i, one in enumerate(ids) if one not in seen), len(ids))
        hits += found
        seen.update(ids)
    return hits


def test_the_conversation_trace_has_its_published_figures() -> None:
    """Requests, lengths, span, and the ideal block hit rate of 36.64%, anonymised or not."""
    summary = Summary()
    with open_trace(CONVERSATION) as reader:
        for request in reader:
            summary.add(request)
    found = summary.survey()
    assert (found.requests, found.block_tokens, found.out_of_order) == (12_031, 512, 0)
    assert found.prompts is not None
    assert (round(found.prompts.mean), found.prompts.p50) == (12_035, 6909)
    assert found.answers is not None
    assert round(found.answers.mean) == 343
    assert found.span_s is not None
    assert round(found.span_s) == 3537
    assert (found.blocks, found.distinct_blocks.count) == (288_500, 182_790)
    assert found.unchained_blocks == 0
    hits = cold_hits(CONVERSATION)
    assert round(hits / found.blocks, 4) == 0.3664
    assert cold_hits(CONVERSATION, Anonymizer(bytes(range(32)))) == hits


def test_the_session_trace_has_its_published_figures() -> None:
    """All requests, those of sub-agents too; ids cover full blocks only."""
    sessions, requests, tokens = set(), 0, 0
    with open_trace(SESSIONS) as reader:
        for request in reader:
            sessions.add(request.session)
            requests += 1
            tokens += request.prompt_tokens
            assert len(request.block_ids) == request.prompt_tokens // 64
    assert (len(sessions), requests) == (710, 49_334)
    assert round(tokens / 1e9, 3) == 6.037


def test_sixty_real_sessions_on_one_clock_come_back_from_a_file(tmp_path: Path) -> None:
    """Between a few hundred and some thousand requests, in order, equal when read again."""
    with open_trace(SESSIONS) as reader:
        mixed = multiplex(reader, Mix(60, 7200.0, 14_400.0))
    times = [one.arrival_s or 0.0 for one in mixed]
    assert times == sorted(times)
    assert times[-1] <= 14_400.0
    assert len({one.session for one in mixed}) == 60
    write_trace(mixed, str(tmp_path / "t.zst"))
    assert all(map(same, read(tmp_path / "t.zst"), mixed))
