import contextlib
import functools
import gzip
import io
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stemcache.errors import UsageError
from stemcache.text.tokenizer import ByteTokenizer
from stemcache.trace import open as opening
from stemcache.trace.bodies.model import ModelPrompts
from stemcache.trace.lines import numbered_lines
from stemcache.trace.open import FORMAT_NAMES, open_trace
from tests.trace.traces import DATA, read, refusal, request_of, same, write_lines

GOOD = {"timestamp": 1, "input_length": 600, "output_length": 1, "hash_ids": [1, 2]}
SKIP = "or leave such lines out with --skip-bad-lines"


@pytest.mark.parametrize(
    ("name", "unit", "requests"),
    [
        ("mooncake", "tokens", 5),
        ("bailian", "tokens", 4),
        ("sessions", "tokens", 10),
        ("bodies", "characters", 3),
    ],
)
def test_the_format_is_told_by_the_first_line(name: str, unit: str, requests: int) -> None:
    """And may be given, which changes nothing if it is right."""
    path = DATA / f"{name}.jsonl"
    for given_name in ("auto", name):
        with open_trace(path, format=given_name) as reader:
            assert (reader.format, reader.unit, reader.requests) == (name, unit, 0)
            found = list(reader)
            assert reader.requests == requests
            assert reader.bytes_read == reader.bytes_total == path.stat().st_size
    assert len(found) == requests


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_compressed_traces_are_read_as_plain_ones(pack: Any, tmp_path: Path) -> None:
    """Progress counts compressed bytes."""
    path = tmp_path / "t"
    path.write_bytes(pack((DATA / "mooncake.jsonl").read_bytes()))
    expected = read(DATA / "mooncake.jsonl")
    with open_trace(path) as reader:
        found = list(reader)
        assert reader.bytes_read == reader.bytes_total == path.stat().st_size
    assert all(map(same, found, expected))


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its size is not known."""
    raw = (DATA / "mooncake.jsonl").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    with open_trace("-") as reader:
        assert (reader.name, reader.bytes_total) == ("standard input", None)
        assert len(list(reader)) == 5


def test_a_trace_is_read_once() -> None:
    """Asking again is a mistake of the program."""
    with open_trace(DATA / "mooncake.jsonl") as reader:
        list(reader)
        with pytest.raises(AssertionError, match="a trace is read once; open it again"):
            iter(reader).__next__()


def test_an_unknown_format_is_told() -> None:
    """With the nearest name."""
    with pytest.raises(UsageError) as caught:
        open_trace(DATA / "mooncake.jsonl", format="moncake")
    assert str(caught.value) == (
        "unknown format 'moncake' from --format; did you mean 'mooncake'? "
        "(auto, bailian, bodies, mooncake, sessions)"
    )
    assert FORMAT_NAMES == ("auto", "mooncake", "bailian", "sessions", "bodies")


@pytest.mark.parametrize("format_name", ["auto", "mooncake"])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "t is empty; give a trace with at least one line"),
        (b"\n \r\n\n", "t is empty; give a trace with at least one line"),
        (gzip.compress(b""), "t is empty; give a trace with at least one line"),
    ],
)
def test_an_empty_file_is_told(data: bytes, message: str, format_name: str, tmp_path: Path) -> None:
    """Whether it has no bytes, no lines, or is an empty stream."""
    path = tmp_path / "t"
    path.write_bytes(data)
    for on_bad in ("stop", "skip"):
        assert refusal(path, format=format_name, on_bad=on_bad) == message


def test_a_trace_without_a_request_is_told(tmp_path: Path) -> None:
    """A session may be empty, a trace may not."""
    path = write_lines(tmp_path / "t", [{"id": "a", "hash_id_scope": "local", "requests": []}])
    assert refusal(path) == "t holds no request; give a trace with at least one line for one"


@pytest.mark.parametrize(
    ("first", "message"),
    [
        (
            {"hello": 1},
            (
                "it is of no known format: no hash_ids, requests, messages, prompt or input; "
                "give another file"
            ),
        ),
        (
            {"hash_ids": [1]},
            (
                "it is of no known format: it has hash_ids, but neither input_length nor chat_id; "
                "give another file"
            ),
        ),
        (
            {"requests": [{"custom_id": "a"}]},
            (
                "it is of no known format: it has requests, but not those of a coding session "
                "with an id; give another file"
            ),
        ),
        (
            {"messages": "text"},
            "it is of no known format: messages is no list; give another file",
        ),
        (
            {"body": {"prompt": 3}},
            (
                "it is of no known format: body.prompt is neither a text nor a list; "
                "give another file"
            ),
        ),
        (
            {"request": {"body": '{"input": "text"}'}},
            (
                "it is of no known format: request.body.input stands without a model; "
                "give another file"
            ),
        ),
        (
            b'{"tenant":"\\ud800"}',
            "a text holds half of a surrogate pair, which is no character; mend the line",
        ),
        ([GOOD], "it holds an array, not an object; write one JSON object a line"),
        (3.5, "it holds a number, not an object; write one JSON object a line"),
        (None, "it holds null, not an object; write one JSON object a line"),
        (True, "it holds a truth value, not an object; write one JSON object a line"),
        ('"secret"', "it holds a text, not an object; write one JSON object a line"),
        ("secret", "not JSON: invalid character (byte 0); mend the line"),
        (
            "[",
            (
                "the JSON ends early, so this may be one JSON array over several lines; "
                "write one JSON object a line"
            ),
        ),
        (
            " {",
            (
                "the JSON ends early, so this may be one JSON object over several lines; "
                "write one JSON object a line"
            ),
        ),
        ("[" * 100_000, "the JSON nests too deep; mend the line"),
    ],
)
def test_a_first_line_of_no_format_is_told(first: object, message: str, tmp_path: Path) -> None:
    """By what it is, never by what it says."""
    path = write_lines(tmp_path / "t", [first, GOOD])
    assert refusal(path) == f"t, line 1: {message}, {SKIP}"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "the JSON ends early"),
        ('{"a": NaN}', "not JSON: invalid character (byte 6)"),
        ('{"hash_ids": [Infinity]}', "not JSON: invalid character (byte 14)"),
        (b'{"scope": "\xff\xfe"}', "the text is not UTF-8"),
        (b'{"scope": "\\ud800"}', "a text holds half of a surrogate pair, which is no character"),
        (
            b'{"scope": "\\uDBff", "and": "more behind it"}',
            "a text holds half of a surrogate pair, which is no character",
        ),
        (
            b'{"scope": "\\udc00"}',
            "a text holds half of a surrogate pair, which is no character",
        ),
        (b'{"scope": "\\ud83d\\ude80', "the JSON ends early"),
        ("[1]", "it holds an array, not an object"),
        ("17", "it holds a number, not an object"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "the JSON nests too deep"),
    ],
)
def test_a_bad_line_stops_with_its_number(line: object, reason: str, tmp_path: Path) -> None:
    """Blank lines count; what was read before it was given."""
    path = write_lines(tmp_path / "t", [GOOD, "", GOOD, line, GOOD])
    with open_trace(path) as reader:
        with pytest.raises(UsageError) as caught:
            list(reader)
        assert reader.requests == 2
    assert str(caught.value) == f"{path}, line 4: {reason}; mend the line, {SKIP}"


def test_skipped_lines_are_counted_and_the_first_few_told(tmp_path: Path) -> None:
    """Those before the first good line, too."""
    path = write_lines(tmp_path / "t", ["x", {"a": 1}, GOOD, *["{"] * 7, GOOD])
    with open_trace(path, on_bad="skip") as reader:
        assert len(list(reader)) == 2
        assert reader.skipped == 9
        assert [str(problem) for problem in reader.problems] == [
            "line 1: not JSON: invalid character (byte 0)",
            "line 2: object missing required field `input_length`",
            "line 4: the JSON ends early",
            "line 5: the JSON ends early",
            "line 6: the JSON ends early",
        ]


def test_a_file_of_nothing_but_bad_lines_is_told(tmp_path: Path) -> None:
    """Skipping all of a file is no success."""
    path = write_lines(tmp_path / "t", ["x", "y"])
    assert refusal(path, on_bad="skip", format="mooncake") == (
        "nothing in t can be read: all 2 lines were skipped, the first for this: "
        "line 1: not JSON: invalid character (byte 0); give another file or --format"
    )


def test_a_format_is_not_looked_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory stays bounded even where a file is of no format at all."""
    monkeypatch.setattr(opening, "_SNIFFED_LINES", 3)
    path = write_lines(tmp_path / "t", ["x"] * 9)
    assert refusal(path, on_bad="skip") == (
        "the first 3 lines of t are of no known format; name it with --format "
        "(mooncake, bailian, sessions, bodies)"
    )


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_stream_that_is_cut_off_is_told(pack: Any, tmp_path: Path) -> None:
    """Or counted as one line, if skipping is asked for; whole lines before it are read."""
    lines = b"".join(json.dumps(GOOD | {"timestamp": i}).encode() + b"\n" for i in range(9999))
    data = pack(lines)
    path = tmp_path / "t"
    path.write_bytes(data[: len(data) - 20])
    said = refusal(path)
    assert (
        f"stream is cut off at byte {len(data) - 20}; fetch the file again, or read what is "
        in said
    )
    assert said.endswith(SKIP)
    with open_trace(path, on_bad="skip") as reader:
        found = len(list(reader))
        assert reader.skipped == 1
        assert "stream is cut off" in reader.problems[0].reason
        assert 9000 < found <= 9999
        assert reader.problems[0].line == found + 1


