"""What the rule says should have been read but was not: what the log shows of the reason."""

import copy
from typing import Any

import pytest

from stemcache.lint.finding import Report
from stemcache.trace.calls.call import Call
from tests.lint.logs import anthropic, call, chat, kinds, lint, prose, rows

T0 = 1_800_000_000.0
HOUR_S = 3_600.0


def _usage(prompt: int, read: int, written: int) -> dict[str, int]:
    return {
        "input_tokens": prompt - read - written,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "output_tokens": 50,
    }


def _openai(prompt: int, cached: int | None) -> dict[str, Any]:
    details = {} if cached is None else {"prompt_tokens_details": {"cached_tokens": cached}}
    return {"prompt_tokens": prompt, "completion_tokens": 50, **details}


def _two(gap_s: float, usage: list[dict[str, Any] | None], **others: Any) -> list[Call]:
    calls = []
    for line, (turns, used) in enumerate(zip((3, 4), usage, strict=True), start=1):
        at = T0 + (gap_s if line == 2 else 0.0)
        calls.append(
            call(anthropic(turns), line, time_s=at, answered_s=at + 2, usage=used, **others)
        )
    return calls


def _remainder(report: Report) -> dict[str, int]:
    return dict(report.reconciliation.remainder)


def test_gap_beyond_the_time_to_live_is_expired() -> None:
    """An hour after the last use nothing is there any more."""
    report = lint(_two(HOUR_S, [_usage(7_000, 0, 6_950), _usage(7_200, 0, 7_150)]))
    assert kinds(report) == [("expired", "", None)]
    assert report.findings[0].lost_tokens == pytest.approx(7_000, rel=0.05)
    assert report.reconciliation.calls == 2
    assert set(_remainder(report)) == {"expired"}


def test_gap_is_told_without_usage() -> None:
    """Times are enough to predict that nothing can be read."""
    report = lint(_two(HOUR_S, [None, None]))
    assert kinds(report) == [("expired", "", None)]
    assert report.reconciliation.calls == 0


def test_hour_long_marker_outlives_the_gap() -> None:
    """What is marked for an hour is there after twenty minutes."""
    calls = []
    for line, turns in enumerate((3, 4), start=1):
        body = anthropic(turns)
        body["system"][0]["cache_control"]["ttl"] = "1h"
        body["messages"][-1]["content"][-1]["cache_control"]["ttl"] = "1h"
        calls.append(call(body, line, time_s=T0 + 1_200.0 * line))
    assert kinds(lint(calls)) == []


def test_calls_at_once_race() -> None:
    """A call that begins before the first has answered cannot read what that writes."""
    calls = [
        call(anthropic(3), 1, time_s=T0, answered_s=T0 + 5, usage=_usage(7_000, 0, 6_950)),
        call(anthropic(3), 2, time_s=T0 + 1, answered_s=T0 + 6, usage=_usage(7_000, 0, 6_950)),
    ]
    report = lint(calls)
    assert kinds(report) == [("raced", "", None)]
    assert set(_remainder(report)) <= {"raced", "rounding"}


def test_miss_without_evidence_is_unexplained() -> None:
    """Equal prefix, seconds apart, same host: nothing is guessed, and the cost is said."""
    report = lint(_two(10, [_usage(7_000, 0, 6_950), _usage(7_200, 0, 7_150)]))
    assert kinds(report) == [("unexplained", "", None)]
    finding = report.findings[0]
    assert finding.lost_tokens == pytest.approx(7_000, rel=0.03)
    assert finding.cost_usd is not None
    assert finding.cost_usd > 0
    assert _remainder(report) == {"unexplained": finding.lost_tokens}


def test_provider_s_own_word_is_quoted() -> None:
    """The reason that the provider gives stands in the message."""
    calls = _two(10, [_usage(7_000, 0, 6_950), _usage(7_200, 0, 7_150)])
    diagnostics = {"cache_miss_reason": {"type": "messages_changed"}}
    calls[1] = call(
        anthropic(4),
        2,
        time_s=T0 + 10,
        answered_s=T0 + 12,
        usage=_usage(7_200, 0, 7_150),
        diagnostics=diagnostics,
    )
    report = lint(calls)
    assert "messages_changed" in report.findings[0].message


def test_reported_hit_agrees_with_the_prediction() -> None:
    """A chat that is read as the rule says leaves no remainder worth a label."""
    report = lint(_two(10, [_usage(7_000, 0, 6_950), _usage(7_200, 6_990, 160)]))
    assert kinds(report) == []
    assert report.reconciliation.exact == 2
    assert set(_remainder(report)) <= {"rounding"}


def test_more_read_than_the_log_explains_is_unseen_traffic() -> None:
    """Somebody else wrote the prefix before the log began."""
    calls = _two(10, [_usage(7_000, 6_000, 950), _usage(7_200, 6_990, 160)])
    report = lint(calls)
    assert _remainder(report)["unseen-traffic"] == -6_000
    assert kinds(report) == []


def test_predicted_less_reported_is_the_sum_of_the_labels() -> None:
    """Whatever happens, the remainder by label adds up."""
    used = [
        _usage(7_000, 0, 6_950),
        _usage(7_200, 3_000, 160),
        _usage(7_400, 7_300, 50),
        _usage(7_600, 0, 0),
    ]
    calls = [
        call(anthropic(turns), turns, time_s=T0 + gap, answered_s=T0 + gap + 1, usage=usage)
        for turns, gap, usage in zip((3, 4, 5, 6), (0, 10, 1_000, 1_001), used, strict=True)
    ]
    found = lint(calls).reconciliation
    assert sum(found.remainder.values()) == found.predicted_tokens - found.reported_tokens
    for row in rows(calls):
        assert row.reported_tokens is not None
        gap = max(0, row.predicted_tokens - row.reported_tokens)
        assert sum(tokens for _, tokens in row.parts) == gap


