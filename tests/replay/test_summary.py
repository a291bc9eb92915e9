from dataclasses import replace
from typing import Any

import pytest

from stemcache.replay.outcome import UNFINISHED, Outcome
from stemcache.replay.report import Report
from stemcache.replay.run import Run
from stemcache.replay.scrape import Counters
from stemcache.replay.slo import Slo
from stemcache.replay.summary import summarize
from tests.replay.made import outcome, setting


def told(outcomes: list[Outcome], *, run: dict[str, Any] | None = None, **others: Any) -> Report:
    """The report of a run whose counters agree with its answers, unless `run` says else."""
    prompt = sum(each.usage.prompt_tokens or 0 for each in outcomes)
    values: dict[str, Any] = {
        "model": "m",
        "outcomes": tuple(outcomes),
        "window_s": 4.0,
        "ended_by": None,
        "reset_path": None,
        "before": Counters("stemcache", 100, 10),
        "after": Counters("stemcache", 100 + prompt, 10 + prompt / 2),
        "connections": 2,
    }
    others.setdefault("planned", len(outcomes))
    return summarize(Run(**(values | (run or {}))), setting(**others))


def test_every_planned_request_is_accounted_for() -> None:
    """Answered, failed, given up, or not sent."""
    counts = told(
        [
            outcome(0),
            outcome(1, error="http_500", retried=True),
            outcome(2, error=UNFINISHED),
            outcome(3, held=True, sent_s=0.7),
        ],
        planned=9,
    ).counts
    assert (counts.planned, counts.ok, counts.failed, counts.unfinished) == (9, 2, 1, 1)
    assert (counts.not_sent, counts.retried, counts.held_by_cap, counts.connections) == (5, 1, 1, 2)
    assert counts.held_by_cap_max_s == pytest.approx(0.7)


def test_latencies_are_of_whole_answers() -> None:
    """One that fails at once does not make a target fast; its sending still has a lag."""
    report = told([outcome(0, ttft=0.5), outcome(1, ttft=0.001, error="dropped")])
    assert report.ttft_s is not None
    assert (report.ttft_s.count, report.ttft_s.max) == (1, 0.5)
    assert report.send_lag_s is not None
    assert report.send_lag_s.count == 2


def test_gaps_of_all_answers_are_one_sample() -> None:
    """And there may be none."""
    report = told([outcome(0, gaps_s=(0.1, 0.2)), outcome(1, gaps_s=(0.3,))])
    assert report.inter_token_s is not None
    assert report.inter_token_s.count == 3
    assert report.inter_token_s.p50 == pytest.approx(0.2)
    assert told([outcome(0)]).inter_token_s is None


def test_throughput_is_over_the_whole_time() -> None:
    """Beside what the schedule asked for; a token count that is not known is not made up."""
    through = told([outcome(0), outcome(1, due=0.5)], planned=7).throughput
    assert (through.requests_per_s, through.asked_requests_per_s) == (0.5, 2.0)
    assert told([outcome(0), outcome(1)], schedule_s=None).throughput.asked_requests_per_s is None
    assert (through.prompt_tokens_per_s, through.output_tokens_per_s) == (5.0, 2.5)
    unknown = told([outcome(0), outcome(1, output=None)]).throughput
    assert unknown.output_tokens_per_s is None
    assert told([], run={"window_s": 0.0}).throughput.requests_per_s == 0


def test_both_hit_rates_stand_side_by_side() -> None:
    """By usage and by the target's own counters."""
    usage, metrics = told([outcome(0, cached=5), outcome(1, cached=5)]).hit_rates
    assert (usage.source, usage.hit_rate) == ("usage", 0.5)
    assert (metrics.source, metrics.hit_rate, metrics.prompt_tokens) == ("metrics", 0.5, 20)


def test_goodput_is_told_if_it_was_asked_for() -> None:
    """Only then."""
    assert told([outcome(0)]).goodput is None
    good = told([outcome(0)], slo=Slo({"ttft": 1.0})).goodput
    assert good is not None
    assert good.kept == 1


def note(report: Report, beginning: str) -> str:
    """The one note that begins so."""
    (found,) = [each for each in report.notes if each.startswith(beginning)]
    return found


def test_a_clean_run_has_no_notes() -> None:
    """Notes are for what changes how figures are read."""
    assert told([outcome(0, cached=5)]).notes == ()


def test_a_run_that_was_ended_says_so_first() -> None:
    """And how much is missing."""
    report = told([outcome(0), outcome(1, error=UNFINISHED)], planned=9, run={"ended_by": "^C"})
    assert report.ended_by == "^C"
    assert report.notes[0] == (
        "partial: ^C ended the run with 7 requests not sent and 1 not answered"
    )
    assert note(told([outcome(0)], planned=9), "8 requests lay beyond --duration")


