"""`stemcache model`: the embedded model, fetched if need be, for other programs to read."""

import os
from pathlib import Path

import click

from stemcache.cli.talk import talking
from stemcache.server.embedded import cache_directory, obtain

__all__ = ["model"]


@click.command()
def model() -> None:
    """Print the directory of the embedded model, making it on first use.

    \b
    Examples:
      stemcache serve --model "$(stemcache model)" --index radix
      STEMCACHE_HOME=/var/cache/stemcache stemcache model
    """
    with talking() as tell:
        path = obtain(cache_directory(os.environ, Path.home()), tell=tell)
    click.echo(path)
