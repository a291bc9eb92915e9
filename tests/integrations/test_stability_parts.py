"""The parts of the check by themselves: comparing, worlds, patches."""

import os
import random
import sys
import time
import types
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid1

import pytest

from stemcache.integrations.stability_compare import Difference, difference
from stemcache.integrations.stability_order import shuffled
from stemcache.integrations.stability_patch import Patches
from stemcache.integrations.stability_prompt import Passage, Seen
from stemcache.integrations.stability_run import placed
from stemcache.integrations.stability_variables import changed_values
from stemcache.integrations.stability_world import ANYWHERE, Perturbation, World, allowed


def _seen(*texts: str, cut: int | None = None, parameters: Mapping[str, str] | None = None) -> Seen:
    passages = tuple(Passage("system", f"/{at}", "", text) for at, text in enumerate(texts))
    return Seen(passages, len(texts) if cut is None else cut, parameters or {})


def test_the_first_byte_is_that_of_a_dumb_twin() -> None:
    """On random prompts, against a look at all bytes in order."""
    rng = Random(5)
    for _ in range(3_000):
        ours = ["".join(rng.choices("aé€😀", k=rng.randrange(5))) for _ in range(3)]
        theirs = [text if rng.random() < 0.7 else text[:1] + "è" for text in ours]
        found = difference(_seen(*ours), _seen(*theirs))
        if ours == theirs:
            assert found is None
            continue
        at = next(at for at in range(3) if ours[at] != theirs[at])
        one, two = ours[at].encode(), theirs[at].encode()
        byte = next((b for b in range(min(len(one), len(two))) if one[b] != two[b]), None)
        offset = min(len(one), len(two)) if byte is None else byte
        assert found is not None
        assert (found.pointer, found.offset_bytes) == (f"/{at}", offset)
        assert found.prefix_bytes == len("".join(ours[:at]).encode()) + offset


def _differ(old: str, new: str) -> Difference:
    found = difference(_seen(old), _seen(new))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("Now: 2026-03-14T09:26:53Z", "Now: 2031-10-08T22:41:05Z", "an ISO time with seconds"),
        ("<Agent at 0x7f86a1b2c3d0>", "<Agent at 0x7f86a1b2c4e0>", "the address of an object"),
        ('{"a":1,"b":2}', '{"b":2,"a":1}', "the order of keys"),
        ("1,234.5 in all", "1.234,5 in all", "a number, written with other separators"),
        ("0.6 in all", "0.6000000000000001 in all", "the last digits of a number"),
        ("a\nb\nc", "c\nb\na", "the order of lines"),
        ("fetch, read", "read, fetch", "the order of words"),
        ("rules: a", "rules: a, b", "text that was added"),
        ("rules: a, b", "rules: a", "text that is missing"),
        ("rules of cats", "rules of dogs", "text"),
    ],
)
def test_what_differs_is_told_by_its_form(old: str, new: str, kind: str) -> None:
    """The class of what stands at the place."""
    assert _differ(old, new).kind.startswith(kind)


def test_what_stands_behind_the_cut_does_not_count() -> None:
    """Nor do parameters that are no part of a cache's key; those that are do."""
    assert difference(_seen("a", "b", cut=1), _seen("a", "c", cut=1)) is None
    assert difference(_seen("a", "b"), _seen("a")) is not None
    assert difference(
        _seen("a", parameters={"/temperature": "1"}), _seen("a", parameters={"/temperature": "2"})
    ) is (None)
    found = difference(
        _seen("a", parameters={"/tool_choice": "1"}), _seen("a", parameters={"/tool_choice": "2"})
    )
    assert found is not None
    assert (found.section, found.pointer) == ("parameters", "/tool_choice")


def test_excerpts_are_short() -> None:
    """However long the prompt is."""
    found = _differ("x" * 90_000 + "a" + "y" * 90_000, "x" * 90_000 + "b" + "y" * 90_000)

    assert found.offset_bytes == 90_000
    assert len(found.old) == len(found.new) == 72
    assert found.old[found.before_chars] == "a"


def _local_now() -> tuple[object, ...]:
    return (
        datetime.utcnow(),  # noqa: DTZ003 - what others still use
        datetime.today(),  # noqa: DTZ002
        date.today(),  # noqa: DTZ011
    )


