import os
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from stemcache import __version__
from stemcache.cli.main import main, stemcache
from stemcache.errors import UsageError
from tests.trace.traces import DATA

TRACE = DATA / "mooncake.jsonl"


def test_the_version_is_the_packages() -> None:
    """`--version` prints it."""
    result = CliRunner().invoke(stemcache, ["--version"])
    assert result.output == f"stemcache, version {__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_shells_script(shell: str) -> None:
    """The script asks stemcache for what can follow."""
    result = CliRunner().invoke(stemcache, ["completion", shell])
    assert result.exit_code == 0
    assert "_STEMCACHE_COMPLETE" in result.output


def test_help_has_examples() -> None:
    """The group and each command show how they are used."""
    commands = stemcache.list_commands(click.Context(stemcache))
    assert {"completion", "serve", "simulate"} <= set(commands)
    for arguments in ([], *([name] for name in commands if name != "model")):
        result = CliRunner().invoke(stemcache, [*arguments, "--help"])
        assert result.exit_code == 0
        assert "Examples:" in result.output


def test_help_needs_neither_torch_nor_transformers() -> None:
    """The command line starts without what only the engine needs."""
    code = (
        "import sys\n"
        "from stemcache.cli.main import stemcache\n"
        "import click\n"
        "for name in stemcache.list_commands(None): stemcache.get_command(None, name)\n"
        "print({'torch', 'transformers', 'tokenizers', 'jinja2'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"


def test_a_command_does_not_wait_for_what_another_needs() -> None:
    """Simulating a trace starts no server."""
    code = (
        "import sys\n"
        "from stemcache.cli.main import stemcache\n"
        "stemcache.get_command(None, 'simulate')\n"
        "print({'uvicorn', 'starlette', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"


def ended(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> object:
    """The exit code when a command ends with this error."""

    def failing() -> None:
        raise error

    monkeypatch.setitem(stemcache.commands, "failing", click.Command("failing", callback=failing))
    monkeypatch.setattr("sys.argv", ["stemcache", "failing"])
    with pytest.raises(SystemExit) as caught:
        main()
    return caught.value.code


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_an_interrupt_ends_with_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException
) -> None:
    """No traceback, and the code that shells expect."""
    assert ended(monkeypatch, error) == 130
    assert capsys.readouterr().err.strip() == "stemcache: interrupted"


def test_bad_usage_is_told_with_the_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever kind of error click has for it."""
    assert ended(monkeypatch, click.FileError("trace.jsonl", "gone")) == 2
    assert "trace.jsonl" in capsys.readouterr().err


def test_a_reader_that_has_left_is_no_error_to_tell() -> None:
    """`stemcache … | head` stays quiet."""
    done = subprocess.run(
        f"{sys.executable} -m stemcache completion bash | true; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() in {"0", "141"}
    assert done.stderr == ""


COMMANDS = (
    "trace convert {trace} -",
    "trace convert {trace} /dev/stdout",
    "trace info {trace}",
    "trace info {trace} --output-format json",
    "simulate {trace} --capacity 4",
    "completion bash",
    "--help",
)


def shell(line: str) -> "subprocess.CompletedProcess[str]":
    """A line for a shell in which `$S` is `stemcache`."""
    return subprocess.run(
        ["/bin/bash", "-c", line],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "S": f"{sys.executable} -m stemcache"},
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_behind_standard_output_is_told_in_a_line(command: str) -> None:
    """Whatever was to be written, with what to do and without a traceback."""
    done = shell(f"$S {command.format(trace=TRACE)} > /dev/full")
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("stemcache: cannot write ")


def test_a_full_disk_behind_standard_error_ends_as_it_would_have() -> None:
    """There is nobody to tell."""
    assert shell("$S trace info none.jsonl 2> /dev/full").returncode == 2
    assert shell(f"$S trace info {TRACE} 2> /dev/full").returncode == 0


def test_errors_of_other_origins_are_not_taken_for_a_full_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A mistake of ours shows where it was made."""
    for error in (OSError(28, "No space left", "some-file"), OSError(99, "Cannot assign")):

        def failing(error: OSError = error) -> None:
            raise error

        command = click.Command("failing", callback=failing)
        monkeypatch.setitem(stemcache.commands, "failing", command)
        monkeypatch.setattr("sys.argv", ["stemcache", "failing"])
        with pytest.raises(OSError, match=r"No space left|Cannot assign"):
            main()


def test_a_message_is_safe_to_print(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may quote the name of a file that somebody else named."""
    assert ended(monkeypatch, UsageError("no file \x1b[2J\u202e\n\udcff; give another")) == 2
    assert capsys.readouterr().err == (
        "stemcache: no file \\x1b[2J\\u202e\\n\\udcff; give another\n"
    )
