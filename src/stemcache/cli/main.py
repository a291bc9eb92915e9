"""`stemcache`: the group of commands, and the script that completes them in a shell."""

import sys
from typing import Literal

import click
from click.shell_completion import get_completion_class

from stemcache import __version__
from stemcache.cli.model import model
from stemcache.cli.serve import serve
from stemcache.errors import StemcacheError

__all__ = ["main", "stemcache"]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="stemcache")
def stemcache() -> None:
    """Compute a shared prompt prefix once, and say truthfully how often that happened.

    \b
    Examples:
      stemcache serve                       # the embedded model on 127.0.0.1:8000
      stemcache serve --model ./llama-3.2   # a model directory
    """


@stemcache.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: Literal["bash", "zsh", "fish"]) -> None:
    """Print the script that completes commands and options in SHELL.

    \b
    Examples:
      eval "$(stemcache completion bash)"                                  # in ~/.bashrc
      eval "$(stemcache completion zsh)"                                   # in ~/.zshrc
      stemcache completion fish > ~/.config/fish/completions/stemcache.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None, f"click completes in {shell}"
    click.echo(kind(stemcache, {}, "stemcache", "_STEMCACHE_COMPLETE").source())


stemcache.add_command(serve)
stemcache.add_command(model)


def main() -> None:
    """Run the command line; the exit code is 0, or 2 for what the user can put right."""
    try:
        stemcache(prog_name="stemcache")
    except StemcacheError as error:
        click.echo(f"stemcache: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
