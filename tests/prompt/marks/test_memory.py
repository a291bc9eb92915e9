"""Memories hold what a list of all that was sent holds."""

import json
from dataclasses import dataclass, field
from math import inf, nan
from random import Random
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.marks.forecast import Forecast
from stemcache.prompt.marks.forecasts import AlwaysAlive, FromGaps, Poisson
from stemcache.prompt.marks.memory import MOST_ENTRIES, Memory
from stemcache.prompt.stability import Stability
from stemcache.provider.usage import Usage
from tests.prompt.placing import laid_of, piece

LAID = laid_of(piece(), *(piece(history=True) for _ in range(9)))
USUAL = Poisson(LAID, {Stability.STATIC: 1 / 60})


def _prefixes(words: str) -> tuple[bytes, ...]:
    """By boundary, all before it: a name that nobody can mistake."""
    return tuple(words[:at].encode() for at in range(len(words) + 1))


def _held(
    memory: Memory, words: str, now_s: float | None = None, forecast: Forecast = USUAL
) -> dict[int, float]:
    found = memory.held(_prefixes(words), forecast=forecast, now_s=now_s)
    assert len({one.boundary for one in found}) == len(found)
    return {one.boundary: one.alive for one in found}


def _sent(
    memory: Memory, words: str, *boundaries: int, now_s: float | None = None, lasts_s: float = 300.0
) -> None:
    memory.sent(_prefixes(words), dict.fromkeys(boundaries, lasts_s), now_s=now_s)


def test_nothing_is_held_before_anything_was_sent() -> None:
    """So that figures are those of an average request."""
    assert _held(Memory(), "abc", 0.0) == {}


def test_what_was_sent_is_held_for_its_lifetime() -> None:
    """From when it was sent until the last moment of it; then it is known to be gone."""
    memory = Memory()
    _sent(memory, "abc", 1, 3, now_s=1_000.0)
    assert _held(memory, "abcde", 1_000.0) == {1: 1.0, 3: 1.0}
    assert _held(memory, "abcde", 1_300.0) == {1: 1.0, 3: 1.0}
    assert _held(memory, "abcde", 1_300.1) == {1: 0.0, 3: 0.0}


def test_a_clock_that_was_set_back_is_no_time_passed() -> None:
    """Then nothing has expired."""
    memory = Memory()
    _sent(memory, "abc", 3, now_s=1_000.0)
    assert _held(memory, "abc", 10.0) == {3: 1.0}
    _sent(memory, "abc", 3, now_s=10.0)
    assert _held(memory, "abc", 310.1) == {3: 0.0}


def test_a_mark_at_what_is_there_begins_its_lifetime_anew() -> None:
    """The lifetime that it was written with, whatever this mark asks for."""
    memory = Memory()
    _sent(memory, "abc", 3, now_s=0.0)
    _sent(memory, "abcd", 3, now_s=200.0, lasts_s=3_600.0)
    assert _held(memory, "abcd", 500.0) == {3: 1.0}
    assert _held(memory, "abcd", 501.0) == {3: 0.0}


def test_a_mark_at_what_has_expired_writes_it() -> None:
    """For the lifetime that it asks for."""
    memory = Memory()
    _sent(memory, "abc", 3, now_s=0.0)
    _sent(memory, "abcd", 3, now_s=301.0, lasts_s=3_600.0)
    assert _held(memory, "abcd", 3_901.0) == {3: 1.0}
    assert _held(memory, "abcd", 3_902.0) == {3: 0.0}


def test_where_reads_do_not_refresh_an_entry_ends_when_it_must() -> None:
    """Cached objects."""
    memory = Memory()
    memory.sent(_prefixes("ab"), {2: 3_600.0}, refreshed=False, now_s=0.0)
    memory.sent(_prefixes("abc"), {2: 3_600.0}, refreshed=False, now_s=3_000.0)
    assert _held(memory, "abcd", 3_600.0) == {2: 1.0}
    assert _held(memory, "abcd", 3_601.0) == {2: 0.0}
    memory.sent(_prefixes("abc"), {2: 3_600.0}, refreshed=False, now_s=3_601.0)
    assert _held(memory, "abcd", 7_201.0) == {2: 1.0}


