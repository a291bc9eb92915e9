import asyncio
import locale
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial
from inspect import iscoroutine
from pathlib import Path
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.integrations.stability_check import (
    BuilderRaisedError,
    PrefixUnstableError,
    StabilityReport,
    assert_prefix_stable,
    check_prefix_stable,
)
from stemcache.integrations.stability_compare import Difference
from stemcache.integrations.stability_prompt import Reading, seen
from stemcache.integrations.stability_world import Perturbation
from tests.integrations import stability_faulty
from tests.integrations.stability_clean import CLEAN
from tests.integrations.stability_faulty import FAULTS, Fault

APART = frozenset({"encoding", "hash-seed", "start"})
"""What only processes of their own show, which take a while to start."""


@pytest.fixture
def given(tmp_path: Path) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Arguments with a folder of files, and a file that is not ASCII, where they are named."""
    folder = tmp_path / "skills"
    folder.mkdir()
    for name in ("write", "search", "fetch", "read"):
        (folder / f"{name}.md").write_text(name)
    rules = tmp_path / "rules.txt"
    rules.write_text("Sei höflich.", encoding="utf-8")
    places = {"FOLDER": str(folder), "RULES": str(rules)}
    return lambda args: tuple(places.get(a, a) if isinstance(a, str) else a for a in args)


def test_there_are_twenty_of_each() -> None:
    """The lists are as long as they are said to be."""
    assert len(FAULTS) >= 20
    assert len(CLEAN) >= 20


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one.builder.__name__)
def test_a_planted_fault_is_found(
    fault: Fault, given: Callable[[tuple[Any, ...]], tuple[Any, ...]]
) -> None:
    """The first byte that differs is told, with what it differs by and what it is."""
    with pytest.raises(PrefixUnstableError) as caught:
        assert_prefix_stable(
            fault.builder,
            *given(fault.args),
            runs=1,
            own_process=None if fault.causes & APART else False,
        )

    first = caught.value.report.findings[0]
    assert isinstance(first.effect, Difference)
    assert len(first.causes) == 1
    assert str(first.causes[0]) in fault.causes
    assert first.alone
    assert fault.kind in first.effect.kind
    assert first.effect.old != first.effect.new or "marker" in fault.kind


@pytest.mark.parametrize(("builder", "args"), CLEAN, ids=lambda one: getattr(one, "__name__", ""))
def test_a_clean_builder_passes(
    builder: Any, args: tuple[Any, ...], given: Callable[[tuple[Any, ...]], tuple[Any, ...]]
) -> None:
    """What is sorted, pinned, given or behind the last marker is no fault."""
    report = assert_prefix_stable(builder, *given(args), runs=1, own_process=False)

    assert report
    assert "environment" in report.checked


def prefixes_of_all(args: list[tuple[Any, ...]]) -> str:
    """What has to stay of each clean builder, one after the other, read as it would be alone."""
    told: list[str] = []
    for (builder, _), given in zip(CLEAN, args, strict=True):
        value = builder(*given)
        read = seen(asyncio.run(value) if iscoroutine(value) else value, Reading())
        told += (
            f"{builder.__name__}{one.pointer}: {one.text}" for one in read.passages[: read.cut]
        )
    return "\n".join(told)


def test_clean_builders_pass_in_other_processes_too(
    given: Callable[[tuple[Any, ...]], tuple[Any, ...]],
) -> None:
    """All variants of all that is changed, in the same few processes for all of them."""
    report = assert_prefix_stable(
        prefixes_of_all, [given(args) for _, args in CLEAN], own_process=True
    )

    assert report
    assert {"hash-seed", "encoding", "environment"} <= set(report.checked)


def test_what_only_another_process_shows_is_called_that() -> None:
    """Whatever else was changed with it; here the number that the environment may change."""
    report = check_prefix_stable(
        stability_faulty.process_number, allow={"environment"}, own_process=True
    )

    assert [one.name for one in report.findings] == ["process"]


def _found(builder: Callable[..., object], *args: object, **options: Any) -> StabilityReport:
    """Checked in this process alone, which is quick."""
    return check_prefix_stable(builder, *args, **{"own_process": False, **options})


def breaks_in_the_evening() -> str:
    """Works at half past nine, not at night."""
    if datetime.now(UTC).hour > 12:
        raise LookupError("no greeting for the evening")
    return "Good morning"


@pytest.mark.parametrize("own_process", [False, True])
def test_a_builder_that_raises_is_told_as_that(*, own_process: bool) -> None:
    """The perturbation is named and the traceback shown; nothing is called unstable."""
    with pytest.raises(BuilderRaisedError) as caught:
        assert_prefix_stable(breaks_in_the_evening, own_process=own_process, runs=1)

    said = str(caught.value)
    assert said.startswith("the builder raises with a change of the clock, and not without")
    assert "LookupError: no greeting for the evening" in said
    assert "in breaks_in_the_evening" in said
    assert "stability_run.py" not in said
    assert isinstance(caught.value.__cause__, LookupError)
    assert not isinstance(caught.value, PrefixUnstableError)


def test_a_builder_that_raises_anyway_raises_that() -> None:
    """What is wrong without any change is the builder's own error, with a note."""

    def broken() -> str:
        raise KeyError("rules")

    with pytest.raises(KeyError, match="rules") as caught:
        _found(broken)

    assert "built the prompt for the first time" in caught.value.__notes__[0]