def test_a_cap_that_bites_is_told() -> None:
    """With how long it held requests back."""
    held = [outcome(0), outcome(1, held=True, sent_s=1.5)]
    made = setting()
    report = told(held, load=replace(made.load, max_in_flight=3))
    assert note(report, "the cap") == (
        "the cap of 3 in flight held back 1 requests, for up to 1.500 s; it counts in their latency"
    )


def test_a_slow_sender_is_told() -> None:
    """Its share is in the latencies; what a cap held back is not its fault."""
    few = told([outcome(n, sent_s=0.05) for n in range(3)])
    assert note(few, "requests left up to 50 ms after they were due: this machine, or opening")
    report = told([outcome(n, sent_s=0.05) for n in range(100)])
    assert note(report, "1% of requests left more than 50 ms after they were due")
    assert told([outcome(0, held=True, sent_s=0.05)]).notes != report.notes


def test_prompts_of_another_length_than_asked_are_told() -> None:
    """Words and templates for text; a mystery for ids."""
    made = setting()
    long = [outcome(0, prompt=30)]
    text = told(long, load=replace(made.load, encoding="text"))
    assert note(text, "prompts are 3.00 times as long as asked").endswith(
        "(30 tokens, 10 asked): text prompts are made of words, and a template comes on top"
    )
    assert note(told(long), "prompts are 3.00").endswith("counts other tokens than were sent")
    assert (text.asked_prompt_tokens, text.measured_prompt_tokens) == (10, 30)


@pytest.mark.parametrize(
    ("others", "beginning"),
    [
        ({"characters": True}, "the trace's lengths are characters; each was sent as a token"),
        ({"unknown_outputs": 3}, "3 requests have no answer length in the trace; 64 tokens were"),
        ({"extra": {"n": 2}}, "--extra-body sets n: the tokens of several answers come in one"),
        (
            {"extra": {"stream_options": None}},
            "--extra-body sets stream_options without include_usage",
        ),
        ({"times_drawn": True}, "the trace has no times; arrivals were drawn from a Poisson"),
    ],
)
def test_what_the_trace_does_not_say_is_told(others: dict[str, Any], beginning: str) -> None:
    """And what was done about it."""
    assert note(told([outcome(0)], **others), beginning)


def test_a_silent_target_is_told_how_to_speak() -> None:
    """All silent, or some of them."""
    silent = told([outcome(0, cached=None)])
    assert "--enable-prompt-tokens-details" in note(silent, "no answer says how many prompt tokens")
    mixed = told([outcome(0, cached=5), outcome(1, cached=None)])
    assert note(mixed, "1 answers do not say how many tokens were cached") == (
        "1 answers do not say how many tokens were cached and are left out; "
        "if that means none, the hit rate is 25.0%"
    )


def test_counters_that_disagree_are_told() -> None:
    """Others may ask the target too."""
    many = told([outcome(0)], run={"after": Counters("stemcache", 500, 20)})
    assert note(many, "the target's counters grew by 400 prompt tokens, the answers account for 10")
    again = told([outcome(0)], run={"after": Counters("stemcache", 5, 0)})
    assert note(again, "the target's counters went back or away during the run")
    assert len(again.hit_rates) == 1
    none = told([outcome(0)], run={"before": None, "after": None})
    assert note(none, "the hit rate from the target's own counters is unknown: /metrics has")
    assert told([outcome(0)], run={"before": None, "after": None}, metrics=False).notes == ()


def test_why_there_are_no_counters_is_told() -> None:
    """A page that was silent is not one without them."""
    why = {"before": None, "after": None, "no_counters": "did not answer within 5 s"}
    beginning = "the hit rate from the target's own counters is unknown: "
    assert note(told([outcome(0)], run=why), f"{beginning}/metrics did not answer within 5 s")


def test_odd_counts_and_answers_without_text_are_told() -> None:
    """Their figures are unknown; the answers are counted."""
    report = told([outcome(0, odd_usage=True), outcome(1, ttft=None), outcome(2)])
    assert note(report, "1 answers tell counts of tokens that cannot be")
    assert note(report, "1 answers held no text, so they have no time to first token")
    assert report.counts.ok == 3


def test_fields_of_the_users_that_change_nothing_are_not_told() -> None:
    """One answer is what there is anyway, and so is usage."""
    extra = {"n": 1, "stream_options": {"include_usage": True}, "ignore_eos": True}
    assert told([outcome(0, cached=5)], extra=extra).notes == ()
