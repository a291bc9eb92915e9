"""How a run goes on, on stderr: one line that changes on a terminal, a line now and then elsewhere.

Drawn twice a second and cheaply: the same process takes the times of the answers. A terminal that
is closed meanwhile takes the line with it, never the run nor its report.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import click
from rich.console import Console
from rich.live import Live
from rich.text import Text

from stemcache.replay.sender import Tally

__all__ = ["ending_signals", "line", "say", "watching"]

Watch = Callable[[float, Tally], None]

_EVERY_S = 10.0
"""Between two lines where there is no terminal."""


def line(elapsed_s: float, tally: Tally, total: int) -> str:
    """What is known so far."""
    done = tally.ok + tally.failed
    parts = [
        f"{elapsed_s:,.0f} s",
        f"{tally.sent:,} of {total:,} sent",
        f"{tally.in_flight:,} in flight",
        f"{tally.ok:,} answered",
    ]
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    if elapsed_s > 0 and done:
        parts.append(f"{done / elapsed_s:,.1f} req/s")
        parts.append(f"{tally.output_tokens / elapsed_s:,.0f} tok/s out")
    if tally.prompt_tokens:
        parts.append(f"hit rate {tally.cached_tokens / tally.prompt_tokens:.1%}")
    return " · ".join(parts)


@contextmanager
def watching(total: int, *, quiet: bool) -> Iterator[Watch]:
    """A function to call with what there is to see."""
    if quiet:
        yield lambda _elapsed_s, _tally: None
        return
    console = Console(stderr=True)
    if console.is_terminal:
        live = Live(console=console, auto_refresh=False, transient=True)

        def draw(elapsed_s: float, tally: Tally) -> None:
            text = Text(line(elapsed_s, tally, total), no_wrap=True, overflow="ellipsis")
            with suppress(OSError):
                live.update(text, refresh=True)

        with suppress(OSError):
            live.start()
        try:
            yield draw
        finally:
            with suppress(OSError):
                live.stop()
        return
    told_s = 0.0

    def tell(elapsed_s: float, tally: Tally) -> None:
        nonlocal told_s
        if elapsed_s - told_s >= _EVERY_S:
            told_s = elapsed_s
            say(line(elapsed_s, tally, total), quiet=False)

    yield tell


def say(text: str, *, quiet: bool) -> None:
    """Say what takes long, if anybody is there to hear it."""
    if not quiet:
        with suppress(OSError):
            click.echo(text, err=True)


def ending_signals() -> dict[signal.Signals, str]:
    """Which signals end a run with a report, and what it calls them.

    A closed terminal ends it like a request to end, unless `nohup` asked to live on.
    """
    signals = {signal.SIGINT: "^C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "SIGHUP"}
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        del signals[signal.SIGHUP]
    return signals