def test_a_skipped_test_is_skipped() -> None:
    """Outcomes of pytest are no errors of the builder."""
    with pytest.raises(pytest.skip.Exception):
        _found(lambda: pytest.skip("no key"))


def test_what_cannot_be_imported_elsewhere_is_checked_here() -> None:
    """A lambda is checked for all that one process can show, and the rest is named."""
    report = _found(lambda: "Be kind.", own_process=None)

    assert report
    assert "hash-seed" not in report.checked
    assert "clock" in report.checked
    assert any("the builder is a lambda" in one for one in report.unchecked)


@pytest.mark.parametrize(
    ("args", "said"),
    [((lambda: "x",), "the builder is a lambda"), ((len, threading.Lock()), "cannot be sent")],
)
def test_a_process_can_be_asked_for(args: tuple[Any, ...], said: str) -> None:
    """Where it must be, what cannot travel is a mistake of the caller."""
    builder = args[0] if len(args) == 1 else _ignoring
    with pytest.raises(UsageError, match=f"own_process=True, and .*{said}"):
        assert_prefix_stable(builder, *args[1:], own_process=True)


def _ignoring(_given: object) -> str:
    return "Be kind."


def _exits_elsewhere(pid: int) -> str:
    if os.getppid() == pid:
        os._exit(3)
    return "Be kind."


def test_a_process_that_ends_is_no_instability() -> None:
    """The builder ended it: said, and what was checked here stands."""
    report = check_prefix_stable(_exits_elsewhere, os.getpid(), allow={"environment"}, runs=1)

    assert report
    assert any("ended the process that called it, with code 3" in one for one in report.unchecked)


def test_everything_is_put_back() -> None:
    """Functions, variables, folders, states and formats are as before, whatever was raised."""
    names = [
        (time, "time"), (time, "sleep"), (time, "strftime"), (os, "urandom"), (os, "listdir"),
        (os, "scandir"), (os, "getcwd"), (os, "getpid"), (uuid, "uuid1"), (random, "_urandom"),
        (socket, "gethostname"), (random.Random, "seed"), (tempfile, "tempdir"),
        (os, "cpu_count"), (os, "sched_getaffinity"), (sys, "version"), (sys, "version_info"),
    ]  # fmt: skip
    before = [getattr(owner, name) for owner, name in names]
    variables, state, folder = dict(os.environ), random.getstate(), Path.cwd()
    conventions, zone = locale.localeconv(), time.tzname
    bound = stability_faulty.uptime_s

    _found(stability_faulty.iso_clock)
    with pytest.raises(BuilderRaisedError):
        assert_prefix_stable(breaks_in_the_evening, own_process=False)

    assert before == [getattr(owner, name) for owner, name in names]
    assert (variables, state, folder) == (dict(os.environ), random.getstate(), Path.cwd())
    assert (conventions, zone) == (locale.localeconv(), time.tzname)
    assert bound is stability_faulty.uptime_s
    assert abs(datetime.now(UTC).timestamp() - time.time()) < 5
    assert type(datetime.__dict__["now"]).__name__ == "classmethod_descriptor"


def test_a_check_comes_out_the_same_again() -> None:
    """What is said depends on the seed alone."""
    first, again, other = (
        str(_found(stability_faulty.uuid_of_a_coroutine, seed=seed)) for seed in (1, 1, 2)
    )

    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("fault", "allow"),
    [
        (stability_faulty.unix_time, "clock"),
        (stability_faulty.secret_nonce, "injected-id"),
        (stability_faulty.random_examples, "random"),
        (stability_faulty.local_number, "locale"),
        (stability_faulty.host_name, "environment"),
        (stability_faulty.variable, "$STAGE_OF_THE_TEST"),
    ],
)
def test_what_is_allowed_is_held_still(fault: Callable[[], object], allow: str) -> None:
    """It is not varied, and not said to be checked."""
    assert not _found(fault)

    report = _found(fault, allow={allow})

    assert report
    assert allow not in report.checked


def test_two_causes_that_only_meet_are_both_named() -> None:
    """Each alone changes nothing."""

    def built() -> str:
        evening = datetime.now(UTC).hour > 12
        return f"Hello {uuid.uuid4()}" if evening else "Hello"

    def met() -> str:
        late, odd = datetime.now(UTC).hour > 12, os.environ.get("USER", "").startswith("someone")
        return "Hello, night owl" if late and odd else "Hello"

    assert [one.name for one in _found(built).findings] == ["clock"]
    report = _found(met)
    assert [one.name for one in report.findings] == ["clock and environment"]
    assert "changes with the clock and the environment" in str(report)