def test_without_times_the_forecast_tells() -> None:
    """The chance that the next request comes in time, given that it comes: nine in ten go on."""
    memory = Memory()
    _sent(memory, "abc", 1, 3)
    usual = Poisson(LAID, {Stability.STATIC: 1 / 60, Stability.SESSION: 1 / 600}, goes_on=0.9)
    held = _held(memory, "abcd", forecast=usual)
    assert held[1] == pytest.approx(1 - 2.718281828 ** -(300 / 60))
    assert held[3] == pytest.approx(1 - 2.718281828 ** -(300 / 600))
    gaps = FromGaps(LAID, {Stability.SESSION: [10.0, 20.0, 400.0, inf]})
    assert _held(memory, "abcd", forecast=gaps)[3] == pytest.approx(2 / 3)
    assert _held(memory, "abcd", forecast=AlwaysAlive(LAID)) == {1: 1.0, 3: 1.0}
    assert _held(memory, "abcd", forecast=Poisson(LAID, {})) == {1: 0.0, 3: 0.0}


@pytest.mark.parametrize(("sent_s", "now_s"), [(None, 9e9), (0.0, None)])
def test_one_time_tells_nothing(sent_s: float | None, now_s: float | None) -> None:
    """Where a request was sent without a time, or asks without one, the forecast tells."""
    memory = Memory()
    _sent(memory, "abc", 3, now_s=sent_s)
    assert _held(memory, "abc", now_s) == {3: pytest.approx(1 - 2.718281828**-5)}


def test_of_two_lifetimes_of_an_entry_without_times_the_shorter_counts() -> None:
    """Nobody knows which of both requests has written it."""
    for first, second in ((300.0, 3_600.0), (3_600.0, 300.0)):
        memory = Memory()
        _sent(memory, "abc", 3, lasts_s=first)
        _sent(memory, "abc", 3, now_s=0.0, lasts_s=second)
        assert _held(memory, "abc", 301.0) == {3: 0.0}


def test_entries_without_a_lifetime_are_kept() -> None:
    """A rule that states none: as its placements count."""
    memory = Memory()
    _sent(memory, "abc", 3, now_s=0.0, lasts_s=inf)
    assert _held(memory, "abc", 9e9) == _held(memory, "abc", None, Poisson(LAID, {})) == {3: 1.0}


@pytest.mark.parametrize(
    ("words", "boundaries"),
    [
        ("abcdef", {1, 3, 5}),
        ("abcd", {1, 3}),
        ("abXdef", {1}),
        ("aXbcdef", {1}),
        ("Xabcdef", set[int]()),
        ("bcdef", set[int]()),
        ("a", {1}),
        ("", set[int]()),
    ],
)
def test_only_what_stands_before_as_it_stood_is_held(words: str, boundaries: set[int]) -> None:
    """A history that was compacted, a segment that was changed, a tool that came in between."""
    memory = Memory()
    _sent(memory, "abcde", 1, 3, 5, now_s=0.0)
    assert set(_held(memory, words, 1.0)) == boundaries


def test_what_was_left_is_found_again_when_it_comes_back() -> None:
    """A branch that is taken up once more, in time."""
    memory = Memory()
    _sent(memory, "abcd", 2, 4, now_s=0.0)
    _sent(memory, "abXY", 2, 4, now_s=100.0)
    assert _held(memory, "abcde", 200.0) == {2: 1.0, 4: 1.0}


def test_a_read_of_zero_says_that_all_is_gone_but_what_was_just_written() -> None:
    """With the lifetime that was asked for, since nothing was there that could keep its own."""
    memory = Memory()
    _sent(memory, "ab", 1, 2, now_s=0.0)
    _sent(memory, "abcd", 1, 4, now_s=200.0, lasts_s=3_600.0)
    memory.reported(Usage(prompt_tokens=400, read_tokens=0))
    assert _held(memory, "abcde", 3_800.0) == {1: 1.0, 4: 1.0}