def _told(world: World, scratch: Path) -> dict[str, Any]:
    """What a builder could read of its surroundings."""
    with placed(world, scratch):
        return {
            "clock": (
                time.time(), time.time_ns(), time.monotonic(), datetime.now(UTC),
                *_local_now(), time.strftime("%Y %j %H"),
                time.ctime(), time.gmtime(), time.asctime(),
            ),
            "time-zone": (datetime.fromtimestamp(0).hour, time.strftime("%Z")),  # noqa: DTZ006
            "injected-id": (os.urandom(4), uuid1()),
            "random": (random.random(), Random().random()),
            "directory-order": (
                os.listdir(scratch / "files"),  # noqa: PTH208 - it is a way of its own
                [one.name for one in os.scandir(scratch / "files")],
                [one.name for one in (scratch / "files").iterdir()],
                [one.name for one in (scratch / "files").glob("*")],
            ),
            "environment": (
                Path.cwd(), Path.home(), os.environ.get("USER"), os.getpid(),
                os.environ.get("COLUMNS"),
            ),
        }  # fmt: skip


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A folder with files."""
    (tmp_path / "files").mkdir()
    for name in "abcd":
        (tmp_path / "files" / name).touch()
    return tmp_path


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_a_world_is_the_same_every_time(level: int, scratch: Path) -> None:
    """Every value that is read, at every level."""
    world = World().at(level, ANYWHERE)

    assert _told(world, scratch) == _told(world, scratch)


@pytest.mark.parametrize(
    "name", ["clock", "time-zone", "injected-id", "random", "directory-order", "environment"]
)
def test_a_perturbation_changes_what_it_says_and_nothing_else(name: str, scratch: Path) -> None:
    """Each value of its own differs; those of the others do not, but for local time by the zone."""
    held = _told(World(), scratch)
    varied = _told(World().at(1, [Perturbation(name)]), scratch)

    assert all(one != two for one, two in zip(held[name], varied[name], strict=True))
    others = held.keys() - {name} - ({"clock"} if name == "time-zone" else set())
    assert {other: held[other] for other in others} == {other: varied[other] for other in others}


def test_code_that_waits_comes_to_an_end(scratch: Path) -> None:
    """By sleeping or by looking at the clock again and again."""
    with placed(World(), scratch):
        deadline = time.monotonic() + 30
        looks = 0
        while time.monotonic() < deadline:
            looks += 1
    assert looks < 40_000


def test_names_that_modules_hold_are_followed_and_given_back() -> None:
    """`from time import time` in any module but those that wait, and no equal thing of another."""
    for name in ("somebodys", "asyncio.of_mine"):
        module = types.ModuleType(name)
        vars(module).update(clock=time.time, other=len)
        sys.modules[name] = module
    try:
        real = time.time
        with Patches() as patches:
            patches.function(time, "time", lambda: 7.0)
            patches.rebind()
            assert vars(sys.modules["somebodys"])["clock"]() == 7.0
            assert vars(sys.modules["somebodys"])["other"] is len
            assert vars(sys.modules["asyncio.of_mine"])["clock"] is real
        assert vars(sys.modules["somebodys"])["clock"] is time.time is real
    finally:
        del sys.modules["somebodys"], sys.modules["asyncio.of_mine"]


def test_patches_are_undone_backwards_and_all() -> None:
    """What was set twice is what it was first, also when undoing one thing fails."""
    held = {"a": "1"}

    def patched() -> None:
        with Patches() as patches:
            patches.item(held, "a", "2")
            patches.item(held, "a", None)
            patches.item(held, "b", "3")
            patches.undo(lambda: 1 // 0)

    with pytest.raises(ZeroDivisionError):
        patched()
    assert held == {"a": "1"}


def test_dictionaries_that_are_given_change_the_order_of_keys_alone() -> None:
    """Also deep inside; lists, tuples and values stay, and the original too."""
    inner = {"x": 1, "y": [3, 1, 2]}
    given = [{"a": inner, "b": (1, {"p": 0, "q": 0}), "c": object()}]
    held, turned = shuffled(given, World()), shuffled(given, World().at(1, ANYWHERE))

    assert held == turned == given
    assert list(turned[0]) == ["c", "b", "a"]
    assert list(turned[0]["a"]) == ["y", "x"]
    assert list(turned[0]["b"][1]) == ["q", "p"]
    assert list(held[0]) == list(given[0]) == ["a", "b", "c"]
    assert turned[0]["a"] is not inner
    assert turned[0]["c"] is given[0]["c"]


def test_variables_get_values_of_their_sort(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers stay numbers, texts grow, the unset are set; some are left alone."""
    monkeypatch.setenv("SOME_TEXT", "dev")
    monkeypatch.setenv("SOME_NUMBER", "3")
    monkeypatch.delenv("SOME_OTHER", raising=False)
    read = {"SOME_TEXT", "SOME_NUMBER", "SOME_OTHER", "PATH", "PYTHONPATH", "HOME", "KEPT"}

    assert changed_values(read, frozenset({"KEPT"})) == {
        "SOME_NUMBER": "4",
        "SOME_OTHER": "7",
        "SOME_TEXT": "devx",
    }
    assert len(changed_values(map(str, range(99)), frozenset())) == 24


def test_names_of_what_is_allowed() -> None:
    """Perturbations and variables, apart."""
    found = allowed(["clock", "$STAGE"])

    assert found.perturbations == {Perturbation.CLOCK}
    assert found.variables == {"STAGE"}
    assert Perturbation.CLOCK not in found.without(ANYWHERE)
    assert len(found.without(ANYWHERE)) == len(ANYWHERE) - 1
