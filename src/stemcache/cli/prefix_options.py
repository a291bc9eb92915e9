"""Options that the commands of `stemcache prefix` share."""

from pathlib import Path
from typing import Literal

import click
from click.shell_completion import CompletionItem

from stemcache.errors import StemcacheError

__all__ = ["OutputFormat", "config", "live", "names", "output_format"]

OutputFormat = Literal["text", "json"]


def _complete_names(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Prefixes that the settings name, without building any."""
    from stemcache.lint.settings import find_settings, read_settings  # noqa: PLC0415

    named = ctx.params.get("config")
    try:
        settings = find_settings(Path.cwd()) if named is None else read_settings(Path(named))
    except StemcacheError:
        return []
    return [CompletionItem(name) for name in settings.prefixes if name.startswith(incomplete)]


names = click.argument("names", metavar="[NAME...]", nargs=-1, shell_complete=_complete_names)
config = click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Settings to read.  [default: the nearest stemcache.toml, or pyproject.toml with "
    "[tool.stemcache]]",
)
output_format = click.option(
    "--output-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people or for programs.",
)
live = click.option(
    "--live",
    type=click.IntRange(0, 10**9),
    metavar="N",
    help="How many caches hold each prefix.  [default: as the settings say, or 1]",
)
