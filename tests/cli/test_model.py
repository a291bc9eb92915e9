"""`stemcache model` prints a directory on stdout and talks on stderr."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from stemcache.cli import model as model_module
from stemcache.cli.main import main, stemcache
from stemcache.errors import ModelError
from stemcache.server.embedded import EMBEDDED_NAME, Tell


def test_a_model_that_is_there_is_printed_and_nothing_said(tmp_path: Path) -> None:
    """One line, for another command to use."""
    path = tmp_path / "models" / EMBEDDED_NAME
    path.mkdir(parents=True)
    result = CliRunner().invoke(stemcache, ["model"], env={"STEMCACHE_HOME": str(tmp_path)})

    assert (0, f"{path}\n", "") == (result.exit_code, result.stdout, result.stderr)


def test_what_takes_long_is_told_beside_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stdout stays fit for `$(stemcache model)`."""

    def obtain(cache: Path, *, tell: Tell) -> Path:
        tell("downloading")
        tell("converting [red]once[/red]")
        return cache / "made"

    monkeypatch.setattr(model_module, "obtain", obtain)
    result = CliRunner().invoke(stemcache, ["model"], env={"STEMCACHE_HOME": str(tmp_path)})

    assert f"{tmp_path / 'made'}\n" == result.stdout
    assert "downloading\nconverting [red]once[/red]\n" == result.stderr


def test_a_model_that_cannot_be_had_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, as for all that the user can put right."""

    def obtain(cache: Path, *, tell: Tell) -> Path:
        del tell
        raise ModelError(f"cannot keep the model in {cache}: full; free some space")

    monkeypatch.setattr(model_module, "obtain", obtain)
    monkeypatch.setenv("STEMCACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["stemcache", "model"])
    with pytest.raises(SystemExit) as caught:
        main()
    out, err = capsys.readouterr()

    assert 2 == caught.value.code
    assert ("", f"stemcache: cannot keep the model in {tmp_path}: full; free some space\n") == (
        out,
        err,
    )


def test_it_takes_no_arguments() -> None:
    """What is not understood is refused."""
    result = CliRunner().invoke(stemcache, ["model", "extra"])

    assert 2 == result.exit_code
    assert "Error: Got unexpected extra argument (extra)" == result.stderr.splitlines()[-1]
