"""The flags and the manners of every command that reads a trace.

```python
@click.command()
@click.argument("trace", type=click.Path())
@trace_options
def command(*, trace: str, reading: Reading) -> None:
    with reading.open(trace) as opened:
        for request in opened:  # progress on stderr, on a terminal
            ...
```

The flags arrive as one value. On leaving the `with`, skipped lines and sessions that several
lines share are told on stderr.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import click
from rich.console import Console

from stemcache.cli.printable import printable
from stemcache.trace.bodies.prompt import PromptReader
from stemcache.trace.open import FORMAT_NAMES, TraceReader, open_trace
from stemcache.trace.record import TraceRequest

__all__ = ["OpenedTrace", "Reading", "trace_options"]

R = TypeVar("R")

_TOLD_EVERY = 256
"""Requests between two looks at how far the file was read."""


class OpenedTrace:
    """A trace that shows how far it was read. Iterate it once."""

    def __init__(self, reader: TraceReader, console: Console) -> None:
        self.reader = reader
        """For format, unit, counts and problems."""
        self._console = console

    def __iter__(self) -> Iterator[TraceRequest]:
        if self._console.is_terminal:
            return self._shown()
        return iter(self.reader)

    def _shown(self) -> Iterator[TraceRequest]:
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn  # noqa: PLC0415

        columns = (TextColumn("reading"), BarColumn(), DownloadColumn(binary_units=True))
        with Progress(*columns, console=self._console, transient=True) as progress:
            task = progress.add_task("", total=self.reader.bytes_total)
            for request in self.reader:
                if self.reader.requests % _TOLD_EVERY == 0:
                    progress.update(task, completed=self.reader.bytes_read)
                yield request


@dataclass(frozen=True, slots=True)
class Reading:
    """What the flags say about a trace."""

    format: str = "auto"
    skip_bad_lines: bool = False
    block_tokens: int | None = None
    tokenizer: Path | None = None
    chain_ids: bool = False

    @contextmanager
    def open(self, path: str) -> Iterator[OpenedTrace]:
        """Open a trace; `-` is standard input. Raises UsageError, also while it is read."""
        with open_trace(
            path,
            format=self.format,
            on_bad="skip" if self.skip_bad_lines else "stop",
            block_tokens=self.block_tokens,
            tokenizer=self._prompts(),
            chain_ids=self.chain_ids,
        ) as reader:
            yield OpenedTrace(reader, Console(stderr=True))
            _tell_joined(reader)
            _tell_skipped(reader)

    def _prompts(self) -> PromptReader | None:
        if self.tokenizer is None:
            return None
        from stemcache.trace.bodies.model import load_model_prompts  # noqa: PLC0415

        return load_model_prompts(self.tokenizer)


def _tell_joined(reader: TraceReader) -> None:
    count = reader.joined_lines
    if count:
        have = "line has" if count == 1 else "lines have"
        click.echo(
            f"{count:,} {have} the id of a session of an earlier line, and went on with it: "
            "their ids are of one scope, their times on one clock",
            err=True,
        )


def _tell_skipped(reader: TraceReader) -> None:
    if not reader.skipped:
        return
    lines = "line" if reader.skipped == 1 else "lines"
    click.echo(f"skipped {reader.skipped:,} bad {lines} of {printable(reader.name)}:", err=True)
    for problem in reader.problems:
        click.echo(f"  {printable(str(problem), most_characters=400)}", err=True)
    more = reader.skipped - len(reader.problems)
    if more:
        click.echo(f"  and {more:,} more", err=True)


def trace_options(command: Callable[..., R]) -> Callable[..., R]:
    """Add the flags to a command, which gets them as one argument, `reading`."""

    @click.option(
        "--format",
        "trace_format",
        default="auto",
        show_default=True,
        type=click.Choice(FORMAT_NAMES),
        help="What the trace holds; auto looks at its first line.",
    )
    @click.option(
        "--block-size",
        "trace_block_tokens",
        type=click.IntRange(1, 2**24),
        help="Tokens in a block, where the trace does not say.  "
        "[default: 512 for mooncake, 64 for sessions, 16 for bailian and bodies]",
    )
    @click.option(
        "--tokenizer",
        "trace_tokenizer",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Model directory whose tokenizer and chat template read prompts of bodies.  "
        "[default: characters]",
    )
    @click.option(
        "--chain-ids",
        "trace_chain_ids",
        is_flag=True,
        help="The trace's ids are of each block's own content, not of prefixes.",
    )
    @click.option(
        "--skip-bad-lines",
        "trace_skip_bad_lines",
        is_flag=True,
        help="Count lines that cannot be read and go on, instead of stopping at the first.",
    )
    @functools.wraps(command)
    def with_reading(
        *args: object,
        trace_format: str,
        trace_block_tokens: int | None,
        trace_tokenizer: Path | None,
        trace_chain_ids: bool,
        trace_skip_bad_lines: bool,
        **kwargs: object,
    ) -> R:
        reading = Reading(
            format=trace_format,
            skip_bad_lines=trace_skip_bad_lines,
            block_tokens=trace_block_tokens,
            tokenizer=trace_tokenizer,
            chain_ids=trace_chain_ids,
        )
        return command(*args, reading=reading, **kwargs)

    return with_reading
