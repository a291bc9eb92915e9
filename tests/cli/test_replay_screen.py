import io
from dataclasses import replace

import pytest
from rich.console import Console

from stemcache.cli.replay_screen import show_comparison, show_report
from stemcache.replay.compare import compare
from stemcache.replay.outcome import Outcome
from stemcache.replay.report import Report
from tests.replay.made import outcome
from tests.replay.test_compare import report, served


def screen(shown: Report, width: int = 200) -> str:
    """What is printed."""
    console = Console(file=io.StringIO(), width=width)
    show_report(console, shown)
    out = console.file
    assert isinstance(out, io.StringIO)
    return out.getvalue()


def rows(text: str) -> list[list[str]]:
    """Words of each line."""
    return [line.split() for line in text.splitlines()]


def test_latencies_are_in_milliseconds() -> None:
    """With as many digits as can be told apart."""
    shown = rows(screen(report([outcome(n, ttft=0.01234, e2e=2.5) for n in range(3)])))
    assert ["TTFT", *["12.3"] * 6, "3"] in shown
    assert ["end", "to", "end", *["2,500"] * 6, "3"] in shown
    assert ["send", "lag", *["0.0"] * 6, "3"] in shown


@pytest.mark.parametrize("width", [20, 30, 40, 60, 80])
def test_a_narrow_screen_leaves_out_columns_and_cuts_no_digit(width: int) -> None:
    """Median and p99 stay; of a comparison the difference does."""
    outcomes = [outcome(n, ttft=0.01234, e2e=2.5, cached=n, tenant="t") for n in range(3)]
    text = screen(report(outcomes), width)
    numbers = [row[1:] for row in rows(text) if row[:1] == ["TTFT"]]
    assert numbers[0][:2] == ["12.3", "12.3"]
    ends = [row[3:5] for row in rows(text) if row[:3] == ["end", "to", "end"]]
    assert ends == [["2,500", "2,500"]]
    assert "hit rate" in text
    console = Console(file=io.StringIO(), width=width)
    show_comparison(console, compare(report(served()), report(served(0.01)), seed=0), ("a", "b"))
    assert isinstance(console.file, io.StringIO)
    means = [row for row in rows(console.file.getvalue()) if row[:2] == ["TTFT", "mean"]]
    assert means
    assert {"+10.0", "higher"} <= set(means[0])


def test_what_was_done_is_said_first() -> None:
    """Target, trace, pace, isolation, and what became of the requests."""
    made = report([outcome(0), outcome(1, error="http_500", detail="[red]x[/red]")])
    made = replace(
        made,
        trace=replace(made.trace, tokens_per_block=32, left_out_too_long=7),
        load=replace(made.load, mode="closed loop", concurrency=8, think=2.0),
        counts=replace(made.counts, planned=2, not_sent=0, retried=1),
    )
    text = screen(made)
    assert "http://h:1/v1/completions (openai-completions), model m" in text
    assert "t.jsonl, 4 requests read, blocks of 32, 512 in the trace" in text
    assert "left out   7 too long" in text
    assert "closed loop, 8 at once, think time 2.0 s" in text
    assert "1 answered, 1 failed, 1 sent again, in 10.0 s" in text
    assert "[red]x[/red]" in text  # a target's words are no markup
    rated = replace(made, load=replace(made.load, concurrency=None, rate=20.0))
    assert "rescaled to 20 requests a second" in screen(rated)


def test_the_unknown_is_called_so() -> None:
    """A missing figure is not zero."""
    text = screen(report([outcome(0, cached=None, output=None, prompt=None)]))
    assert "hit rate, usage  unknown" in text
    assert "unknown output tokens a second" in text


def test_the_rate_asked_stands_beside_the_one_answered_meanwhile() -> None:
    """A run of which little is answered in time says that it cannot be told."""
    text = screen(report([outcome(n, due=n / 20, e2e=1.0) for n in range(41)]))
    assert "while due        20.0 requests a second asked, 20.0 answered" in text
    text = screen(report([outcome(n, due=n / 20, e2e=9.0) for n in range(41)]))
    assert "20.0 requests a second asked, too few answers to tell their rate" in text


