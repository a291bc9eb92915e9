"""When a configuration is read again, and what becomes of one that cannot be used."""

import os
from pathlib import Path

import pytest

from stemcache.errors import UsageError
from stemcache.gateway.deployment import Configuration, Listen
from stemcache.server.gateway.reload import Reloader
from tests.server.gateway.quiet import Said


class Bench:
    """A file that says a port, and what was applied of it."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "route.toml"
        self.path.write_text("8000")
        self.said = Said()
        self.applied: list[int] = []
        self.refuses = 0
        """A port that cannot be applied."""
        self.reloader = Reloader(
            self.path,
            "8000",
            load=self._load,
            apply=self._apply,
            logger=self.said.logger,
        )

    def _load(self, text: str) -> Configuration:
        if not text.isdigit():
            raise UsageError(f"{text} is no port; give one")
        return Configuration(listen=Listen(port=int(text)))

    def _apply(self, configuration: Configuration) -> list[str]:
        if configuration.listen.port == self.refuses:
            raise UsageError("it is taken; give another")
        if configuration.listen.port == 6666:
            raise RuntimeError("a fault")
        before, now = self.applied[-1:], configuration.listen.port
        self.applied.append(now)
        return [] if before == [now] else ["configuration"]

    def write(self, text: str) -> None:
        """As an editor does: another file under the same name."""
        other = self.path.with_suffix(".new")
        other.write_text(text)
        other.rename(self.path)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """In a directory of its own."""
    return Bench(tmp_path)


def test_a_file_that_has_not_changed_is_not_applied(bench: Bench) -> None:
    """Nor one that was only touched."""
    bench.reloader.look()
    os.utime(bench.path, (1, 1))
    bench.reloader.look()
    assert bench.applied == []
    assert bench.said.lines == []


def test_a_change_is_applied_once(bench: Bench) -> None:
    """And said."""
    bench.write("9000")
    bench.reloader.look()
    bench.reloader.look()
    assert bench.applied == [9000]
    (line,) = bench.said.lines
    assert line["event"] == "configuration applied"
    assert line["changed"] == ["configuration"]


def test_a_change_in_place_is_seen(bench: Bench) -> None:
    """Of the same size, by its time."""
    bench.path.write_text("9000")
    os.utime(bench.path, (5, 5))
    bench.reloader.look()
    assert bench.applied == [9000]


def test_a_link_turned_to_another_file_is_a_change(bench: Bench, tmp_path: Path) -> None:
    """That is how Kubernetes mounts configurations."""
    (tmp_path / "one").write_text("9001")
    (tmp_path / "two").write_text("9002")
    for name in ("one", "two"):
        link = tmp_path / "link"
        link.symlink_to(tmp_path / name)
        link.rename(bench.path)
        bench.reloader.look()
    assert bench.applied == [9001, 9002]


def test_an_unusable_file_leaves_what_runs(bench: Bench) -> None:
    """It is complained of once, and mended it is applied."""
    bench.write("x")
    bench.reloader.look()
    bench.reloader.look()
    assert bench.applied == []
    assert bench.said.lines == [
        {
            "event": "the configuration cannot be used; what runs stays as it is",
            "level": "error",
            "error": "x is no port; give one",
        }
    ]
    bench.write("9000")
    bench.reloader.look()
    assert bench.applied == [9000]


def test_what_cannot_be_applied_is_told_too(bench: Bench) -> None:
    """As what cannot be read."""
    bench.refuses = 9000
    bench.write("9000")
    bench.reloader.look()
    assert bench.applied == []
    assert bench.said.lines[0]["error"] == "it is taken; give another"


def test_a_file_that_is_gone_leaves_what_runs(bench: Bench) -> None:
    """Until it is there again; editors take it away for a moment."""
    bench.path.unlink()
    bench.reloader.look()
    bench.reloader.look()
    assert bench.applied == []
    assert len(bench.said.lines) == 1
    bench.write("9000")
    bench.reloader.look()
    assert bench.applied == [9000]


def test_a_signal_applies_it_whether_it_changed_or_not(bench: Bench) -> None:
    """What it refers to may have: a key in a file, a certificate."""
    bench.reloader.again()
    assert bench.applied == [8000]
    bench.path.unlink()
    bench.reloader.again()
    assert bench.applied == [8000]


def test_a_signal_is_answered_each_time(bench: Bench) -> None:
    """That a file is still broken is said again, and that nothing has changed is said too."""
    bench.write("x")
    bench.reloader.look()
    for _ in range(2):
        bench.reloader.look()
        bench.reloader.again()
    bench.path.unlink()
    bench.reloader.again()
    bench.reloader.again()
    bench.reloader.look()
    errors = [str(line["error"]) for line in bench.said.lines]
    assert errors[:3] == ["x is no port; give one"] * 3
    assert [error.startswith("cannot read ") for error in errors[3:]] == [True, True]
    bench.write("9000")
    for _ in range(2):
        bench.reloader.again()
    assert [line["changed"] for line in bench.said.lines[5:]] == [["configuration"], []]


def test_a_fault_is_told_and_the_next_change_is_taken(bench: Bench) -> None:
    """Whatever is raised: who watches lives on."""
    bench.write("6666")
    bench.reloader.look()
    (line,) = bench.said.lines
    assert line["level"] == "error"
    assert line["event"].startswith("the configuration could not be applied, or not all of it")
    assert line["exc_info"]
    bench.reloader.again()
    bench.write("9000")
    bench.reloader.look()
    assert bench.applied == [9000]


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A file of keys."""
    path = tmp_path / "keys"
    path.write_text("8000")
    return path


def test_a_file_of_keys_is_watched_too(bench: Bench, keys: Path) -> None:
    """A change of it applies all anew, and that it is gone is told once."""
    reloader = Reloader(
        bench.path,
        "8000",
        beside=(keys,),
        load=lambda _: bench._load(keys.read_text() if keys.exists() else "nothing"),
        apply=bench._apply,
        logger=bench.said.logger,
    )
    reloader.look()
    assert bench.applied == []
    keys.write_text("90000")
    reloader.look()
    reloader.look()
    assert bench.applied == [90000]
    keys.unlink()
    reloader.look()
    reloader.look()
    assert bench.said.events == [
        "configuration applied",
        "the configuration cannot be used; what runs stays as it is",
    ]
    keys.write_text("7000")
    reloader.look()
    bench.write("1")
    reloader.look()
    reloader.again()
    assert bench.applied == [90000, 7000, 7000, 7000]


def test_keys_alone_are_watched_without_a_file_beside_them(bench: Bench, keys: Path) -> None:
    """And a signal reads them again."""
    texts: list[str] = []

    def load(text: str) -> Configuration:
        texts.append(text)
        return Configuration()

    reloader = Reloader(
        None,
        "",
        beside=(keys,),
        load=load,
        apply=lambda _: ["keys"],
        logger=bench.said.logger,
    )
    reloader.look()
    assert texts == []
    keys.write_text("another")
    reloader.look()
    reloader.look()
    reloader.again()
    assert texts == ["", ""]
    assert [line["changed"] for line in bench.said.lines] == [["keys"], ["keys"]]


def test_without_files_a_signal_applies_the_flags_anew(bench: Bench) -> None:
    """Certificates that they name may have been renewed."""
    reloader = Reloader(
        None,
        "",
        load=lambda _: Configuration(listen=Listen(port=1)),
        apply=bench._apply,
        logger=bench.said.logger,
    )
    reloader.look()
    assert bench.applied == []
    reloader.again()
    assert bench.applied == [1]
    assert bench.said.events == ["configuration applied"]
