"""`stemcache`: the group of commands, and the script that completes them in a shell."""

import sys
from importlib import import_module
from typing import Literal

import click
from click.shell_completion import get_completion_class

from stemcache import __version__
from stemcache.errors import StemcacheError

__all__ = ["main", "stemcache"]

_COMMANDS = {
    "compare": "stemcache.cli.compare",
    "model": "stemcache.cli.model",
    "replay": "stemcache.cli.replay",
    "serve": "stemcache.cli.serve",
    "simulate": "stemcache.cli.simulate",
    "trace": "stemcache.cli.trace",
}
"""Where each command is; its function has the command's name. Read when it is asked for, so that
one command does not wait for what another needs."""


class _Commands(click.Group):
    """Imports a command when it is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All of them, by name."""
        return sorted({*super().list_commands(ctx), *_COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, or None if there is none of that name."""
        module = _COMMANDS.get(cmd_name)
        if module is None:
            return super().get_command(ctx, cmd_name)
        command = getattr(import_module(module), cmd_name)
        assert isinstance(command, click.Command), f"{module} has no command {cmd_name}"
        return command


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="stemcache")
def stemcache() -> None:
    """Compute a shared prompt prefix once, and say truthfully how often that happened.

    \b
    Examples:
      stemcache serve                       # the embedded model on 127.0.0.1:8000
      stemcache serve --model ./llama-3.2   # a model directory
      stemcache simulate trace.jsonl.gz     # what a cache would do with your traffic
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


def main() -> None:
    """Run the command line.

    Exit codes: 0; 1 for findings; 2 for what the user can put right; 130 after ^C; 141 when
    whoever read the output has left.
    """
    out = sys.stdout
    try:
        code = stemcache.main(prog_name="stemcache", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = 2
    except StemcacheError as error:
        click.echo(f"stemcache: {error}", err=True)
        code = 2
    except (KeyboardInterrupt, click.Abort):
        click.echo("stemcache: interrupted", err=True)
        code = 130
    except SystemExit:
        # When nobody reads stdout any more, click puts something silent in its place and exits
        # with a 1, which would mean findings.
        if sys.stdout is out:
            raise
        code = 141
    sys.exit(code)


if __name__ == "__main__":
    main()
