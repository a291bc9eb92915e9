import json
from dataclasses import replace
from pathlib import Path

import pytest

from stemcache.lint.finding import Reconciliation, Report, Severity, Total
from tests.cli.lint_runs import lint, pretend
from tests.lint.reports import AWKWARD, CLEAN, CLOCK, SECRET, SIMPLE, finding


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No settings file and no transcripts of whoever runs the tests."""
    (tmp_path / "stemcache.toml").touch()  # the nearest, so that none above it is read
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


def notes(*severities: Severity) -> Report:
    """A report with a finding of each."""
    found = tuple(finding(severity=each, fingerprint=f"{n}") for n, each in enumerate(severities))
    return replace(CLEAN, findings=found)


def test_cause_money_and_fix_are_on_the_first_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a log with a hit rate near zero."""
    pretend(monkeypatch, SIMPLE)
    screen = "\n".join(lint("calls.jsonl").out.splitlines()[:24])
    assert "Hit rate 0.0% reported, 99.8% attainable" in screen
    assert "STM101 clock-in-prefix  calls.jsonl:2 /system/0/text:31" in screen
    assert "$540.12 lost" in screen
    assert "help: Move the time behind what stays the same" in screen


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (CLEAN, 0),
        (notes(Severity.NOTE), 0),
        (notes(Severity.NOTE, Severity.WARNING), 1),
        (notes(Severity.ERROR), 1),
    ],
)
def test_errors_and_warnings_exit_with_1(
    report: Report, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Notes do not, and nothing does with --exit-zero."""
    pretend(monkeypatch, report)
    assert lint("calls.jsonl").code == code
    assert lint("calls.jsonl", "--exit-zero").code == 0


def test_a_threshold_that_is_missed_exits_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """And is told on stderr, in every format."""
    pretend(monkeypatch, CLEAN)
    run = lint("calls.jsonl", "--fail-on", "hit_rate<0.9", "--output-format", "json")
    assert run.code == 1
    assert json.loads(run.out)["findings"] == []
    assert run.err == "failed: hit_rate<0.9: hit_rate is 83.3%\n"
    assert lint("calls.jsonl", "--fail-on", "hit_rate<0.8").code == 0
    pretend(monkeypatch, replace(SIMPLE, findings=()))
    run = lint("calls.jsonl", "--fail-on-cost", "$500")
    assert (run.code, run.err) == (1, "failed: lost_cost_usd>500: lost_cost_usd is $540.12\n")
    assert lint("calls.jsonl", "--fail-on-cost", "540.12").code == 0


def test_a_selection_that_leaves_nothing_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several values come with commas or with several flags."""
    pretend(monkeypatch, replace(SIMPLE, findings=(CLOCK, finding(code="STM201"))))
    run = lint("a", "--select", "STM1", "--output-format", "concise")
    assert [line.split()[1] for line in run.out.splitlines()] == ["STM101"]
    run = lint("a", "--ignore", "STM1", "--ignore", "STM201,STM204")
    assert run.code == 0
    assert " ".join(run.out.split()).startswith(
        "Nothing found by the rules that are selected. Hit rate 0.0% reported, 99.8% attainable."
    )
    assert "$540.12, to other causes." in run.out


def test_totals_stay_those_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left out was lost all the same."""
    bare = replace(SIMPLE, total=replace(SIMPLE.total, lost_cost_usd=None))
    pretend(monkeypatch, bare)
    run = lint("a", "--ignore", "clock-in-prefix", "--output-format", "json")
    assert json.loads(run.out)["total"]["lost_cost_usd"] == 540.12


def test_what_is_in_a_baseline_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Written by one run, read by the next; only what came since is shown."""
    path = tmp_path / "lint.json"
    pretend(monkeypatch, SIMPLE)
    run = lint("a", "--write-baseline", path)
    assert (run.code, run.err) == (0, f"wrote 1 finding to the baseline {path}\n")
    assert "STM101" in run.out
    assert SECRET not in path.read_text()
    run = lint("a", "--baseline", path)
    assert run.code == 0
    assert "Nothing found beyond the 1 finding of the baseline." in run.out
    pretend(monkeypatch, replace(SIMPLE, findings=(CLOCK, *notes(Severity.ERROR).findings)))
    run = lint("a", "--baseline", path, "--output-format", "concise")
    assert run.code == 1
    assert [line.split()[1] for line in run.out.splitlines()] == ["STM405"]


def test_writing_a_baseline_takes_what_the_old_one_had(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """So that it can be written anew over itself, and made at first where settings name it."""
    (tmp_path / "stemcache.toml").write_text('baseline = "lint.json"')
    pretend(monkeypatch, SIMPLE)
    run = lint("a")
    assert run.code == 2
    assert "lint.json from" in run.err
    assert "make it with --write-baseline" in run.err
    for _ in range(2):
        assert lint("a", "--write-baseline", "lint.json").code == 0
        assert "STM101" in (tmp_path / "lint.json").read_text()
    assert lint("a").code == 0


@pytest.mark.parametrize("output_format", ["full", "concise", "json", "github", "sarif"])
def test_a_report_goes_to_a_file(
    output_format: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whole, with nothing on stdout; whatever names are in it."""
    pretend(monkeypatch, AWKWARD)
    path = tmp_path / "report"
    run = lint("a", "--output", path, "--output-format", output_format)
    assert (run.code, run.out) == (1, "")
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    assert "STM404" in text
    assert "\x1b" not in text


def test_a_log_is_never_written_over(tmp_path: Path) -> None:
    """By whatever name it is given."""
    log = tmp_path / "calls.jsonl"
    log.write_text("{}\n")
    link = tmp_path / "link"
    link.symlink_to(log)
    for flag in ("--output", "--write-baseline"):
        run = lint(log, flag, link)
        assert (run.code, run.err) == (
            2,
            f"stemcache: {flag} {link} is a log that is read; give another name\n",
        )
    assert log.read_text() == "{}\n"
    run = lint(log, "--output", "x", "--write-baseline", "x")
    assert "--output and --write-baseline are both x; give two names" in run.err
    run = lint(log, "--output", "none/x")
    assert "--output none/x cannot be written: No such file or directory" in run.err


def test_texts_are_shown_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """And never else."""
    pretend(monkeypatch, SIMPLE)
    assert SECRET not in lint("a").out
    assert SECRET in lint("a", "--show-text").out


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, False),
    ],
)
def test_colours_are_for_terminals(
    environment: dict[str, str], *, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And for no one who has said that they are not wanted; the other formats have none."""
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    pretend(monkeypatch, SIMPLE)
    assert ("\x1b[" in lint("a", env=environment).out) == coloured
    for other in ("concise", "json", "github", "sarif"):
        assert "\x1b" not in lint("a", "--output-format", other, env=environment).out


def test_the_report_is_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file has lines of a hundred characters."""
    pretend(monkeypatch, SIMPLE)
    narrow = lint("a", env={"COLUMNS": "50"}).out.splitlines()
    assert len(narrow[0]) <= 50
    assert len(lint("a", env={"COLUMNS": "120"}).out.splitlines()[0]) > 50


def test_quiet_shows_findings_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """No headline, no summary; nothing where nothing was found."""
    pretend(monkeypatch, SIMPLE)
    out = lint("a", "--quiet").out
    assert out.startswith("STM101 clock-in-prefix")
    assert "Hit rate" not in out
    pretend(monkeypatch, CLEAN)
    assert lint("a", "--quiet") == (0, "", "")


def test_the_gap_to_a_bill_is_a_remark(monkeypatch: pytest.MonkeyPatch) -> None:
    """In every format that has remarks."""
    pretend(monkeypatch, SIMPLE)
    run = lint("a", "--bill", "800.50", "--output-format", "json")
    assert json.loads(run.out)["remarks"] == [
        (
            "The bill says $800.50, $160.00 (20.0% of the bill) more than the log's $640.50 at "
            "list prices: traffic that is not in the log, or charges other than tokens."
        )
    ]


def test_a_report_without_calls_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """In words, not in zeros."""
    pretend(monkeypatch, Report(findings=(), total=Total(), reconciliation=Reconciliation()))
    run = lint("a")
    assert run.code == 0
    assert run.out.startswith("No calls to judge: the log holds none that could be read.")


def test_without_a_log_it_is_said_what_to_give(tmp_path: Path) -> None:
    """With the command for what is found on this machine."""
    run = lint()
    assert run.code == 2
    assert run.err.startswith("stemcache: no log is given; name files of requests (JSONL of ")
    assert "Found here" not in run.err
    (tmp_path / "home/.codex/sessions").mkdir(parents=True)
    assert lint().err.endswith(
        "Found here: stemcache lint ~/.codex/sessions reads Codex's transcripts\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-", "-"], "- is there twice, and standard input can be read once; leave one out"),
        (["a", "--select", "STM999"], "unknown rule 'STM999' from --select"),
        (["a", "--ignore", "clock"], "unknown rule 'clock' from --ignore"),
        (["a", "--fail-on", "hitrate<1"], "unknown figure 'hitrate' from --fail-on; did you mean"),
        (["a", "--fail-on-cost", "nan"], "'nan' is no sum of dollars; write a number such as"),
        (["a", "--bill", "-3"], "'-3' is no sum of dollars"),
        (["a", "--map", "request"], "'request' from --map is no FIELD=POINTER; write a field and"),
        (["a", "--map", "request=body"], "'request=body' from --map is no FIELD=POINTER"),
        (["a", "--map", "x=/a", "--map", "x=/b"], "--map gives 'x' twice; leave one out"),
        (["a", "--config", "x.toml", "--isolated"], "--config and --isolated are both given"),
        (["a", "--config", "x.toml"], "no file x.toml from --config; check the path"),
        (["a", "--baseline", "x.json"], "no file x.json from --baseline; make it with"),
        (["a", "--warning-share", "2"], "2.0 is not in the range 0<=x<=1"),
        (["a", "--output-format", "xml"], "'xml' is not one of 'full', 'concise', 'json', "),
    ],
)
def test_what_cannot_be_used_exits_with_2(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is read."""
    asked = pretend(monkeypatch, SIMPLE)
    run = lint(*arguments)
    assert (run.code, run.out, asked.options) == (2, "", [])
    assert message in " ".join(run.err.split())


def test_help_has_examples_and_exit_codes() -> None:
    """And all flags."""
    out = lint("--help").out
    assert "Examples:\n    stemcache lint calls.jsonl " in out
    assert "Exits with 1 for errors, warnings and thresholds missed" in " ".join(out.split())
    for flag in ("--select", "--fail-on", "--baseline", "--map", "--bill", "--show-text"):
        assert flag in out
