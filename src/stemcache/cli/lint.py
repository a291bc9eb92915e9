"""`stemcache lint`: what breaks the prefix of prompts in a log, what it costs, what mends it."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from stemcache.cli.lint_options import Wishes, lint_options
from stemcache.cli.lint_progress import reading
from stemcache.cli.printable import printable
from stemcache.errors import UsageError
from stemcache.lint.baseline import baseline_text, read_baseline, without
from stemcache.lint.bill import with_bill
from stemcache.lint.fail_on import failures
from stemcache.lint.figures import count_of
from stemcache.lint.finding import Report, Severity
from stemcache.lint.losses import with_lost_cost
from stemcache.lint.options import Options
from stemcache.lint.select import selected
from stemcache.lint.show import show
from stemcache.replay.save import check_writable, write_bytes

if TYPE_CHECKING:
    from stemcache.lint.log import Row

__all__ = ["lint"]

_FILE_WIDTH = 100
_MOST_NAMES = 3
_LONGEST_NAME = 400
_SUGGESTIONS = (
    (".claude/projects", "Claude Code's transcripts"),
    (".codex/sessions", "Codex's transcripts"),
)


@click.command()
@click.argument("logs", metavar="LOG...", nargs=-1, type=click.Path())
@lint_options
def lint(*, logs: tuple[str, ...], wishes: Wishes) -> None:
    """Find what breaks the prefix of the prompts in LOG, what it costs and what to change.

    \b
    Examples:
      stemcache lint calls.jsonl                        # any log of requests; - is standard input
      stemcache lint ~/.claude/projects                 # Claude Code's transcripts
      stemcache lint calls.jsonl --map request=/payload/body
      stemcache lint calls.jsonl --select STM1,tool-order --output-format concise
      stemcache lint calls.jsonl --baseline lint.json --fail-on 'hit_rate<0.8'

    A request is compared with the earlier one that shares most with it, in the order in which its
    provider reads a prompt. One finding is one cause, with the tokens and the money that it alone
    lost. No text of a prompt is shown without --show-text.

    Exits with 1 for errors, warnings and thresholds missed, with 2 for what cannot be used.
    """
    if not logs:
        raise UsageError(_nothing_given())
    if logs.count("-") > 1:
        raise UsageError("- is there twice, and standard input can be read once; leave one out")
    _check_outputs(logs, wishes)
    known = frozenset[str]()
    if wishes.baseline is not None and wishes.write_baseline is None:
        known = read_baseline(wishes.baseline, source=wishes.baseline_source)
    options = replace(wishes.options, today=datetime.now(UTC).date())
    analysed = _analysed(logs, wishes, options)
    report = _finished(analysed, options)
    if wishes.write_baseline is not None:
        text = baseline_text(report.findings)
        write_bytes(wishes.write_baseline, text.encode(), "--write-baseline")
    report = without(report, known)
    _write(report, wishes)
    missed = failures(report, wishes.thresholds)
    for sentence in missed:
        click.echo(f"failed: {printable(sentence, most_characters=400)}", err=True)
    accepted = wishes.write_baseline is not None
    if accepted and not wishes.quiet:
        written = count_of(len(report.findings), "finding")
        told = f"wrote {written} to the baseline {wishes.write_baseline}"
        click.echo(printable(told, most_characters=1024), err=True)
    grave = any(each.severity is not Severity.NOTE for each in report.findings) and not accepted
    if (missed or grave) and not wishes.exit_zero:
        sys.exit(1)


def _analysed(logs: tuple[str, ...], wishes: Wishes, options: Options) -> Report:
    from stemcache.cli.lint_book import alias_remarks, book_of  # noqa: PLC0415
    from stemcache.cli.lint_log import LintLog  # noqa: PLC0415  --help waits for no numpy
    from stemcache.lint.analyse import analyse  # noqa: PLC0415
    from stemcache.trace.calls.open import open_calls  # noqa: PLC0415

    book = book_of(
        options.overrides,
        settings=wishes.settings_source,
        provider=options.provider,
        provider_source=wishes.provider_source,
    )
    with (
        reading(wanted=wishes.progress) as on_progress,
        open_calls(
            logs,
            format=wishes.format,
            mapping=wishes.mapping or None,
            mapping_source=wishes.mapping_source,
            on_progress=on_progress,
        ) as calls,
    ):
        log = LintLog(calls)
        with _rows(wishes.calls) as on_row:
            report = analyse(log, options=options, book=book, on_row=on_row)
        unusable = sum(report.total.skipped.values()) - log.skipped.total()
        if report.total.calls <= unusable and not log.is_empty:
            raise UsageError(_nothing_read(logs, wishes, log.passed_over(report.total)))
        told = *alias_remarks(book, options.aliases), *log.remarks()
        return replace(report, remarks=(*report.remarks, *told))


def _nothing_read(logs: tuple[str, ...], wishes: Wishes, reasons: Sequence[str]) -> str:
    there = "say where requests are with --map request=/pointer"
    if wishes.mapping:
        advice = f"look at a line, and mend {wishes.mapping_source}: request=/pointer"
    elif wishes.format is not None:
        advice = f"leave {wishes.format_source} out, so that the content tells, or {there}"
    else:
        advice = f"name the format with --format, or {there}"
    names = [printable(name, most_characters=_LONGEST_NAME) for name in logs[:_MOST_NAMES]]
    more = f" and {len(logs) - _MOST_NAMES:,} more" if len(logs) > _MOST_NAMES else ""
    return f"no call could be read from {', '.join(names)}{more}: {'; '.join(reasons)}; {advice}"


@contextmanager
def _rows(path: Path | None) -> Iterator["Callable[[Row], None] | None"]:
    """A way to write every call to a file; None where nobody asked for it."""
    if path is None:
        yield None
        return
    from stemcache.lint.rows import row_line  # noqa: PLC0415  --help waits for no numpy

    try:
        with path.open("w", encoding="utf-8") as file:
            yield lambda row: print(row_line(row), file=file)
    except OSError as error:
        raise UsageError(
            f"cannot write {path} from --calls: {error.strerror or error}; give another place"
        ) from error


def _finished(report: Report, options: Options) -> Report:
    """What is lost in all is of the whole log, so it is added up before findings are left out."""
    return with_bill(selected(with_lost_cost(report), options), options.bill_usd)


def _write(report: Report, wishes: Wishes) -> None:
    if wishes.output is not None:
        lines = _lines(report, wishes, width=_FILE_WIDTH, color=False)
        text = "".join(f"{line}\n" for line in lines)
        write_bytes(wishes.output, text.encode("utf-8", "backslashreplace"), "--output")
        return
    console = Console()
    color = console.is_terminal and not console.no_color and not console.is_dumb_terminal
    for line in _lines(report, wishes, width=console.width, color=color):
        click.echo(line, color=color)


def _lines(report: Report, wishes: Wishes, *, width: int, color: bool) -> Iterator[str]:
    yield from show(
        report,
        wishes.output_format,
        show_text=wishes.show_text,
        width=width,
        color=color,
        quiet=wishes.quiet,
    )


def _check_outputs(logs: tuple[str, ...], wishes: Wishes) -> None:
    """Before anything long is begun, and so that no log is written over."""
    flags = (
        ("--output", wishes.output),
        ("--write-baseline", wishes.write_baseline),
        ("--calls", wishes.calls),
    )
    for flag, path in flags:
        if path is None:
            continue
        if path.exists() and any(_same(path, log) for log in logs):
            raise UsageError(f"{flag} {path} is a log that is read; give another name")
        check_writable(path, flag)
    taken: dict[Path, str] = {}
    for flag, path in flags:
        if path is not None and path in taken:
            raise UsageError(f"{taken[path]} and {flag} are both {path}; give two names")
        if path is not None:
            taken[path] = flag


def _same(path: Path, log: str) -> bool:
    try:
        return log != "-" and path.samefile(log)
    except (OSError, ValueError):
        return False


def _nothing_given() -> str:
    there = [
        f"stemcache lint ~/{folder} reads {whose}"
        for folder, whose in _SUGGESTIONS
        if (Path.home() / folder).is_dir()
    ]
    hint = f". Found here: {'; '.join(there)}" if there else ""
    return (
        "no log is given; name files of requests (JSONL of OpenAI or Anthropic bodies, HAR, "
        "exports of gateways, transcripts of Claude Code or Codex), or - for standard input; "
        f"`stemcache record` makes one{hint}"
    )
