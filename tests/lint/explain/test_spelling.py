import json

import pytest

from stemcache.lint.explain.json_map import Paths, scan
from stemcache.lint.explain.spelling import Spelling, spellings


def found(old: str, new: str, *, rendered: tuple[str, ...] = ()) -> list[Spelling]:
    """What differs in spelling."""
    paths = Paths()
    one, other = scan(old, paths), scan(new, paths)
    assert one is not None
    assert other is not None
    numbers = [paths.find(pointer) for pointer in rendered]
    return spellings(one, other, rendered=[number for number in numbers if number is not None])


def test_equal_texts_differ_in_nothing() -> None:
    """Neither do texts that differ in what they say."""
    assert found('{"a": 1}', '{"a": 1}') == []
    assert found('{"a": 1}', '{"a": 2}') == []
    assert found('{"a": "x\\n"}', '{"a": "y\\n"}') == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            '{"a": 1}',
            '{"a":1}',
            Spelling(
                kind="white-space",
                count=1,
                pointer="",
                old="on one line",
                new="without white space",
            ),
        ),
        (
            '{"a": 1}',
            '{"a" : 1}',
            Spelling(
                kind="white-space",
                count=1,
                pointer="",
                old="on one line",
                new="on one line, in another way",
            ),
        ),
        (
            '{"a":["\\u00e9","\\/",1]}',
            '{"a":["é","/",1]}',
            Spelling(kind="escapes", count=2, pointer="/a/0"),
        ),
        (
            '{"a":"\\ud83d\\ude00"}',
            '{"a":"\\uD83D\\uDE00"}',
            Spelling(kind="escapes", count=1, pointer="/a"),
        ),
        ('{"a":1.0}', '{"a":1}', Spelling(kind="numbers", count=1, pointer="/a")),
        ('{"a":1E2}', '{"a":100}', Spelling(kind="numbers", count=1, pointer="/a")),
        ('{"a":-0}', '{"a":0}', Spelling(kind="numbers", count=1, pointer="/a")),
        (
            '{"model":"m","messages":[]}',
            '{"messages":[],"model":"m"}',
            Spelling(
                kind="key-order", count=1, pointer="", old="model, messages", new="messages, model"
            ),
        ),
        (
            '{"a":2}',
            '{"a":1,"a":2}',
            Spelling(kind="repeated-keys", count=1, pointer="/a", old="none", new="1"),
        ),
    ],
)
def test_each_kind_is_told(old: str, new: str, expected: Spelling) -> None:
    """With the place of the first."""
    assert found(old, new) == [expected]


def test_what_a_provider_writes_out_again_is_left_to_the_contents() -> None:
    """The order of a schema's keys, and its numbers, are seen; its escapes are not."""
    old = '{"tools":[{"a":1.0,"b":"\\u00e9"}],"x":1.0}'
    new = '{"tools":[{"b":"é","a":1}],"x":1}'
    kinds = [(one.kind, one.pointer) for one in found(old, new, rendered=("/tools/0",))]
    assert kinds == [("escapes", "/tools/0/b"), ("numbers", "/x")]


@pytest.mark.parametrize(
    ("old", "new"),
    [("1" * 5000, "1" * 5000 + ".0"), ("1e999999999", "1e999999998"), ("NaN", "null")],
)
def test_absurd_numbers_are_left_alone(old: str, new: str) -> None:
    """And cost no time."""
    assert found(f'{{"a":{old}}}', f'{{"a":{new}}}') == []


def test_keys_that_only_one_side_has_are_no_order() -> None:
    """Order is of what both have."""
    assert found('{"a":1,"b":2}', '{"a":1,"c":3,"b":2}') == []
    many = {f"k{i}": i for i in range(9)}
    one = found(json.dumps(many), json.dumps(dict(reversed(many.items()))))[0]
    assert one.old == "k0, k1, k2, k3, k4, k5, …"