@pytest.mark.parametrize("read", [None, 1, 350])
def test_any_other_figure_tells_nothing(read: int | None) -> None:
    """A read that was not reported, and one that may have ended anywhere."""
    memory = Memory()
    _sent(memory, "ab", 1, 2, now_s=0.0)
    _sent(memory, "abcd", 4, now_s=1.0)
    memory.reported(Usage(prompt_tokens=400, read_tokens=read))
    assert _held(memory, "abcd", 2.0) == {1: 1.0, 2: 1.0, 4: 1.0}


def test_a_fork_shares_what_was_held_and_nothing_that_comes() -> None:
    """Whichever of both goes on."""
    memory = Memory()
    _sent(memory, "ab", 2, now_s=0.0)
    fork = memory.fork()
    _sent(memory, "abcd", 4, now_s=1.0)
    _sent(fork, "abXY", 4, now_s=1.0)
    assert _held(memory, "abcd", 2.0) == _held(fork, "abXY", 2.0) == {2: 1.0, 4: 1.0}
    assert _held(memory, "abXY", 2.0) == _held(fork, "abcd", 2.0) == {2: 1.0}
    fork.reported(Usage(prompt_tokens=4, read_tokens=0))
    assert (_held(fork, "ab", 2.0), _held(memory, "ab", 2.0)) == ({}, {2: 1.0})


def test_a_memory_is_bounded() -> None:
    """What was not used for longest is forgotten; what is marked each time stays."""
    memory = Memory()
    words = "a" * 500
    for at in range(2, 500):
        _sent(memory, words, 1, at, now_s=float(at))
    assert len(memory) == MOST_ENTRIES
    assert set(_held(memory, words, 500.0)) == {1, *range(500 - MOST_ENTRIES + 1, 500)}
    memory.sent(_prefixes(words), dict.fromkeys(range(1, 200), 300.0), now_s=501.0)
    assert set(_held(memory, words, 501.0)) == set(range(200 - MOST_ENTRIES, 200))


@pytest.mark.parametrize("now_s", [inf, -inf, nan])
def test_times_that_are_none_are_refused(now_s: float) -> None:
    """Before anything is changed."""
    memory = Memory()
    with pytest.raises(UsageError, match=r"now_s is -?(inf|nan); give seconds of a clock"):
        _sent(memory, "a", 1, now_s=now_s)
    with pytest.raises(UsageError, match=r"now_s is -?(inf|nan); give seconds of a clock"):
        _held(memory, "a", now_s)
    assert len(memory) == 0


@dataclass
class _Twin:
    """All that was sent, looked through from the beginning each time."""

    log: list[tuple[str, dict[int, float], float]] = field(default_factory=list)

    def held(self, words: str, now_s: float) -> dict[int, float]:
        found: dict[int, float] = {}
        for at in range(1, len(words) + 1):
            used_s: float | None = None
            lasts_s = 0.0
            for sent, written, at_s in self.log:
                if at not in written or sent[:at] != words[:at]:
                    continue
                if used_s is None or at_s - used_s > lasts_s:
                    lasts_s = written[at]
                used_s = at_s
            if used_s is not None:
                found[at] = float(now_s - used_s <= lasts_s)
        return found


@pytest.mark.parametrize("seed", range(30))
def test_random_histories_agree_with_a_list_of_all_that_was_sent(seed: int) -> None:
    """Prompts that grow, are cut, changed, forked, saved, and reported as not read."""
    chance = Random(seed)
    lines = [(Memory(), _Twin(), "")]
    now_s = 0.0
    for _ in range(60):
        number = chance.randrange(len(lines))
        memory, twin, words = lines[number]
        words = chance.choice([words, words[: chance.randint(0, len(words))]])
        words = (words + "".join(chance.choice("ab") for _ in range(chance.randint(1, 3))))[-12:]
        now_s += chance.choice([0.0, 1.0, 100.0, 300.0, 301.0, 4_000.0])
        assert _held(memory, words, now_s) == twin.held(words, now_s)
        written = {
            at: chance.choice([300.0, 3_600.0])
            for at in range(1, len(words) + 1)
            if chance.random() < 0.4
        }
        memory.sent(_prefixes(words), written, now_s=now_s)
        twin.log.append((words, written, now_s))
        match chance.randrange(8):
            case 0:
                memory.reported(Usage(prompt_tokens=9, read_tokens=0))
                del twin.log[:-1]
            case 1:
                memory = Memory.resumed(memory.saved())
            case 2 if len(lines) < 4:
                lines.append((memory.fork(), _Twin(list(twin.log)), words))
        lines[number] = memory, twin, words
        assert len(memory) <= MOST_ENTRIES