def test_a_plain_file_that_is_cut_off_is_told(tmp_path: Path) -> None:
    """By its last line."""
    path = tmp_path / "t"
    path.write_text(json.dumps(GOOD) + "\n" + json.dumps(GOOD)[:-9])
    assert refusal(path) == f"t, line 2: the JSON ends early; mend the line, {SKIP}"


def test_a_line_beyond_the_bound_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of many MB are read; without a bound, one would fill the memory."""
    long = GOOD | {"note": "x" * 5_000_000}
    path = write_lines(tmp_path / "t", [GOOD, long, GOOD])
    assert len(read(path)) == 3
    short = functools.partial(numbered_lines, max_line_bytes=2**20)
    monkeypatch.setattr(opening, "numbered_lines", short)
    assert refusal(path) == (f"t, line 2: the line is longer than 256 MiB; mend the line, {SKIP}")
    assert len(read(path, on_bad="skip")) == 2


def test_a_million_ids_in_one_request_are_read(tmp_path: Path) -> None:
    """They take what they take, and no more."""
    ids = list(range(10**6))
    (request,) = read(
        write_lines(
            tmp_path / "t", [{"input_length": 16 * 10**6, "hash_ids": ids, "block_size": 16}]
        )
    )
    assert request.block_ids.tolist() == ids


def test_times_out_of_order_stay_as_they_are(tmp_path: Path) -> None:
    """The file's order is the order; who needs another one sorts."""
    lines = [GOOD | {"timestamp": ms} for ms in (5000, 1000, -2000)]
    assert [one.arrival_s for one in read(write_lines(tmp_path / "t", lines))] == [5.0, 1.0, -2.0]


