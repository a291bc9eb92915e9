import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from stemcache import __version__
from stemcache.cli.main import main, stemcache


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
