"""A run and its settings into a report, with the notes that its figures need. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stemcache.replay import aggregate
from stemcache.replay.missing import missing
from stemcache.replay.outcome import UNFINISHED, Outcome
from stemcache.replay.report import (
    Counted,
    HitRate,
    LoadPart,
    Report,
    TargetPart,
    Throughput,
    TracePart,
)
from stemcache.replay.run import Run
from stemcache.replay.scrape import Counters
from stemcache.replay.selection import DEFAULT_OUTPUT_TOKENS
from stemcache.replay.slo import Slo, goodput
from stemcache.replay.target import Target

__all__ = ["Setting", "summarize"]

_LENGTHS_DIFFER = 0.02
_COUNTS_DIFFER = 0.01
_LATE_S = 0.01
_FEWEST_FOR_A_HUNDREDTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What was asked for, as far as the report repeats it."""

    stemcache: str
    started_at: str
    trace: TracePart
    target: Target
    load: LoadPart
    planned: int
    unknown_outputs: int
    characters: bool
    """Whether the trace's lengths are characters."""
    times_drawn: bool
    schedule_s: float | None
    """From the first to the last due moment of an open loop."""
    metrics: bool
    extra: Mapping[str, object] = field(default_factory=dict)
    """Fields that the user put into every body."""
    slo: Slo | None


def summarize(run: Run, setting: Setting) -> Report:
    """The whole report, with columns."""
    outcomes = run.outcomes
    answered = aggregate.whole(outcomes)
    counts = _counted(run, setting)
    rates = [aggregate.usage_hit_rate(answered)]
    counters = _added(run)
    if counters is not None:
        rates.append(_metrics_rate(counters))
    measured = [each for each in answered if each.usage.prompt_tokens is not None]
    outputs = [each.usage.output_tokens for each in answered]
    return Report(
        stemcache=setting.stemcache,
        started_at=setting.started_at,
        ended_by=run.ended_by,
        trace=setting.trace,
        target=TargetPart(
            url=setting.target.url,
            api=setting.target.api,
            model=run.model,
            server=run.before.server if run.before is not None else None,
        ),
        load=setting.load,
        counts=counts,
        window_s=run.window_s,
        ttft_s=aggregate.spread(each.ttft_s for each in answered),
        inter_token_s=aggregate.gap_spread(answered),
        tpot_s=aggregate.spread(each.tpot_s for each in answered),
        e2e_s=aggregate.spread(each.e2e_s for each in answered),
        send_lag_s=aggregate.spread(each.lag_s for each in outcomes),
        first_byte_s=aggregate.spread(
            None if each.first_byte_s is None else each.first_byte_s - each.due_s
            for each in answered
        ),
        missing=missing(outcomes),
        throughput=_throughput(run, answered, setting),
        goodput=None
        if setting.slo is None
        else goodput(outcomes, setting.slo, window_s=run.window_s),
        hit_rates=tuple(rates),
        asked_prompt_tokens=sum(each.asked_tokens for each in measured),
        measured_prompt_tokens=sum(each.usage.prompt_tokens or 0 for each in measured)
        if measured
        else None,
        output_tokens=sum(n for n in outputs if n is not None) if any(outputs) else None,
        tenants=aggregate.tenants(outcomes),
        cached_shares=aggregate.cached_shares(answered),
        errors=aggregate.error_kinds(outcomes),
        notes=tuple(_notes(run, setting, counts, rates, measured)),
        columns=aggregate.columns(outcomes),
    )


def _counted(run: Run, setting: Setting) -> Counted:
    outcomes = run.outcomes
    ok = sum(each.error is None for each in outcomes)
    unfinished = sum(each.error == UNFINISHED for each in outcomes)
    held = [each.lag_s for each in outcomes if each.held]
    return Counted(
        planned=setting.planned,
        ok=ok,
        failed=len(outcomes) - ok - unfinished,
        unfinished=unfinished,
        not_sent=setting.planned - len(outcomes),
        retried=sum(each.retried for each in outcomes),
        held_by_cap=len(held),
        held_by_cap_max_s=max(aggregate.known(held), default=None),
        connections=run.connections,
    )


def _throughput(run: Run, answered: Sequence[Outcome], setting: Setting) -> Throughput:
    window_s = run.window_s or float("inf")
    is_open = setting.schedule_s is not None
    prompt = [each.usage.prompt_tokens for each in answered]
    output = [each.usage.output_tokens for each in answered]
    return Throughput(
        requests_per_s=len(answered) / window_s,
        prompt_tokens_per_s=None if None in prompt else sum(n or 0 for n in prompt) / window_s,
        output_tokens_per_s=None if None in output else sum(n or 0 for n in output) / window_s,
        asked_requests_per_s=aggregate.asked_per_s(run.outcomes) if is_open else None,
        answered_while_due_per_s=aggregate.answered_per_s(run.outcomes) if is_open else None,
    )


def _added(run: Run) -> Counters | None:
    return None if run.before is None or run.after is None else run.after.since(run.before)


