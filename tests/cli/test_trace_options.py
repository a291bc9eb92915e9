import io
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from rich.console import Console

from stemcache.cli.trace_options import OpenedTrace, Reading, trace_options
from stemcache.errors import ModelError, UsageError
from stemcache.trace.open import open_trace
from tests.trace.traces import DATA, write_lines


@click.command()
@click.argument("trace", type=click.Path())
@trace_options
@click.option("--other", default=1)
def command(*, trace: str, reading: Reading, other: int) -> None:
    """Counts."""
    with reading.open(trace) as opened:
        click.echo(f"{sum(1 for _ in opened)} {opened.reader.format} {other} {reading}")


def test_the_flags_arrive_as_one_value() -> None:
    """Beside the command's own."""
    path = str(DATA / "mooncake.jsonl")
    flags = ["--format", "mooncake", "--block-size", "512", "--chain-ids", "--skip-bad-lines"]
    done = CliRunner().invoke(command, [path, *flags, "--other", "7"])
    assert done.stdout == (
        "5 mooncake 7 Reading(format='mooncake', skip_bad_lines=True, block_tokens=512, "
        "tokenizer=None, chain_ids=True)\n"
    )
    done = CliRunner().invoke(command, [path])
    assert done.stdout == f"5 mooncake 1 {Reading()}\n"


def test_an_unknown_format_is_told() -> None:
    """With those that there are."""
    done = CliRunner().invoke(command, ["x", "--format", "csv"])
    assert done.exit_code == 2
    assert "'csv' is not one of 'auto', 'mooncake', 'bailian', 'sessions', 'bodies'" in done.stderr


def test_skipped_lines_are_told_when_all_is_read(tmp_path: Path) -> None:
    """The first five, and how many more."""
    good = (DATA / "mooncake.jsonl").read_text().splitlines()[0]
    path = write_lines(tmp_path / "t", [good, *["{"] * 1007])
    done = CliRunner().invoke(command, [str(path), "--skip-bad-lines"])
    assert done.exit_code == 0
    assert done.stderr.splitlines() == [
        f"skipped 1,007 bad lines of {path}:",
        *(f"  line {number}: the JSON ends early" for number in range(2, 7)),
        "  and 1,002 more",
    ]


def test_a_bad_line_stops_without_the_flag(tmp_path: Path) -> None:
    """With the message of the reader."""
    path = write_lines(tmp_path / "t", [*(DATA / "mooncake.jsonl").read_text().splitlines(), "{"])
    done = CliRunner().invoke(command, [str(path)])
    assert isinstance(done.exception, UsageError)
    assert (done.stdout, done.stderr) == ("", "")


def test_progress_is_shown_on_a_terminal_only() -> None:
    """And the requests are the same."""
    for terminal in (True, False):
        out = io.StringIO()
        console = Console(file=out, force_terminal=terminal, width=80)
        with open_trace(DATA / "mooncake.jsonl") as reader:
            assert len(list(OpenedTrace(reader, console))) == 5
        assert ("reading" in out.getvalue()) == terminal


def test_a_tokenizer_that_is_none_is_told(tmp_path: Path) -> None:
    """Before the trace is opened."""
    with (
        pytest.raises(ModelError, match=r"no tokenizer.json in .*; give a directory that has one"),
        Reading(tokenizer=tmp_path).open(str(tmp_path / "none")),
    ):
        pass


def test_help_says_where_characters_come_from() -> None:
    """The default of the tokenizer is none."""
    assert "[default: characters]" in " ".join(
        CliRunner().invoke(command, ["--help"]).output.split()
    )


def test_lines_of_one_session_are_told(tmp_path: Path) -> None:
    """They count as one, which whoever wrote them need not have meant."""
    lines = (DATA / "sessions.jsonl").read_text().splitlines()
    for again, said in (
        (1, "1 line has the id of a session of an earlier line, and went on with it: "),
        (3, "3 lines have the id of a session of an earlier line, and went on with it: "),
    ):
        path = write_lines(tmp_path / "t", [*lines, *[lines[0]] * again])
        done = CliRunner().invoke(command, [str(path)])
        assert done.stderr == f"{said}their ids are of one scope, their times on one clock\n"


def test_names_of_skipped_lines_files_are_safe_to_print(tmp_path: Path) -> None:
    """Whatever the file is called."""
    good = (DATA / "mooncake.jsonl").read_text().splitlines()[0]
    path = write_lines(tmp_path / "t\x1b[2J\u202e\nu", [good, "{"])
    done = CliRunner().invoke(command, [str(path), "--skip-bad-lines"])
    assert done.stderr.splitlines()[0].endswith("/t\\x1b[2J\\u202e\\nu:")