def test_options_that_would_do_nothing_are_told() -> None:
    """Rather than dropped."""
    tokenizer = ModelPrompts(ByteTokenizer(), None)
    assert refusal(DATA / "mooncake.jsonl", tokenizer=tokenizer) == (
        "--tokenizer reads prompts of bodies, but mooncake.jsonl is a trace of mooncake, which "
        "has none; leave it out"
    )
    assert refusal(DATA / "bodies.jsonl", chain_ids=True) == (
        "--chain-ids is for hash traces, but bodies.jsonl is a log of bodies; leave it out"
    )
    assert refusal(DATA / "bailian.jsonl", chain_ids=True) == (
        "--chain-ids does nothing for bailian.jsonl, a trace of bailian, whose ids are always "
        "chained; leave it out"
    )


def test_formats_do_not_mix(tmp_path: Path) -> None:
    """A line of another format is told as one."""
    body = {"model": "m", "messages": []}
    path = write_lines(tmp_path / "t", [GOOD, body])
    assert refusal(path) == (
        "t, line 2: it looks like a record of bodies in a trace of mooncake; keep one format a "
        f"file, {SKIP}"
    )


_FIELDS = """
timestamp input_length output_length hash_ids block_size session_id scope tenant
session_timestamp unit chat_id parent_chat_id id requests rle t in out hash_id_scope model
messages role content prompt input tools system type text body request usage completion_tokens
user metadata cache_salt tool_calls function
""".split()  # noqa: SIM905  # words read better than a list of them

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(_FIELDS),
            inner,
            max_size=6,
        )
    ),
    max_leaves=25,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.binary(max_size=40) | _JSON.map(lambda value: json.dumps(value).encode())),
    st.sampled_from(FORMAT_NAMES),
)
def test_garbage_gives_a_message_or_a_count(
    tmp_path: Path, lines: list[bytes], format_name: str
) -> None:
    """Never anything else, whatever the lines hold and the format is called."""
    path = write_lines(tmp_path / "t", [line.replace(b"\n", b"") for line in lines])
    for on_bad in ("stop", "skip"):
        with (
            contextlib.suppress(UsageError),
            open_trace(path, format=format_name, on_bad=on_bad) as reader,
        ):
            for request in reader:
                assert request.prompt_tokens >= 0


