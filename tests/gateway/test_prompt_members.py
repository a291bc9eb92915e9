import json
from random import Random

import msgspec
import pytest

from stemcache.gateway.prompt_members import (
    Span,
    decode_any,
    decode_as,
    members,
    spans,
    unreadable,
)

COUNT = msgspec.json.Decoder(int)


def test_members_are_raw_and_the_last_of_equal_names_counts() -> None:
    """By the names that JSON means, without the space around values."""
    found = members(rb' {"a" : [1, 2 ] , "\u0062":  "x\u00e9" ,"a":' + b"\t-1.5e3\n} ")
    assert found is not None
    assert {name: bytes(raw) for name, raw in found.items()} == {
        "a": b"-1.5e3",
        "b": rb'"x\u00e9"',
    }


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"[]", b"1", b"null", b"{", b'{"a"}', b'{"a":1,}', b"{a:1}", b'{"a":NaN}'),
        *(b'{"a":01}', b'{"a":1}x', b'{"\xff":1}'),
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_what_is_no_object_has_no_members(body: bytes) -> None:
    """Nothing is raised, however deep it nests."""
    assert members(body) is None


def test_half_a_pair_of_surrogates_is_no_reason_not_to_read() -> None:
    """As JavaScript writes a character that was cut; all else stands where it stood."""
    body = rb'{"\udc00":1, "a":"cut \ud83d","b":"\ud83d\ude00", "a":["\ud83d"] }'
    found = members(body)
    assert found is not None
    assert {name: bytes(raw) for name, raw in found.items()} == {
        "\ufffd": b"1",
        "a": rb'["\ufffd"]',
        "b": rb'"\ud83d\ude00"',
    }
    places = spans(body, found)
    assert [(one.name, body[one.value : one.end]) for one in places] == [
        ("\ufffd", b"1"),
        ("a", rb'"cut \ud83d"'),
        ("b", rb'"\ud83d\ude00"'),
        ("a", rb'["\ud83d"]'),
    ]
    assert unreadable(body) is None


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"{}", None),
        (b"", "it ends before the object does"),
        (b'{"a":1', "it ends before the object does"),
        (b'{"a":"cut \\ud8', "it ends before the object does"),
        (b"[1]", "it is JSON, but no object"),
        (b"\xef\xbb\xbf{}", "it begins with a byte order mark"),
        ('{"a":1}'.encode("utf-16"), "it is in UTF-16 or UTF-32"),
        ('{"a":1}'.encode("utf-16-be"), "it is in UTF-16 or UTF-32"),
        ('{"a":1}'.encode("utf-32-le"), "it is in UTF-16 or UTF-32"),
        (b'{"a":NaN}', "it has NaN or Infinity at byte 5, which JSON has not"),
        (b'{"a":[Infinity]}', "it has NaN or Infinity at byte 6, which JSON has not"),
        (b'{"a":-Infinity}', "it has NaN or Infinity at byte 6, which JSON has not"),
        (b'{"a":' + b"[" * 100_000, "it nests too deeply"),
        (b'{"\xff":1}', "a name in it is not in UTF-8"),
        (b'{"a":1}x', "something follows the object, at byte 8"),
        (b"{'a':1}", "at byte 1 it is no JSON"),
        (b'{"a":1,}', "at byte 7 it is no JSON"),
        (b'{"a":"\n"}', "at byte 6 it is no JSON"),
        (b"--x\r\n", "at byte 1 it is no JSON"),
    ],
)  # fmt: skip
def test_it_is_said_why_a_body_cannot_be_read(body: bytes, why: str | None) -> None:
    """And nothing of what it says."""
    assert unreadable(body) == why
    assert (members(body) is None) is (why is not None)


@pytest.mark.parametrize(
    "raw", [b'"\xff"', b"[" * 100_000, b"9" * 100_000, b"", b"x", b'"\\ud800"']
)
def test_a_value_that_cannot_be_read_is_none(raw: bytes) -> None:
    """As a missing one is."""
    assert decode_any(raw) is None
    assert decode_as(raw, COUNT) is None


def test_a_value_of_another_type_is_none() -> None:
    """Where one type is wanted."""
    assert decode_as(b"7", COUNT) == 7
    assert decode_as(b'"7"', COUNT) is None
    assert decode_as(None, COUNT) is None


def test_spans_say_where_members_stand() -> None:
    """From the key's quote to behind the value."""
    body = b'{ "a" : 1 , "b":[ "]" ]}'
    found = members(body)
    assert found is not None
    assert spans(body, found) == [Span("a", 2, 8, 9), Span("b", 12, 16, 23)]
    assert spans(b" {} ", {}) == []


@pytest.mark.parametrize("seed", range(4))
def test_spans_cut_random_objects_into_their_members(seed: int) -> None:
    """Each with the key and the value that the whole reading gives, repeated ones too."""
    rng = Random(seed)
    values = [0, 1, 12, 123, -1.5, "x", "}", '"', "\\", [], {}, ["]", {"a": [1]}], {"b": "{"}, None]
    for _ in range(300):
        pairs = [(rng.choice('ab\\"}é'), rng.choice(values)) for _ in range(rng.randint(0, 6))]
        text = ",".join(
            f"{rng.choice((' ', ''))}{json.dumps(name)}{rng.choice((' ', ''))}:"
            f"{rng.choice((' ', ''))}{json.dumps(value)}{rng.choice((' ', ''))}"
            for name, value in pairs
        )
        body = f"{{{text}}}".encode()
        found = members(body)
        assert found is not None
        places = spans(body, found)
        assert [(one.name, json.loads(body[one.value : one.end])) for one in places] == pairs
        assert all(body[one.start : one.start + 1] == b'"' for one in places)