def test_other_cache_key_is_routed() -> None:
    """The same prompt under another key may be asked of another server."""
    calls = []
    for line in range(1, 5):
        body = {**chat(line), "prompt_cache_key": f"user-{line}"}
        at = T0 + 10 * line
        calls.append(
            call(body, line, time_s=at, answered_s=at + 1, usage=_openai(6_500 + 200 * line, 0))
        )
    report = lint(calls)
    assert [kind for kind, _, _ in kinds(report)] == ["routed"]
    assert report.findings[0].count == 3


def test_markers_without_any_effect_are_dropped_on_the_way() -> None:
    """Markers that should write, and usage that knows neither writes nor reads."""
    report = lint(_two(10, [_usage(7_000, 0, 0), _usage(7_200, 0, 0)]))
    assert [kind for kind, _, _ in kinds(report)] == ["marker-dropped"]


def test_usage_that_cannot_be_right_is_said_once() -> None:
    """More read than sent is an error of accounting, counted, and never charged."""
    bad = {**_openai(100, 5_000)}
    calls = [call(chat(1), line, usage=bad) for line in (1, 2, 3)]
    report = lint(calls)
    found = [finding for finding in report.findings if finding.kind == "accounting"]
    assert [(finding.count, finding.lost_tokens) for finding in found] == [(3, 0)]


def test_missing_cached_count_is_unknown_and_not_zero() -> None:
    """A provider that says nothing of cached tokens is not said to have missed."""
    calls = [call(chat(turns), turns, usage=_openai(7_000, None)) for turns in (1, 2, 3)]
    report = lint(calls)
    assert kinds(report) == []
    assert report.reconciliation.calls == 0
    assert any("no cached tokens are reported" in remark for remark in report.remarks)


def test_failed_calls_write_nothing() -> None:
    """What a refused call would have left cannot be missed."""
    calls = [
        call(anthropic(3), 1, time_s=T0, status=529, failed=True),
        call(anthropic(4), 2, time_s=T0 + 5, answered_s=T0 + 6, usage=_usage(7_200, 0, 7_150)),
    ]
    report = lint(calls)
    assert kinds(report) == []
    assert (report.total.calls, report.total.failed, report.total.cold) == (2, 1, 1)


def test_tenants_do_not_share() -> None:
    """Equal prompts under different credentials have no parent."""
    calls = [call(anthropic(3), line, scope=f"tenant-{line}") for line in (1, 2)]
    report = lint(calls)
    assert report.total.cold == 2
    assert report.total.attainable_tokens == 0


def test_writes_that_nobody_reads_are_noted() -> None:
    """Single questions, each marked at its end for an hour, pay for nothing."""
    calls = []
    for line in range(1, 30):
        body = anthropic(1)
        body["system"][0].pop("cache_control")
        body["system"][0]["text"] = prose(3_000, line + 900)
        body["messages"][0]["content"][0]["cache_control"]["ttl"] = "1h"
        calls.append(call(body, line, time_s=T0 + line))
    found = [finding for finding in lint(calls).findings if finding.kind == "unread-write"]
    assert len(found) == 1
    assert found[0].lost_tokens == 0
    assert found[0].cost_usd is not None
    assert found[0].cost_usd > 0


def test_costs_of_findings_never_exceed_the_log() -> None:
    """What is lost is part of what was paid."""
    bodies = []
    for turn in range(12):
        body = copy.deepcopy(anthropic(turn + 1))
        body["system"][0]["text"] = f"Time: {1_790_000_000 + turn * 60}\n" + prose(3_000, 7)
        bodies.append(body)
    report = lint(bodies)
    assert report.total.input_cost_usd is not None
    costs = sum(finding.cost_usd or 0.0 for finding in report.findings)
    assert 0 < costs < report.total.input_cost_usd


def test_gap_beyond_what_is_promised_may_have_expired() -> None:
    """A provider that promises half an hour at least may have dropped it after two."""
    calls = []
    for line, turns in enumerate((3, 4), start=1):
        at = T0 + 2 * HOUR_S * line
        body = chat(turns, model="gpt-5.6")
        calls.append(call(body, line, time_s=at, answered_s=at + 1, usage=_openai(7_000, 0)))
    report = lint(calls)
    assert [kind for kind, _, _ in kinds(report)] == ["expired"]
    assert "at least 30 min" in report.findings[0].message


def test_cost_that_the_log_states_is_compared() -> None:
    """A gateway that bills cached tokens in full is ten times off, and that is said."""
    calls = []
    for turns in (1, 2, 3, 4):
        usage = _openai(7_000, 6_784 if turns > 1 else 0)
        calls.append(call(chat(turns), turns, usage=usage, billed_usd=0.2))
    assert any("own figures of cost come to $0.80" in remark for remark in lint(calls).remarks)
    fair = [call(chat(1), 1, usage=_openai(7_000, 0), billed_usd=7_000 * 5e-6 + 50 * 30e-6)]
    assert not any("own figures" in remark for remark in lint(fair).remarks)