def _places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner: Iterable[tuple[Any, object]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    for name, one in inner:
        yield from _places(one, (*path, name))


@st.composite
def _nearly_good(draw: st.DrawFn) -> tuple[str, bytes]:
    """A format and a record of it in which one value, deep or not, is another."""
    name = draw(st.sampled_from(FORMAT_NAMES[1:]))
    record = json.loads(draw(st.sampled_from((DATA / f"{name}.jsonl").read_text().splitlines())))
    root: Any = [record]
    path = (0, *draw(st.sampled_from(list(_places(record)))))
    holder = root
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = draw(_JSON)
    return name, json.dumps(root[0]).encode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_nearly_good())
def test_one_wrong_value_gives_a_message_or_is_read(
    tmp_path: Path, nearly: tuple[str, bytes]
) -> None:
    """Behind a good line, in every format, and the good line is always read."""
    name, line = nearly
    good = (DATA / f"{name}.jsonl").read_bytes().splitlines()[0]
    path = write_lines(tmp_path / "t", [good, line, good])
    with contextlib.suppress(UsageError):
        read(path)
    with open_trace(path, on_bad="skip") as reader:
        assert len(list(reader)) >= 2
        assert reader.skipped <= 1


def test_the_first_request_waits_for_nothing(tmp_path: Path) -> None:
    """Opening reads one line, so that a pipe's first request is there when its line is."""
    path = write_lines(tmp_path / "t", [GOOD, "x"])
    with open_trace(path) as reader:
        expected = request_of(
            1, 2, block_tokens=512, prompt_tokens=600, output_tokens=1, arrival_s=0.001
        )
        assert same(next(iter(reader)), expected)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_file_without_a_lines_end_is_given_up(
    pack: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the longest line, or, if such lines are skipped, at a bound that is said."""
    path = tmp_path / "t"
    path.write_bytes(pack(json.dumps(GOOD).encode() + b"\n" + bytes(2**23)))
    tight = functools.partial(numbered_lines, max_line_bytes=2**20, endless_bytes=2**22)
    monkeypatch.setattr(opening, "numbered_lines", tight)
    with open_trace(path) as reader:
        with pytest.raises(UsageError, match="line 2: the line is longer than 256 MiB"):
            list(reader)
        assert reader.bytes_total is not None
    assert (
        refusal(path, on_bad="skip") == "t, line 2: no line ends within 4 GiB; give a file of lines"
    )


def test_a_device_without_an_end_is_read_to_the_bound_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As `/dev/zero` is."""
    tight = functools.partial(numbered_lines, max_line_bytes=2**20, endless_bytes=2**22)
    monkeypatch.setattr(opening, "numbered_lines", tight)
    for on_bad, said in (("stop", "longer than"), ("skip", "no line ends within")):
        with pytest.raises(UsageError, match=said):
            read(Path("/dev/zero"), on_bad=on_bad)
