import json
from collections.abc import Iterator
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.trace.calls import records as records_module
from stemcache.trace.calls.records import Records, entries_of


class Chunks:
    """A source of given chunks."""

    name = "log"

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = chunks

    def chunks(self) -> Iterator[bytes]:
        yield from self._chunks


def _read(*chunks: bytes) -> tuple[Records, list[tuple[int, Any]], list[tuple[int, str]]]:
    bad: list[tuple[int, str]] = []
    records = Records(Chunks(*chunks), bad=lambda number, reason: bad.append((number, reason)))
    found = [
        (number, json.loads(text) if value is None else value) for number, text, value in records
    ]
    return records, found, bad


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        (b'{"a": 1}\n{"a": 2}\n', "lines", [{"a": 1}, {"a": 2}]),
        (b'{"a": 1}', "lines", [{"a": 1}]),
        (b'\n [ {"a": 1},\n{"a": 2}]', "elements", [{"a": 1}, {"a": 2}]),
        (b'[{"a": 1}, {"a": 2}]', "elements", [{"a": 1}, {"a": 2}]),
        (b'{\n"a": 1\n}', "document", [{"a": 1}]),
        (b'{"data": [{"a": 1}, {"a": 2}]}', "document", [{"a": 1}, {"a": 2}]),
        (b'{\n "a": "}{"\n}\n{\n "a": [{}]\n}\n', "document", [{"a": "}{"}, {"a": [{}]}]),
        (b'{\n"a": 1\n}{"a": 2}{"a": 3}', "document", [{"a": 1}, {"a": 2}, {"a": 3}]),
        (b'{"log": {"v": 1, "entries": [{"a": 1}]}}', "document", [{"a": 1}]),
        (
            b'{ "messages": [],\n "data": [{"a": 1}]}',
            "document",
            [{"messages": [], "data": [{"a": 1}]}],
        ),
    ],
)
def test_what_a_file_is_is_told_by_its_beginning(text: bytes, kind: str, values: list[Any]) -> None:
    """Lines, an array and a document are told apart, however the bytes come."""
    for chunks in ((text,), tuple(text[at : at + 1] for at in range(len(text)))):
        records, found, bad = _read(*chunks)
        assert (records.kind, bad) == (kind, [])
        assert found == list(enumerate(values, start=1))


def test_starts_of_lines_are_noted() -> None:
    """Each line's number leads to where it begins, blank lines included."""
    text = b'{"a": 1}\n\n{"a": 2}\r\n{"a": 3}'
    for chunks in ((text,), (text[:4], text[4:15], text[15:])):
        records, _, _ = _read(*chunks)
        assert [text[start : start + 3] for start in records.starts] == [
            b'{"a',
            b'\n{"',
            b'{"a',
            b'{"a',
        ]


def test_a_document_that_is_no_json_is_a_problem() -> None:
    """It is counted, once."""
    _, found, bad = _read(b'{\n"a": ')
    assert (found, bad) == ([], [(1, "the JSON ends early")])


def test_objects_one_after_another_are_read_as_far_as_they_go() -> None:
    """One that is no JSON, or is cut off, is a problem of its own."""
    _, found, bad = _read(b'{\n"a": 1\n}\n{\n"a": nil\n}\n{\n"a": 3\n}\n{\n"a":')
    assert found == [(1, {"a": 1}), (3, {"a": 3})]
    assert [number for number, _ in bad] == [2, 4]
    assert bad[1][1] == "the object is cut off"


def test_a_large_document_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With how to write it as lines."""
    monkeypatch.setattr(records_module, "MAX_DOCUMENT_BYTES", 2**20)
    with pytest.raises(UsageError) as raised:
        _read(b"{\n", b" " * 2**21)
    assert str(raised.value) == (
        "log is one document of more than 1 MiB; write it as JSONL, a record a line: "
        "jq -c '.log.entries[]' FILE, jq -c '.data[]' FILE, or jq -c . FILE"
    )


def test_long_and_endless_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line beyond the bound is counted, an array's element ends the array."""
    monkeypatch.setattr(records_module, "MAX_LINE_BYTES", 9000)
    _, found, bad = _read(b'[{"a": 1}, {"b": "', *[b"x" * 5000] * 3, b'"}]')
    assert found == [(1, {"a": 1})]
    assert bad == [(2, "the array's element is cut off or too long")]


@pytest.mark.parametrize("value", [None, [], {"data": 5}, {"data": [1]}, {"log": {"entries": 1}}])
def test_what_holds_no_records(value: Any) -> None:
    """Other values are records themselves."""
    assert entries_of(value) is None
