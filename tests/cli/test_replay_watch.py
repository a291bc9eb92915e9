import signal

import click
import pytest
from rich.live import Live

from stemcache.cli.replay_watch import ending_signals, line, say, watching
from stemcache.replay.sender import Tally


def test_a_line_says_how_it_goes() -> None:
    """Only what there is to say."""
    assert line(0.0, Tally(), 100) == "0 s · 0 of 100 sent · 0 in flight · 0 answered"
    tally = Tally(
        sent=50,
        ok=30,
        failed=10,
        in_flight=10,
        output_tokens=600,
        prompt_tokens=1000,
        cached_tokens=250,
    )
    assert line(20.0, tally, 1000) == (
        "20 s · 50 of 1,000 sent · 10 in flight · 30 answered · 10 failed · 2.0 req/s · "
        "30 tok/s out · hit rate 25.0%"
    )


def test_without_a_terminal_there_is_a_line_every_ten_seconds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On stderr: stdout is for the report."""
    with watching(5, quiet=False) as watch:
        for second in range(25):
            watch(float(second), Tally(sent=second))
    out, err = capsys.readouterr()
    assert out == ""
    assert [each.split(" · ")[0] for each in err.splitlines()] == ["10 s", "20 s"]


def test_a_quiet_run_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """At all."""
    with watching(5, quiet=True) as watch:
        watch(100.0, Tally())
    assert capsys.readouterr() == ("", "")


def test_a_closed_terminal_ends_a_run_like_a_request_to_end() -> None:
    """Unless nohup asked to live on."""
    before = signal.getsignal(signal.SIGHUP)
    try:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        assert ending_signals() == {
            signal.SIGINT: "^C",
            signal.SIGTERM: "SIGTERM",
            signal.SIGHUP: "SIGHUP",
        }
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        assert signal.SIGHUP not in ending_signals()
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("terminal", ["1", ""])
def test_a_closed_terminal_does_not_take_the_report_with_it(
    monkeypatch: pytest.MonkeyPatch, terminal: str
) -> None:
    """What is said to nobody is lost, and nothing else."""

    def gone(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setenv("TTY_COMPATIBLE", terminal)
    monkeypatch.setenv("FORCE_COLOR", terminal)
    for name in ("start", "update", "stop"):
        monkeypatch.setattr(Live, name, gone)
    monkeypatch.setattr(click, "echo", gone)
    with watching(5, quiet=False) as watch:
        watch(100.0, Tally())
    say("writing the report …", quiet=False)


def test_what_takes_long_is_said_unless_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    """On stderr."""
    say("writing", quiet=False)
    say("more", quiet=True)
    assert capsys.readouterr() == ("", "writing\n")
