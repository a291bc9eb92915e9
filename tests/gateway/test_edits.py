import json
from random import Random
from typing import Any

import pytest

from stemcache.gateway.edits import BodyEdit, client_salt, edit_body
from stemcache.gateway.prompt_members import members

SALT = BodyEdit(salt="new")
DROP = BodyEdit(drop_salt=True)
ASK = BodyEdit(ask_usage=True)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"a":1}', b'{"a":1,"cache_salt":"new"}'),
        (b"{}", b'{"cache_salt":"new"}'),
        (b" { } \n", b' { "cache_salt":"new"} \n'),
        (b'{"cache_salt":"old"}', b'{"cache_salt":"new"}'),
        (b'{"cache_salt": null, "a": 1}', b'{"a": 1,"cache_salt":"new"}'),
        (b'{ "a" : 1 , "cache_salt" : 0 , "b":2 }', b'{ "a" : 1 , "b":2,"cache_salt":"new" }'),
        (b'{"a":1,"cache_salt":["x",{"}":"]"}]}', b'{"a":1,"cache_salt":"new"}'),
        (b'{"cache_salt":1,"cache_salt":2,"a":3,"cache_salt":4}', b'{"a":3,"cache_salt":"new"}'),
    ],
)  # fmt: skip
def test_a_salt_is_set_in_place_of_any_that_is_there(body: bytes, expected: bytes) -> None:
    """However often, and of whatever type; all else stays byte for byte."""
    assert edit_body(body, SALT) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"cache_salt":"x"}', b"{}"),
        (b'{ "cache_salt":"x" }', b"{  }"),
        (b'{"a":1,"cache_salt":"x"}', b'{"a":1}'),
        (b'{"cache_salt":"x" ,\n "a":1}', b'{"a":1}'),
        (b'{"a":1 , "cache_salt":{"b":[]}\t, "c":2 }', b'{"a":1 , "c":2 }'),
        (b'{"cache_salt":12,"cache_salt":123,"a":0,"cache_salt":1}', b'{"a":0}'),
        (b'{"cache_salt":"x","cache_salt":"x"}', b"{}"),
    ],
)
def test_a_salt_is_taken_out(body: bytes, expected: bytes) -> None:
    """With one comma, wherever it stands."""
    assert edit_body(body, DROP) == expected


@pytest.mark.parametrize(
    "name", [r"cache_\u0073alt", r"\u0063ache_salt", r"cache\u005Fsalt", r"cache\u005fsalt"]
)
def test_a_name_spelled_with_escapes_is_found(name: str) -> None:
    """The replica reads it so, and it would be a salt that a client chose."""
    body = f'{{"{name}":"other tenant","a":1}}'.encode()
    assert edit_body(body, DROP) == b'{"a":1}'
    assert edit_body(body, SALT) == b'{"a":1,"cache_salt":"new"}'
    assert client_salt(body) == "other tenant"


@pytest.mark.parametrize(
    "body",
    [
        rb'{"messages":[{"role":"user","content":"\"cache_salt\":\"x\"","cache_salt":"y"}]}',
        b'{"a":{"cache_salt":"x"},"b":"cache_salt"}',
        b'{"a":["cache_salt"],"Cache_Salt":1,"cache_salt ":2}',
    ],
)
def test_what_only_looks_like_a_salt_stays(body: bytes) -> None:
    """Inside of messages, as a value, or by another name."""
    assert edit_body(body, DROP) is body


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"stream":true}', b'{"stream":true,"stream_options":{"include_usage":true}}'),
        (b'{"stream_options":null}', b'{"stream_options":{"include_usage":true}}'),
        (b'{"stream_options":{},"a":1}', b'{"a":1,"stream_options":{"include_usage":true}}'),
        (
            b'{"stream_options": { "x": [1] , "include_usage" : false }}',
            b'{"stream_options":{ "x": [1],"include_usage":true }}',
        ),
        (
            b'{"stream_options":{"include_usage":0},"stream_options":{"y":1}}',
            b'{"stream_options":{"y":1,"include_usage":true}}',
        ),
    ],
)
def test_usage_is_asked_for_beside_what_else_is_asked(body: bytes, expected: bytes) -> None:
    """Other stream options are kept as they were written."""
    assert edit_body(body, ASK) == expected


@pytest.mark.parametrize(
    "body",
    [
        b'{"stream_options":{"include_usage":true}}',
        b'{"stream_options":7}',
        b'{"stream_options":[]}',
        b'{"stream_options":"include_usage"}',
    ],
)
def test_usage_is_not_asked_for_where_it_is_or_cannot_be(body: bytes) -> None:
    """A wrong type is the replica's to refuse."""
    assert edit_body(body, ASK) is body