def _metrics_rate(counters: Counters) -> HitRate:
    prompt, cached = counters.prompt_tokens, counters.cached_tokens
    return HitRate(
        source="metrics",
        prompt_tokens=prompt,
        cached_tokens=cached,
        hit_rate=cached / prompt if prompt else None,
        answers=None,
        silent_answers=None,
        floor=None,
    )


def _notes(
    run: Run,
    setting: Setting,
    counts: Counted,
    rates: Sequence[HitRate],
    measured: Sequence[Outcome],
) -> list[str]:
    notes = []
    if run.ended_by is not None:
        notes.append(
            f"partial: {run.ended_by} ended the run with {counts.not_sent:,} requests not sent and "
            f"{counts.unfinished:,} not answered"
        )
    elif counts.not_sent:
        notes.append(f"{counts.not_sent:,} requests lay beyond --duration and were not sent")
    if setting.characters:
        notes.append(
            "the trace's lengths are characters; each was sent as a token, so prompts are longer "
            "than they were: read the trace with a tokenizer"
        )
    if setting.unknown_outputs:
        notes.append(
            f"{setting.unknown_outputs:,} requests have no answer length in the trace; "
            f"{DEFAULT_OUTPUT_TOKENS} tokens were asked for"
        )
    if setting.times_drawn:
        notes.append("the trace has no times; arrivals were drawn from a Poisson process")
    notes += _body_notes(setting.extra)
    if counts.held_by_cap:
        notes.append(
            f"the cap of {setting.load.max_in_flight} in flight held back {counts.held_by_cap:,} "
            f"requests, for up to {counts.held_by_cap_max_s or 0:.3f} s; it counts in their latency"
        )
    lag = aggregate.spread(each.lag_s for each in run.outcomes if not each.held)
    if lag is not None and lag.p99 > _LATE_S and lag.count < _FEWEST_FOR_A_HUNDREDTH:
        notes.append(
            f"requests left up to {lag.max * 1e3:.0f} ms after they were due: this machine, or "
            "opening connections, was slow; the latencies have it in them"
        )
    elif lag is not None and lag.p99 > _LATE_S:
        notes.append(
            f"1% of requests left more than {lag.p99 * 1e3:.0f} ms after they were due: this "
            "machine, or opening connections, was slow; the latencies have it in them"
        )
    asked = sum(each.asked_tokens for each in measured)
    got = sum(each.usage.prompt_tokens or 0 for each in measured)
    if measured and abs(got - asked) > _LENGTHS_DIFFER * asked:
        notes.append(
            f"prompts are {got / asked:.2f} times as long as asked, by the target's usage "
            f"({got:,} tokens, {asked:,} asked): "
            + (
                "text prompts are made of words, and a template comes on top"
                if setting.load.encoding == "text"
                else "the target counts other tokens than were sent"
            )
        )
    notes += _rate_notes(run, setting, rates)
    return notes


def _body_notes(extra: Mapping[str, object]) -> list[str]:
    """On fields of the user's that change what the figures mean."""
    notes = []
    if extra.get("n") not in (None, 1):
        notes.append(
            "--extra-body sets n: the tokens of several answers come in one stream, so times "
            "between tokens are not those of one of them"
        )
    if "stream_options" in extra:
        options = extra["stream_options"]
        if not isinstance(options, dict) or options.get("include_usage") is not True:
            notes.append(
                "--extra-body sets stream_options without include_usage: the target may tell no "
                "tokens, and then the hit rate and the time per token are unknown"
            )
    return notes


def _rate_notes(run: Run, setting: Setting, rates: Sequence[HitRate]) -> list[str]:
    notes = []
    usage = rates[0]
    answered = [each for each in run.outcomes if each.error is None]
    odd = sum(each.odd_usage for each in answered)
    if odd:
        notes.append(
            f"{odd:,} answers tell counts of tokens that cannot be; those are taken for unknown"
        )
    silent = sum(not each.held_text for each in answered)
    if silent:
        notes.append(f"{silent:,} answers held no text, so they have no time to first token")
    if not usage.answers and (usage.silent_answers or 0) > 0:
        notes.append(
            "no answer says how many prompt tokens were cached, so the hit rate is unknown; "
            "vLLM says it with --enable-prompt-tokens-details, SGLang with --enable-cache-report"
        )
    elif usage.silent_answers and usage.floor is not None:
        notes.append(
            f"{usage.silent_answers:,} answers do not say how many tokens were cached and are left "
            f"out; if that means none, the hit rate is {usage.floor:.1%}"
        )
    if not setting.metrics:
        return notes
    if run.before is None:
        why = run.no_counters or "has no counters of cached tokens that are known"
        notes.append(f"the hit rate from the target's own counters is unknown: /metrics {why}")
    elif run.after is None or _added(run) is None:
        notes.append("the target's counters went back or away during the run: it was restarted")
    elif len(rates) > 1:
        theirs = rates[1].prompt_tokens
        ours = usage.prompt_tokens
        if not usage.silent_answers and abs(theirs - ours) > _COUNTS_DIFFER * max(theirs, 1):
            notes.append(
                f"the target's counters grew by {theirs:,.0f} prompt tokens, the answers account "
                f"for {ours:,.0f}: others ask it too, or failed requests were counted there"
            )
    return notes
