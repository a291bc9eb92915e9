"""Saying what takes long, on stderr."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.text import Text

from stemcache.server.embedded import Tell

__all__ = ["talking"]


@contextmanager
def talking() -> Iterator[Tell]:
    """A spinner on a terminal, lines elsewhere."""
    talk = Console(stderr=True)
    if not talk.is_terminal:
        yield functools.partial(click.echo, err=True)
        return
    with talk.status("looking for the model") as status:
        # Text, for a file's name may hold brackets, which would be read as markup.
        yield lambda line: status.update(Text(line))
