import numpy as np
import pytest
from hypothesis import given

from stemcache.trace.lengths import Lengths
from stemcache.trace.record import TraceRequest
from stemcache.trace.summary import Counted, Summary, Survey
from tests.trace.traces import DATA, read, related_requests, request_of


def survey(*requests: TraceRequest) -> Survey:
    """The figures of a few requests."""
    summary = Summary()
    for one in requests:
        summary.add(one)
    return summary.survey()


def test_a_real_trace_in_figures() -> None:
    """As counted by hand."""
    found = survey(*read(DATA / "mooncake.jsonl"))
    assert found.requests == 5
    assert found.block_tokens == 512
    assert found.prompts == Lengths(5, 9132, 1826.4, 2012.0, 2184.4, 2290)
    assert found.answers == Lengths(5, 1602, 320.4, 324.0, 348.0, 354)
    assert found.blocks == 20
    assert found.distinct_blocks == Counted(13, exact=True)
    assert found.distinct_prompts == Counted(5, exact=True)
    assert found.unchained_blocks == 0
    assert (found.tenants.count, found.sessions.count) == (0, 0)
    assert (found.timed, found.span_s) == (5, 725.999)
    assert found.requests_per_s == pytest.approx(5 / 725.999)
    assert found.out_of_order == 0


def chained(requests: list[TraceRequest]) -> list[TraceRequest]:
    """The same prompts, with ids that stand for prefixes."""
    names: dict[tuple[str, tuple[int, ...]], int] = {}
    made = []
    for one in requests:
        ids = one.block_ids.tolist()
        keys = [(one.scope, tuple(ids[: i + 1])) for i in range(len(ids))]
        numbers = [names.setdefault(key, len(names)) for key in keys]
        made.append(request_of(*numbers, scope=one.scope, session=one.session))
    return made


@given(related_requests())
def test_distinct_blocks_and_prompts_are_those_of_a_set(requests: list[TraceRequest]) -> None:
    """Ids of different scopes are different; ids of prefixes follow always the same."""
    requests = chained(requests)
    found = survey(*requests)
    blocks = {(one.scope, block) for one in requests for block in one.block_ids.tolist()}
    prompts = {(one.scope, tuple(one.block_ids.tolist())) for one in requests}
    assert found.distinct_blocks.count == len(blocks)
    assert found.distinct_prompts.count == len(prompts)
    assert found.unchained_blocks == 0


def test_ids_of_blocks_alone_are_noticed() -> None:
    """An id behind two different ones is no prefix's."""
    assert survey(request_of(1, 2, 3), request_of(4, 2, 3)).unchained_blocks == 1
    assert survey(request_of(1, 2, 3), request_of(1, 3, 2)).unchained_blocks == 2
    assert survey(request_of(1, 2), request_of(2)).unchained_blocks == 1


def test_what_is_not_given_is_not_known() -> None:
    """None, not zero."""
    found = survey(request_of(1))
    assert (found.answers, found.span_s, found.requests_per_s) == (None, None, None)
    nothing = survey()
    assert (nothing.requests, nothing.prompts, nothing.block_tokens) == (0, None, None)


def test_one_moment_has_no_rate() -> None:
    """A rate over no time is none."""
    found = survey(request_of(1, arrival_s=5.0), request_of(2, arrival_s=5.0))
    assert (found.span_s, found.requests_per_s) == (0.0, None)


def test_requests_out_of_order_are_counted() -> None:
    """Each that came before the latest so far; the span is from the first to the last."""
    found = survey(*(request_of(i, arrival_s=time) for i, time in enumerate((5.0, 9.0, 2.0, 8.0))))
    assert (found.out_of_order, found.span_s) == (2, 7.0)


def test_clocks_of_sessions_are_not_compared() -> None:
    """The span is the median session's, and there is no rate."""
    requests = [
        request_of(1, arrival_s=time, session=name, session_clock=True)
        for name, times in (("a", (0, 10)), ("b", (0, 30, 20)), ("c", (0, 20)))
        for time in times
    ]
    found = survey(*requests)
    assert found.session_clock
    assert (found.span_s, found.requests_per_s, found.out_of_order) == (20.0, None, 1)
    assert found.sessions == Counted(3, exact=True)


def test_tenants_are_counted() -> None:
    """Those that are named."""
    found = survey(*(request_of(1, tenant=name) for name in ("a", "b", None, "a")))
    assert found.tenants == Counted(2, exact=True)


def test_a_summary_does_not_hold_what_it_counts() -> None:
    """A million blocks are given back; only what is distinct is remembered, and that in bounds."""
    summary = Summary()
    for start in range(0, 3_000_000, 300_000):
        summary.add(
            TraceRequest(
                block_ids=np.arange(start, start + 300_000), block_tokens=1, prompt_tokens=300_000
            )
        )
    found = summary.survey().distinct_blocks
    assert not found.exact
    assert found.count == pytest.approx(3_000_000, rel=0.01)
    assert len(summary._census.blocks._kept) <= 2**20
