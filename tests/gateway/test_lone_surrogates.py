r"""Half of a pair of surrogates in a JSON string."""

import json
from random import Random

import pytest

from stemcache.gateway.lone_surrogates import without_lone_surrogates


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (rb'"cut \ud83d"', rb'"cut \ufffd"'),
        (rb'"\uDC00 cut"', rb'"\ufffd cut"'),
        (rb'"\ud83d\ud83d\ude00"', rb'"\ufffd\ud83d\ude00"'),
        (rb'"\ud83d\ude00\ude00"', rb'"\ud83d\ude00\ufffd"'),
        (rb'"\ud83d\u0041"', rb'"\ufffd\u0041"'),
        (rb'"\ud83d\\ude00"', rb'"\ufffd\\ude00"'),
        (rb'"\\\ud83d"', rb'"\\\ufffd"'),
    ],
)
def test_half_a_pair_is_read_as_the_sign_for_what_cannot_be_read(text: bytes, read: bytes) -> None:
    """As long as before, so that all else stands where it stood."""
    assert without_lone_surrogates(text) == read
    assert len(read) == len(text)


@pytest.mark.parametrize(
    "text",
    [b"", rb'"\ud83d\ude00"', rb'"\\ud83d"', rb'"\u00e9\n"', b'"\xf0\x9f\x98\x80"', rb'"\ud8'],
)
def test_what_has_none_is_left_alone(text: bytes) -> None:
    """The same object, whatever else is in it."""
    assert without_lone_surrogates(text) is text


@pytest.mark.parametrize("seed", range(5))
def test_it_reads_as_python_does_but_for_the_halves(seed: int) -> None:
    """At random strings of escapes."""
    rng = Random(seed)
    for _ in range(200):
        parts = [r"\ud83d", r"\ude00", r"\\", r"\n", "ud83d", r"\u0041", '\\"', "x"]
        text = '"' + "".join(rng.choices(parts, k=rng.randrange(8))) + '"'
        wanted = "".join("�" if "\ud800" <= c <= "\udfff" else c for c in json.loads(text))
        assert json.loads(without_lone_surrogates(text.encode())) == wanted
