"""Addresses, and chance that no seed can be given to, in what a builder makes."""

import random
import tempfile
from pathlib import Path
from typing import Any

import pytest

from stemcache.integrations.stability_address import KIND, hidden, holds_address, with_ids
from stemcache.integrations.stability_check import StabilityReport, check_prefix_stable
from stemcache.integrations.stability_prompt import Reading, Seen, seen


class Agent:
    """Something without a text of its own."""


KEPT: list[Agent] = []


def default_repr() -> str:
    """At another address with every call: earlier ones are alive."""
    KEPT.append(Agent())
    return f"You are {KEPT[-1]}."


def decimal_id() -> str:
    """The same, in decimal digits."""
    KEPT.append(Agent())
    return f"You are agent {id(KEPT[-1])}."


def hexadecimal_id() -> str:
    """The same, in hexadecimal digits."""
    KEPT.append(Agent())
    return f"You are agent {id(KEPT[-1]):x}, {hex(id(KEPT[-1]))}."


def address_and_more() -> str:
    """An address, and behind it what chance says."""
    KEPT.append(Agent())
    return f"You are {KEPT[-1]}, number {random.random()}."


def numpy_without_a_seed() -> str:
    """A generator of its own each time; NumPy is loaded here, as lazily as can be."""
    import numpy as np  # noqa: PLC0415 - that is the case

    return f"Shown first: {np.random.default_rng().integers(10**9)}"


def numpy_legacy() -> str:
    """The older kind."""
    import numpy as np  # noqa: PLC0415 - that is the case

    return f"Shown first: {np.random.RandomState().randint(10**9)}"


def temporary_folder() -> str:
    """Made, and left where it is."""
    return f"Write to {Path(tempfile.mkdtemp()).name}."


def temporary_file() -> str:
    """Made and gone, named twice."""
    with tempfile.NamedTemporaryFile() as made:
        return f"Write to {Path(made.name).name} only: {Path(made.name).name}"


def _names(report: StabilityReport) -> list[str]:
    return [one.name for one in report.findings]


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What builders leave behind is left in a folder of the test's."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


@pytest.mark.parametrize("builder", [default_repr, decimal_id, hexadecimal_id])
def test_an_address_is_named_though_nothing_changed(builder: Any) -> None:
    """It differs from call to call anyway; `again` would tell nobody why."""
    report = check_prefix_stable(builder, own_process=False)

    assert _names(report) == ["address"]
    assert KIND in str(report)
    assert "changes with where objects lie in memory" in str(report)
    assert "define __repr__" in str(report)


@pytest.mark.parametrize("builder", [default_repr, decimal_id, hexadecimal_id])
def test_an_address_that_is_allowed_is_not_compared(builder: Any) -> None:
    """Neither in this process nor in another."""
    report = check_prefix_stable(builder, allow={"address"}, own_process=True, runs=1)

    assert report, str(report)


def test_an_address_of_another_process_is_named() -> None:
    """`process` cannot be allowed, and is not what changed."""
    report = check_prefix_stable(repr, KEPT_ALIVE, own_process=True, runs=1)

    assert _names(report) == ["address"]


def test_what_differs_behind_an_address_is_found_too() -> None:
    """With addresses told, and with addresses allowed."""
    told = check_prefix_stable(address_and_more, own_process=False)
    allowed = check_prefix_stable(address_and_more, own_process=False, allow={"address"})

    assert _names(told) == ["address", "random"]
    assert _names(allowed) == ["random"]


def test_a_constant_that_looks_like_an_address_is_no_fault() -> None:
    """A report of a crash in a prompt is what it is."""
    assert check_prefix_stable(lambda: "Explain: segfault at 0x7f00badcafe0.", runs=1)


def test_another_constant_is_seen_where_addresses_are_allowed() -> None:
    """Digits that `id` never gave are compared as ever."""
    count = iter(range(139_940_566_546_960, 139_940_566_547_960))

    report = check_prefix_stable(
        lambda: f"Order {next(count)}.", allow={"address"}, own_process=False
    )

    assert _names(report) == ["again"]


@pytest.mark.parametrize(
    "builder", [numpy_without_a_seed, numpy_legacy, temporary_folder, temporary_file]
)
def test_what_is_made_without_a_seed_is_chance(builder: Any) -> None:
    """Found as that, and where it is allowed, held still in every process."""
    pytest.importorskip("numpy")
    found = check_prefix_stable(builder, own_process=False, runs=1)
    allowed = check_prefix_stable(builder, allow={"random"}, own_process=True, runs=1)

    assert _names(found) == ["random"]
    assert allowed, str(allowed)


def test_temporary_files_have_names_that_nobody_has() -> None:
    """What is read in a prompt is not what the file is called."""
    made: list[str] = []

    def build() -> str:
        made.append(tempfile.mkdtemp())
        return Path(made[-1]).name

    assert check_prefix_stable(build, allow={"random", "environment"}, own_process=False, runs=1)
    assert len(set(made)) == len(made) > 2
    assert all(Path(one).is_dir() for one in made[:2])


def _text(text: str, *ids: int) -> Seen:
    return with_ids(seen(text, Reading()), set(ids))


@pytest.mark.parametrize(
    ("text", "ids", "without"),
    [
        ("<A object at 0x7f00badcafe0>", (), "<A object at 0x…>"),
        ("<weakref at 0x7f00badcafe0; dead>", (), "<weakref at 0x…; dead>"),
        ("0x7f00badcafe0", (), "0x7f00badcafe0"),
        ("0x7f00badcafe0", (0x7F00BADCAFE0,), "0x…"),
        ("7f00badcafe0 and 139641111752672", (0x7F00BADCAFE0,), "0x… and 0x…"),
        ("139641111752673", (0x7F00BADCAFE0,), "139641111752673"),
        ("1139641111752672", (0x7F00BADCAFE0,), "1139641111752672"),
        ("at 0x10 of 12", (16, 12), "at 0x10 of 12"),
    ],
)  # fmt: skip
def test_only_addresses_are_hidden(text: str, ids: tuple[int, ...], without: str) -> None:
    """By form, and by value; what is short may be anything."""
    assert hidden(_text(text, *ids)).passages[0].text == without


def test_an_address_is_looked_for_around_a_place() -> None:
    """Not anywhere in the text."""
    text = "x" * 200 + "<A object at 0x7f00badcafe0>, and more"

    assert holds_address(text, 220, ())
    assert not holds_address(text, 232, ())
    assert not holds_address(text, 3, ())


def test_only_ids_that_stand_in_the_prompt_are_kept() -> None:
    """A builder may ask for many, of what it compares; they travel between processes."""
    one = _text("order 139641111752672", 139_641_111_752_672, 139_641_111_752_673)

    assert one.ids == (139_641_111_752_672,)
    assert Seen.from_json(one.to_json()) == one


KEPT_ALIVE = Agent()