def test_tenants_and_shares_have_tables() -> None:
    """At most twenty tenants; the report has them all."""
    outcomes = [outcome(n, tenant=f"t{n:02}", cached=n % 11) for n in range(25)]
    text = screen(report(outcomes))
    assert ["t00", "1", "0", "0.0%", "100.0", "100.0", "500.0", "500.0"] in rows(text)
    assert "and 5 more" in text
    assert ["nothing", "3", "100.0", "100.0", "100.0"] in rows(text)
    assert ["90%", "to", "100%", "2", "100.0", "100.0", "100.0"] in rows(text)


def compared(a: list[Outcome], b: list[Outcome]) -> str:
    """The screen of a comparison."""
    console = Console(file=io.StringIO(), width=160)
    show_comparison(console, compare(report(a), report(b), seed=0), ("a.json", "b.json"))
    out = console.file
    assert isinstance(out, io.StringIO)
    return out.getvalue()


def test_a_comparison_says_plainly_what_can_be_told() -> None:
    """In a sentence below the table."""
    same = compared(served(), served())
    assert "B cannot be told from A: every difference is within noise." in same
    assert same.count("within noise") == 11
    other = compared(served(), served(0.01))
    assert "B differs from A: TTFT mean is higher, TTFT p50 is higher" in other
    assert ["hit", "rate", "20.00%", "20.00%", "+0.00", "+0.00", "to", "+0.00", "60"] == (
        next(row for row in rows(other) if row[:2] == ["hit", "rate"])[:9]
    )
    assert "95%, bootstrap over pairs of one request, seed 0" in other


def test_what_the_latencies_leave_out_stands_below_them() -> None:
    """The slowest are not in the rows; a comparison says it where the runs differ in it."""
    lost = [outcome(n, ttft=None, e2e=2.0, error="timeout") for n in range(50, 60)]
    shown = screen(report(served()[:50] + lost))
    assert (
        "10 of 60 were given up after 2 s and are not in these rows: the true p90 and later are "
        "at least that"
    ) in shown
    assert "these rows" not in screen(report(served()))
    verdict = compared(served(), served()[:50] + lost)
    assert "0.00% of A's requests failed and 16.67% of B's: those have no latency" in verdict
    assert "of A's requests" not in compared(served(), served())


NAME = "\x1b[2J\0\u202e\nx"
SHOWN = r"\x1b[2J\x00\u202e\nx"


def test_names_that_others_chose_are_safe_to_print() -> None:
    """Of tenants, files, models and kinds of errors, and a target's words."""
    outcomes = [outcome(0, tenant=NAME), outcome(1, error=f"kind{NAME}", detail=f"words{NAME}")]
    made = report(outcomes)
    made = replace(
        made,
        trace=replace(made.trace, path=f"path{NAME}"),
        target=replace(made.target, model=f"model{NAME}", url=f"url{NAME}"),
        notes=(f"note{NAME}",),
    )
    text = screen(made, width=400)
    assert not set(NAME) & set(text) - {"\n", "[", "2", "J", "x"}
    for part in ("path", "model", "url", "kind", "words", "note: note", ""):
        assert f"{part}{SHOWN}" in text
    names = (f"a{NAME}", f"b{NAME}")
    console = Console(file=io.StringIO(), width=400)
    show_comparison(console, compare(made, made, seed=0), names)
    assert isinstance(console.file, io.StringIO)
    assert f"a{SHOWN}" in console.file.getvalue()
    assert f"b{SHOWN}" in console.file.getvalue()


def test_a_tenants_name_takes_no_more_than_a_line() -> None:
    """However long it is."""
    text = screen(report([outcome(0, tenant="long" * 10_000)]))
    assert "longlong" in text
    assert "…" in text
    assert len(text) < 10_000


def test_an_address_can_be_copied_from_a_narrow_screen() -> None:
    """It goes on in the next line."""
    text = screen(report([outcome(0)]), width=30)
    assert "…" not in text
    assert "http://h:1/v1/completions" in text.replace("\n", "").replace(" ", "")