def test_half_a_pair_of_surrogates_stays_as_it_was() -> None:
    """The replica gets the client's own bytes; a salt beside it is taken out."""
    body = rb'{"a":"cut \ud83d","cache_salt":"\ud83d","b":"\udc00"}'
    assert edit_body(body, SALT) == rb'{"a":"cut \ud83d","b":"\udc00","cache_salt":"new"}'
    assert edit_body(body, DROP) == rb'{"a":"cut \ud83d","b":"\udc00"}'
    assert edit_body(rb'{"\ud83d":1}', SALT) == rb'{"\ud83d":1,"cache_salt":"new"}'


def test_edits_are_made_together() -> None:
    """A salt and usage in one go, in this order."""
    body = b'{"model":"m","cache_salt":"a","stream":true}'
    done = edit_body(body, BodyEdit(salt="b", ask_usage=True))
    assert done == (
        b'{"model":"m","stream":true,"cache_salt":"b","stream_options":{"include_usage":true}}'
    )


def test_a_salt_is_escaped_as_json() -> None:
    """Whatever characters it has."""
    done = edit_body(b"{}", BodyEdit(salt='"}\n\\é'))
    assert json.loads(done) == {"cache_salt": '"}\n\\é'}


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"null", b'{"a":1', b'{"a":NaN}', b"\xff", b'{"a":1}{}', b'{"\xff":1}',
     b'{"a":' + b"[" * 100_000, b'{"cache_salt":"x"'],
)  # fmt: skip
def test_a_body_that_is_no_object_stays_as_it_is(body: bytes) -> None:
    """The replica refuses it."""
    assert edit_body(body, BodyEdit(salt="x", ask_usage=True)) is body
    assert client_salt(body) is None


def test_no_edit_gives_the_same_object() -> None:
    """And an edit without arguments is none."""
    body = b'{"cache_salt":"x"}'
    assert not BodyEdit()
    assert edit_body(body, BodyEdit()) is body


def test_members_that_are_known_need_not_be_read_again() -> None:
    """The reader of the prompt has them."""
    body = b'{"a":1,"cache_salt":"x"}'
    assert edit_body(body, DROP, fields=members(body)) == b'{"a":1}'
    assert client_salt(body, fields=members(body)) == "x"


@pytest.mark.parametrize(
    ("body", "salt"),
    [
        (b'{"cache_salt":"x"}', "x"),
        (b'{"cache_salt":""}', None),
        (b'{"cache_salt":5}', None),
        (b'{"cache_salt":"a","cache_salt":"b"}', "b"),
        (b'{"a":{"cache_salt":"x"}}', None),
    ],
)
def test_a_clients_own_salt_is_read(body: bytes, salt: str | None) -> None:
    """The last one, if it is a text."""
    assert client_salt(body) == salt


def test_a_salt_is_shown_nowhere() -> None:
    """Edits may be logged."""
    assert "secret" not in repr(BodyEdit(salt="secret"))


VALUES = [
    *('"x"', "1", "-1.5e3", "12", "true", "null", "{}", "[]", '"\\\\"', '"é😀"'),
    *('{"cache_salt":"in"}', '[1,"]",{"}":2}]', r'"\"cache_salt\":1,"'),
]
NAMES = [
    "a",
    "b",
    "model",
    "cache_salt",
    "stream_options",
    r"cache_s\u0061lt",
    "}",
    ",",
    r"\"",
    "é",
]


def random_body(rng: Random) -> str:
    """An object of random members, names repeated, space everywhere."""

    def space() -> str:
        return rng.choice(["", "", " ", "\n\t", "  \r\n"])

    members = [
        f'{space()}"{rng.choice(NAMES)}"{space()}:{space()}{rng.choice(VALUES)}{space()}'
        for _ in range(rng.randint(0, 6))
    ]
    return f"{space()}{{{','.join(members) or space()}}}{space()}"


def pairs_of(body: str | bytes) -> list[tuple[str, Any]]:
    """All members in order, repeated ones too."""
    found: list[tuple[str, Any]] = json.loads(body, object_pairs_hook=list)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_random_bodies_keep_all_other_members_in_order(seed: int) -> None:
    """Against a reading of all members, repeated ones too."""
    rng = Random(seed)
    for _ in range(400):
        text = random_body(rng)
        kept = [pair for pair in pairs_of(text) if pair[0] != "cache_salt"]
        assert pairs_of(edit_body(text.encode(), DROP)) == kept
        assert pairs_of(edit_body(text.encode(), SALT)) == [*kept, ("cache_salt", "new")]
        json.loads(edit_body(text.encode(), BodyEdit(salt="x", ask_usage=True)))


def test_many_repeated_members_take_no_longer_than_their_bytes() -> None:
    """No step goes over what another has gone over."""
    body = b"{" + b",".join(b'"cache_salt":[%d]' % i for i in range(50_000)) + b"}"
    assert edit_body(body, DROP) == b"{}"
    deep = b'{"cache_salt":' + b"[" * 500 + b"]" * 500 + b',"cache_salt":1}'
    assert edit_body(deep, DROP) == b"{}"
