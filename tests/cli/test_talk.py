"""Saying what takes long."""

import sys

import pytest

from stemcache.cli.talk import talking


def test_elsewhere_than_on_a_terminal_each_word_is_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On stderr, as it stands."""
    with talking() as tell:
        tell("downloading [x] 50%")
        tell("unpacking")

    assert ("", "downloading [x] 50%\nunpacking\n") == capsys.readouterr()


@pytest.mark.parametrize("name", ["plain.gguf", "model[q4].gguf", "a[/b].gguf", "[bold]x"])
def test_a_terminal_sees_what_goes_on(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A spinner with the last word said, names of files as they are; stdout stays clean."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with talking() as tell:
        tell(f"converting {name}")
    out, err = capsys.readouterr()

    assert "" == out
    assert f"converting {name}" in err


def test_a_terminal_is_left_as_it_was(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also when what took long has failed: the cursor is shown again."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with pytest.raises(LookupError), talking():
        raise LookupError
    _, err = capsys.readouterr()

    assert err.rindex("\x1b[?25h") > err.rindex("\x1b[?25l")
