"""How a run goes on, on stderr: one line that changes on a terminal, a line now and then elsewhere.

Drawn twice a second and cheaply: the same process takes the times of the answers.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.live import Live
from rich.text import Text

from stemcache.replay.sender import Tally

__all__ = ["line", "watching"]

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
        with Live(console=console, auto_refresh=False, transient=True) as live:
            yield lambda elapsed_s, tally: live.update(
                Text(line(elapsed_s, tally, total), no_wrap=True, overflow="ellipsis"),
                refresh=True,
            )
        return
    told_s = 0.0

    def tell(elapsed_s: float, tally: Tally) -> None:
        nonlocal told_s
        if elapsed_s - told_s >= _EVERY_S:
            told_s = elapsed_s
            click.echo(line(elapsed_s, tally, total), err=True)

    yield tell
