"""`stemcache`: the group of commands, and the script that completes them in a shell."""

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Literal

import click
from click.shell_completion import get_completion_class

from stemcache import __version__
from stemcache.cli.printable import printable
from stemcache.errors import StemcacheError

__all__ = ["main", "stemcache"]

_COMMANDS = {
    "compare": "stemcache.cli.compare",
    "explain": "stemcache.cli.explain",
    "lint": "stemcache.cli.lint",
    "model": "stemcache.cli.model",
    "prefix": "stemcache.cli.prefix",
    "record": "stemcache.cli.record",
    "replay": "stemcache.cli.replay",
    "route": "stemcache.cli.route",
    "rule": "stemcache.cli.rule",
    "serve": "stemcache.cli.serve",
    "simulate": "stemcache.cli.simulate",
    "trace": "stemcache.cli.trace",
}
"""Where each command is; its function has the command's name. Read when it is asked for, so that
one command does not wait for what another needs."""

_WRITING = frozenset(
    {errno.EAGAIN, errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC}
)
"""What a stream says that takes no more: a full disk, a quota, a closed descriptor."""
_LONGEST_MESSAGE = 4096


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
      stemcache lint calls.jsonl            # what breaks the prefix of your prompts, and its cost
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

    Exit codes: 0; 1 for findings; 2 for what the user can put right, a full disk behind stdout
    among it; 130 after ^C; 141 when whoever read the output has left.
    """
    out = sys.stdout
    try:
        code = stemcache.main(prog_name="stemcache", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()  # not at the interpreter's end, where it can only be muttered about
    except click.ClickException as error:
        _tell(error.show)
        code = 2
    except StemcacheError as error:
        _say(str(error))
        code = 2
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted")
        code = 130
    except BrokenPipeError:
        code = 141
    except OSError as error:
        if error.filename is not None or error.errno not in _WRITING:
            raise
        _say(f"cannot write the answer: {error.strerror}; send it where there is room")
        code = 2
    except SystemExit as ending:
        # When nobody reads stdout any more, click puts something silent in its place and exits
        # with a 1, which would mean findings.
        code = ending.code if sys.stdout is out else 141
    finally:
        _let_go()
    sys.exit(code)


def _say(message: str) -> None:
    # A message may quote a file's name, which may hold anything.
    line = printable(message, most_characters=_LONGEST_MESSAGE)
    _tell(partial(click.echo, f"stemcache: {line}", err=True))


def _tell(say: Callable[[], None]) -> None:
    with suppress(OSError):  # a full disk behind stderr, where there is nobody left to tell
        say()


def _let_go() -> None:
    """Write out what the streams hold; where that fails, drop it, or Python tries again at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            with suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)


if __name__ == "__main__":
    main()