def test_what_is_saved_is_resumed() -> None:
    """All of it, what a report would say of the last request too; it is one line of JSON."""
    memory = Memory()
    _sent(memory, "ab", 1, 2, now_s=0.0)
    memory.sent(_prefixes("abcd"), {1: 300.0, 4: inf}, now_s=200.25)
    saved = memory.saved()
    assert saved.endswith(b"}\n")
    assert saved.count(b"\n") == 1
    resumed = Memory.resumed(saved)
    assert resumed.saved() == saved
    assert _held(resumed, "abcd", 400.0) == _held(memory, "abcd", 400.0) == {1: 1.0, 2: 0.0, 4: 1.0}
    resumed.reported(Usage(prompt_tokens=4, read_tokens=0))
    assert _held(resumed, "abcd", 400.0) == {1: 1.0, 4: 1.0}
    assert repr(resumed) == "<Memory of 2 prefixes>"


def test_a_full_memory_is_small_when_saved() -> None:
    """And can be read again."""
    memory = Memory()
    prefixes = [number.to_bytes(16, "big") for number in range(1_000)]
    memory.sent(prefixes, dict.fromkeys(range(1, 1_000), 43_200.0), now_s=1_764_500_000.123456)
    assert len(memory.saved()) < 2**14
    assert len(Memory.resumed(memory.saved())) == MOST_ENTRIES


def _saved(**changed: Any) -> bytes:
    whole = {"form": "stemcache memory", "version": 1, "entries": [], "asked": []}
    return json.dumps({**whole, **changed}).encode()


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        (b"", "Input data was truncated"),
        (b"{}", "missing required field `form`"),
        (b"\xff", "is no memory of a conversation: .* give what saved"),
        (b"[" * 5_000, "is no memory of a conversation: .* give what saved"),
        (b" " * 2**17, "it has 131,072 bytes, and 65,536 are the most"),
        (_saved(form="x" * 99), f"its form is '{'x' * 40}'"),
        (_saved(version=2), "saved in version 2, and this stemcache reads 1; update stemcache"),
        (_saved(entries=[["zz", 0, 1]]), "'zz' is no name of a prefix"),
        (_saved(entries=[["00", "0", 1]]), r"Expected `float \| null`, got `str`"),
        (_saved(entries=[["00", 0]]), "Expected `array` of length 3"),
        (_saved(entries=[[f"{n:04x}", 0, 1] for n in range(65)]), "has 65 entries, and 64 are"),
        (_saved(asked=[[f"{n:04x}", 0, 1] for n in range(65)]), "has 65 entries, and 64 are"),
        (_saved(text="secret"), "unknown field `text`"),
        (_saved().replace(b"[]", b'[["00",1e999,1]]', 1), "is no memory of a conversation"),
    ],
)  # fmt: skip
def test_what_was_not_saved_so_is_refused(saved: bytes, message: str) -> None:
    """With what is wrong, and what to do."""
    with pytest.raises(UsageError, match=message):
        Memory.resumed(saved)


@pytest.mark.parametrize("seed", range(5))
def test_damaged_memories_are_refused_or_hold_times(seed: int) -> None:
    """Whatever bytes come, no other error does."""
    chance = Random(seed)
    memory = Memory()
    _sent(memory, "abcdef", 1, 3, 6, now_s=1.0)
    whole = memory.saved()
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(data))
            data[at : at + chance.randint(0, 3)] = chance.randbytes(chance.randint(0, 3))
        try:
            found = Memory.resumed(bytes(data))
        except UsageError:
            continue
        assert all(0 <= alive <= 1 for alive in _held(found, "abcdef", 2.0).values())