def test_all_causes_are_told_the_first_byte_first() -> None:
    """A prompt with two faults names both, in the order of the prompt."""
    report = _found(lambda: f"{uuid.uuid4()} {datetime.now(UTC).isoformat()}")

    assert [one.name for one in report.findings] == ["injected-id", "clock"]
    assert "also:\n  clock: text, byte 39" in str(report)


def test_time_that_is_over_is_said() -> None:
    """A slow builder is not called for ever, and what was not tried does not pass."""

    def slow() -> str:
        time.sleep(0.05)
        return "Be kind."

    with pytest.raises(UsageError, match=r"when timeout_s=0\.02 was over; give it more time"):
        _found(slow, timeout_s=0.02)


def _hangs_elsewhere(pid: int) -> str:
    while os.getpid() != pid:
        time.sleep(0.1)
    return "Be kind."


def test_a_process_is_ended_in_time() -> None:
    """A builder that never returns there does not keep the test."""
    began = time.monotonic()
    with pytest.raises(UsageError, match="was over"):
        check_prefix_stable(_hangs_elsewhere, os.getpid(), allow={"environment"}, timeout_s=1.5)

    assert time.monotonic() - began < 10


def test_a_loop_may_be_running() -> None:
    """A coroutine function is checked from within a coroutine, in its context."""
    name: ContextVar[str] = ContextVar("name", default="nobody")

    async def built() -> str:
        await asyncio.sleep(0.001)
        return f"You are {name.get()}."

    async def test() -> StabilityReport:
        name.set("Ann")
        return _found(built)

    assert asyncio.run(test())


def test_arguments_may_be_given_by_name_and_in_part() -> None:
    """`keywords`, and partial objects, which travel to other processes too."""
    part = partial(stability_faulty.callers_order, user={"b": "1", "a": "2"})

    report = check_prefix_stable(part, own_process=True, runs=1)
    named = _found(stability_faulty.callers_order, keywords={"user": {"b": "1", "a": "2"}})

    assert report  # what is bound is no argument that a caller could give in another order
    assert [one.name for one in named.findings] == ["argument-order"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"runs": 0}, "runs=0; a prompt is built under at least 1 variant"),
        ({"allow": {"clok"}}, "unknown perturbation 'clok' from allow; did you mean 'clock'"),
        ({"allow": "clock"}, "allow is the text 'clock'; give a set of names"),
        ({"allow": Perturbation.CLOCK}, "allow is the text 'clock'; give a set of names"),
        ({"allow": {"again"}}, "unknown perturbation 'again' from allow"),
        ({"api": "mesages"}, "unknown api 'mesages' from api; did you mean 'messages'"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], said: str) -> None:
    """Each with what to give instead."""
    with pytest.raises(UsageError, match=said):
        _found(lambda: "Be kind.", **options)


@pytest.mark.parametrize("builder", [3, None, "prompt", {"messages": []}])
def test_what_cannot_be_called_is_refused(builder: Any) -> None:
    """A prompt given in place of its builder too."""
    with pytest.raises(UsageError, match=r"the builder is a \w+; give the function that builds"):
        assert_prefix_stable(builder)


def test_the_message_points_at_the_byte() -> None:
    """Section, pointer, offsets, both texts, cause and advice, in one screen."""
    said = str(_found(stability_faulty.iso_clock, allow={"time-zone"}))

    assert said.splitlines()[:10] == [
        "the prefix of the prompt changes with the clock",
        "",
        "  where    system, /system/0/text, byte 25 (byte 25 of the prefix)",
        "  held     …You are an agent. Now: 2026-03-14T09:26:53.250000+00:00. Be brief…",
        "  clock    …You are an agent. Now: 2031-10-08T22:41:05.750000+00:00. Be brief…",
        "                                     ^",
        "  what     an ISO time with fractions of a second",
        "  changed  the clock: time.time(), time.monotonic(), datetime.now(), date.today()",
        (
            "  fix      say the time in the last user message, behind the last marker, or give the "
            "builder a fixed one"
        ),
        "",
    ]


@pytest.mark.skipif(shutil.which("localedef") is None, reason="needs localedef")
def test_formats_of_c_are_seen_where_a_locale_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a German locale `n` and names of months differ, too."""
    made = subprocess.run(
        ["localedef", "-i", "de_DE", "-f", "UTF-8", str(tmp_path / "de_DE.UTF-8")],
        capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("there is nothing to make a locale of")
    monkeypatch.setenv("LOCPATH", str(tmp_path))

    number = _found(lambda: f"pi is {3.14:n}")
    month = _found(lambda: datetime(2026, 5, 1, tzinfo=UTC).strftime("%B"))

    assert [one.name for one in (*number.findings, *month.findings)] == ["locale", "locale"]
    assert not any("C library" in one for one in number.unchecked)
    assert f"{3.14:n}" == "3.14"
