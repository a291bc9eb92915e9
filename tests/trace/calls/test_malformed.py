import copy
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stemcache.errors import UsageError
from stemcache.trace.calls.call import Call
from stemcache.trace.calls.open import open_calls
from tests.trace.calls.samples import LOGS, RECORDS

JUNK: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**63,
    10**30,
    1.5e300,
    "",
    "x",
    "\ud83d",
    "{",
    "[[]]",
    '{"messages": [{}]}',
    "data: {}\n\n",
    "2026-13-99T00:00:00",
    "9" * 400,
    [],
    [None],
    [[]],
    [{}],
    {},
    {"id": []},
    {"messages": [5]},
)


def _spots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container with every key of it."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _spots(value[key])


def _read(path: Path, data: bytes, name: str | None) -> list[Call]:
    """Read whole, and again; anything but a UsageError is a fault."""
    path.write_bytes(data)
    try:
        with open_calls([str(path)], format=name) as log:
            calls = list(log)
            for call in calls[:5]:
                assert log.reread.body(call.place) == call.body
            for problem in log.problems:
                assert len(str(problem)) < 1000
    except UsageError:
        return []
    for call in calls:
        _check(call)
    return calls


def _check(call: Call) -> None:
    texts = (call.model, call.id, call.previous_id, call.session, call.host, call.path, call.route)
    assert all(text is None or isinstance(text, str) for text in (*texts, call.tier, call.region))
    times = (call.time_s, call.answered_s, call.ended_s, call.billed_usd)
    assert all(time is None or isinstance(time, float) for time in times)
    assert call.usage is None or isinstance(call.usage, dict)
    assert call.diagnostics is None or isinstance(call.diagnostics, dict)
    assert call.answer is None or isinstance(call.answer, list)
    assert (call.body is None) or isinstance(call.body, dict)
    assert call.size_bytes >= 0
    repr(call)


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_any_field_may_hold_anything(tmp_path: Path, name: str) -> None:
    """Whatever stands in place of any field, the log is read or refused."""
    random = Random(name)
    records = RECORDS[name]
    for _ in range(100):
        changed = copy.deepcopy(records)
        for _ in range(random.choice((1, 1, 2, 6))):
            spots = list(_spots(changed))
            if not spots:
                break
            container, key = random.choice(spots)
            if random.random() < 0.2:
                del container[key]
            else:
                container[key] = copy.deepcopy(random.choice(JUNK))
        data = "".join(json.dumps(record) + "\n" for record in changed).encode()
        _read(tmp_path / "log", data, random.choice((None, name)))


@pytest.mark.parametrize("name", sorted(LOGS))
def test_any_byte_may_be_wrong(tmp_path: Path, name: str) -> None:
    """Bytes that are flipped, cut out, doubled or missing at the end are read or refused."""
    random = Random(name)
    for _ in range(60):
        data = bytearray(LOGS[name])
        for _ in range(random.choice((1, 3, 20))):
            start = random.randrange(len(data)) if data else 0
            end = start + random.choice((1, 1, 5, 60))
            match random.randrange(4):
                case 0:
                    data[start : start + 1] = bytes([random.randrange(256)])
                case 1:
                    del data[start:end]
                case 2:
                    data[start:start] = data[start:end]
                case _:
                    data[start:start] = random.choice((b"'", b'"', b"\\", b"(", b"{", b"\n", b"}"))
        _read(tmp_path / "log", bytes(data), random.choice((None, name)))


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200), name=st.sampled_from([None, *sorted(LOGS)]))
def test_noise_is_read_or_refused(tmp_path: Path, data: bytes, name: str | None) -> None:
    """Bytes of no meaning are no log."""
    _read(tmp_path / "log", data, name)


@pytest.mark.parametrize("name", sorted(LOGS))
def test_a_log_of_another_format_is_no_fault(tmp_path: Path, name: str) -> None:
    """A format that is forced on a log of another gives problems, not crashes."""
    for data in LOGS.values():
        _read(tmp_path / "log", data, name)


@pytest.mark.parametrize(
    "bomb",
    [
        b"[" * 300_000,
        b'{"messages":' * 100_000,
        b'{"messages": [' + b"[" * 100_000,
        b'{"messages": [{"content": "' + b"\\u0041" * 200_000 + b'"}]}',
        b'{"request": "' + b'{\\"request\\": ' * 50_000 + b'"}',
        b"\n" * 500_000,
        b"\x00" * 500_000,
        b'{"a":' + b"9" * 100_000 + b"}",
        b"Receive: obj=G(" + b"(" * 300_000,
        b"Received request a: prompt: " + b"'\\'" * 200_000,
        b'{\n"log": {"entries": [' + b"[" * 100_000,
        b'[{"a": ' + b"{" * 100_000,
    ],
)
def test_bombs_end(tmp_path: Path, bomb: bytes) -> None:
    """Nesting, huge numbers and endless strings end, and soon."""
    for name in (None, "bodies", "sglang", "vllm", "har"):
        _read(tmp_path / "log", bomb, name)


def test_no_message_says_what_a_prompt_says(tmp_path: Path) -> None:
    """Problems and errors hold places and types, and nothing of what was asked."""
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"messages": [{"role": "user", "content": "x"}]}\n'
        '{"messages": "my secret plan"}\n'
        '{"request": {"body": "my secret plan"}}\n'
        '{"messages": [{"content": "my secret plan\n'
        '"my secret plan"\n'
    )
    with open_calls([str(path)]) as log:
        assert len(list(log)) == 1
    assert log.problems.total == 4
    assert "secret" not in repr(log.problems.counts) + repr(log.problems.examples)
