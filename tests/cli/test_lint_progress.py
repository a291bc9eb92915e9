import io

import pytest
from rich.console import Console

from stemcache.cli import lint_progress
from stemcache.cli.lint_progress import reading


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """A terminal to write to."""
    screen = io.StringIO()

    def console(**_: object) -> Console:
        return Console(file=screen, force_terminal=True, width=80)

    monkeypatch.setattr(lint_progress, "Console", console)
    return screen


def shown(screen: io.StringIO, *, total: int | None, wanted: bool | None) -> bool:
    """Whether a bar was drawn while a log of that size was read."""
    with reading(wanted=wanted) as tell:
        if tell is not None:
            tell(0 if total is None else total // 2, total)
    return "reading" in screen.getvalue()


@pytest.mark.parametrize(
    ("total", "wanted", "drawn"),
    [
        (2**30, None, True),
        (2**10, None, False),
        (None, None, True),
        (2**10, True, True),
        (2**30, False, False),
    ],
)
def test_a_bar_is_drawn_where_reading_takes_long(
    total: int | None,
    wanted: bool | None,  # noqa: FBT001  # cases of a table
    drawn: bool,  # noqa: FBT001
    terminal: io.StringIO,
) -> None:
    """Or where it is asked for, and never where it is not wanted."""
    assert shown(terminal, total=total, wanted=wanted) == drawn


def test_nothing_is_drawn_where_there_is_no_terminal() -> None:
    """Whatever is asked for."""
    with reading(wanted=True) as tell:
        assert tell is None
