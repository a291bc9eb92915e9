import json
from collections import Counter
from itertools import pairwise
from random import Random

import pytest

from stemcache.errors import UsageError
from stemcache.replay.prompts import PromptMaker, TextPrompts, TokenPrompts, TokenRange
from stemcache.replay.selection import Planned
from stemcache.replay.words import WORDS
from tests.replay.made import planned, request

RANGE = TokenRange(1000, 30000)


def tokens(each: Planned, salt: str = "s", span: TokenRange = RANGE) -> list[int]:
    """The prompt as ids."""
    made = TokenPrompts(salt, span)
    found: list[int] = json.loads(made.opening + b"".join(made.pieces(each)) + made.closing)
    return found


def words(each: Planned, salt: str = "s") -> list[str]:
    """The prompt as words."""
    made = TextPrompts(salt)
    text: str = json.loads(made.opening + b"".join(made.pieces(each)) + made.closing)
    return text.split(" ")


def shared(a: list[int], b: list[int]) -> int:
    """Length of the common beginning."""
    return next(
        (at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )


def test_lengths_are_exact() -> None:
    """To the token, partial blocks and what lies behind them included."""
    for ids, length in (([1], 4), ([1, 2], 7), ([1, 2], 10), ([], 3), ([1, 2, 3], 5)):
        one = planned(0, ids, tokens=length)
        assert len(tokens(one)) == len(words(one)) == length


def test_prompts_share_what_their_ids_share_and_no_more() -> None:
    """For random traces of chained ids: the common beginning is that of the ids, to the token."""
    random = Random(11)
    children: dict[tuple[int, ...], int] = {}
    prompts = []
    for number in range(150):
        path: tuple[int, ...] = ()
        ids = []
        for _ in range(random.randint(1, 6)):
            path = (*path, random.randint(0, 1))
            ids.append(children.setdefault(path, len(children)))
        length = len(ids) * 32 - random.choice([0, 0, 5])
        prompts.append(planned(number, ids, tokens=length, block=32))
    made = [tokens(each) for each in prompts]
    for a in range(0, 150, 3):
        for b in range(a):
            both = zip(prompts[a].request.block_ids, prompts[b].request.block_ids, strict=False)
            blocks = next((at for at, (x, y) in enumerate(both) if x != y), 99)
            expected = min(blocks * 32, len(made[a]), len(made[b]))
            assert shared(made[a], made[b]) == expected


def test_what_no_block_covers_is_each_requests_own() -> None:
    """The trace does not say that it is shared."""
    a, b = (tokens(planned(number, [1], tokens=7)) for number in (0, 1))
    assert a[:4] == b[:4]
    assert a[4:] != b[4:]


def test_a_partial_block_is_the_beginning_of_the_whole_one() -> None:
    """Equal ids are equal up to the shorter end."""
    long = tokens(planned(0, [1], tokens=9000, block=9000))
    short = tokens(planned(1, [1], tokens=5000, block=9000))
    assert long[:5000] == short


def test_scopes_and_salts_and_ids_share_nothing() -> None:
    """Whatever their text: fields are told apart by their lengths."""
    block = {"block": 64}
    made = [
        tokens(planned(0, [1], **block), "s"),
        tokens(planned(0, [2], **block), "s"),
        tokens(planned(0, [-1], **block), "s"),
        tokens(planned(0, [1], **block), "t"),
        tokens(planned(0, [1], scope="x", **block), "s"),
        tokens(planned(0, [1], scope="1:s", **block), ""),
        tokens(planned(1, [], tokens=64, **block), "s"),
    ]
    assert all(shared(a, b) <= 1 for at, a in enumerate(made) for b in made[:at])


def test_a_salt_changes_prompts_from_the_first_block_on_and_no_relation() -> None:
    """A rerun with another salt finds nothing, and hits itself as before."""
    trace = [planned(number, [7, number % 3, number], block=16) for number in range(9)]
    plain, salted = ([tokens(each, salt) for each in trace] for salt in ("", "x"))
    assert all(shared(a, b) == 0 for a in plain for b in salted)
    for mine, theirs in zip(pairwise(plain), pairwise(salted), strict=True):
        assert shared(*mine) == shared(*theirs)


def test_prompts_are_the_same_on_every_machine_and_day() -> None:
    """Two runs are compared by number, so this must not change."""
    assert tokens(planned(0, [1, 2], tokens=7)) == [16308, 17403, 3222, 1684, 3817, 2085, 24559]
    assert words(planned(0, [1], tokens=3)) == ["wind", "age", "imagine"]


def test_tokens_lie_in_the_range_and_fill_it() -> None:
    """Both ends included."""
    few = TokenRange(5, 8)
    counts = Counter(tokens(planned(0, [1], block=4000), span=few))
    assert set(counts) == {5, 6, 7, 8}
    assert min(counts.values()) > 800
    assert set(tokens(planned(0, [1], block=100), span=TokenRange(0, 1))) == {0, 1}


@pytest.mark.parametrize(("low", "high"), [(5, 5), (6, 5), (-1, 5), (0, 2**31)])
def test_a_range_without_choice_is_refused(low: int, high: int) -> None:
    """The message says what a range is."""
    with pytest.raises(UsageError) as caught:
        TokenRange(low, high)
    assert str(caught.value) == (
        f"--token-range is {low}-{high}; give two ids, the smaller one first, such as 1000-30000"
    )


@pytest.mark.parametrize("maker", [TokenPrompts("", RANGE), TextPrompts("")])
def test_pieces_are_small(maker: PromptMaker) -> None:
    """Whoever makes a prompt of a million tokens can do other things between."""
    one = Planned(0, request([1], block=50_000), 1)
    pieces = list(maker.pieces(one))
    assert len(pieces) == 13
    assert max(map(len, pieces)) < 40_000


def test_a_probe_shows_whether_prompts_are_taken() -> None:
    """Both ends of the range, as a vocabulary may end within it."""
    assert TokenPrompts("", RANGE).probe() == b"1000,30000"
    assert TextPrompts("").probe() == b"able about"


def test_words_are_plain() -> None:
    """Sorted, different, short, and nothing to escape in JSON."""
    assert tuple(sorted(set(WORDS))) == WORDS
    assert all(word.isascii() and word.isalpha() and word.islower() for word in WORDS)
    assert max(map(len, WORDS)) <= 10
