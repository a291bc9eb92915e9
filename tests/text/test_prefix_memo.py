from collections.abc import Iterable
from random import Random
from threading import Thread

import pytest

from stemcache.text.prefix_memo import Encode, Keyed, PrefixMemo

ROOT = b"root"


def spelled(keys: list[int], root: bytes, units: Iterable[bytes]) -> None:
    """Keys that say what they were made of: the unit itself, and how many came before."""
    del root
    for unit in units:
        keys.append(len(keys) << 32 | int.from_bytes(unit, "little"))


class Encoder:
    """Content is the piece itself; counts what it was asked for."""

    def __init__(self) -> None:
        self.bytes = 0

    def __call__(self, contents: list[bytes]) -> list[bytes]:
        self.bytes += sum(map(len, contents))
        return contents


def walked(
    memo: PrefixMemo,
    pieces: Iterable[bytes],
    rest: bytes | None = None,
    *,
    namespace: bytes = b"n",
    units: Iterable[int] = (4,),
    encode: Encode = list,
    remember_rest: bool = False,
) -> Keyed:
    """Take pieces and a rest through the memo."""
    walk = memo.walk(namespace=namespace, root=ROOT, units=units, encode=encode, chain=spelled)
    for piece in pieces:
        walk.add(piece)
    return walk.finish(rest, remember_rest=remember_rest)


def expected(content: bytes, size: int) -> list[int]:
    """The keys of content, made at once."""
    keys: list[int] = []
    whole = len(content) - len(content) % size
    spelled(keys, ROOT, [content[i : i + size] for i in range(0, whole, size)])
    return keys


def test_keys_are_those_of_the_whole_content() -> None:
    """Units go over the boundaries of pieces; what is less than a unit at the end has no key."""
    done = walked(PrefixMemo(10_000), [b"abc", b"", b"defgh"], b"ijk")
    assert done.content_bytes == 11
    assert done.keys == {4: expected(b"abcdefghijk", 4)}
    assert len(done.keys[4]) == 2


def test_a_prompt_without_pieces_has_no_keys() -> None:
    """Nothing at all, and a rest alone."""
    memo = PrefixMemo(10_000)
    assert walked(memo, []) == Keyed(0, {4: []}, 0)
    assert walked(memo, [], b"abcde").keys == {4: expected(b"abcde", 4)}
    assert len(memo) == 0


def test_a_next_turn_encodes_only_what_is_new() -> None:
    """What stood before a boundary is known then, and the rest never is."""
    memo = PrefixMemo(100_000)
    walked(memo, [b"a" * 50, b"b" * 50], b"prompt")
    encoder = Encoder()
    done = walked(memo, [b"a" * 50, b"b" * 50, b"c" * 10], b"prompt", encode=encoder)
    assert encoder.bytes == 16
    assert done.known_bytes == 100
    assert done.keys == {4: expected(b"a" * 50 + b"b" * 50 + b"c" * 10 + b"prompt", 4)}
    memo.check()


def test_a_fork_of_a_prompt_goes_on_from_what_is_shared() -> None:
    """Another end behind the same beginning."""
    memo = PrefixMemo(100_000)
    walked(memo, [b"a" * 5000, b"b" * 50, b"c" * 50, b"d" * 50])
    encoder = Encoder()
    done = walked(memo, [b"a" * 5000, b"x" * 50], encode=encoder)
    assert encoder.bytes == 50
    assert done.keys == {4: expected(b"a" * 5000 + b"x" * 50, 4)}


def test_a_boundary_is_known_by_all_bytes_before_it() -> None:
    """Cut otherwise before it, it is the same; where there was none, nothing is known."""
    memo = PrefixMemo(100_000)
    walked(memo, [b"ab", b"cd"])
    assert walked(memo, [b"abc", b"d"]).known_bytes == 4
    assert walked(memo, [b"abc"]).known_bytes == 0


def test_namespaces_share_nothing() -> None:
    """The same prompt of another tenant is computed anew."""
    memo = PrefixMemo(100_000)
    walked(memo, [b"a" * 50], namespace=b"one")
    assert walked(memo, [b"a" * 50], namespace=b"one").known_bytes == 50
    assert walked(memo, [b"a" * 50], namespace=b"two").known_bytes == 0


def test_other_unit_sizes_are_computed_when_they_are_asked_for() -> None:
    """Keys of several sizes come together."""
    memo = PrefixMemo(100_000)
    content = bytes(range(50))
    walked(memo, [content])
    done = walked(memo, [content], units=(4, 3))
    assert done.known_bytes == 0
    assert done.keys == {3: expected(content, 3), 4: expected(content, 4)}
    assert walked(memo, [content], units=(3, 4)).known_bytes == 50
    assert walked(memo, [content], units=()).keys == {}


def test_a_long_rest_is_remembered_if_asked_to() -> None:
    """The same prompt sent again costs nothing; a beginning with that end is still no boundary."""
    memo = PrefixMemo(100_000)
    rest = b"r" * 2000
    walked(memo, [b"abc"], rest, remember_rest=True)
    encoder = Encoder()
    done = walked(memo, [b"abc"], rest, encode=encoder, remember_rest=True)
    assert encoder.bytes == 0
    assert done.known_bytes == 2003
    assert done.keys == {4: expected(b"abc" + rest, 4)}
    assert walked(memo, [b"abc", rest]).known_bytes == 3
    memo.check()


def test_memory_stays_under_its_bound() -> None:
    """However many prompts there are; the latest are kept, each with all of its beginning."""
    memo = PrefixMemo(200_000)
    rng = Random(1)
    prompts = [[rng.randbytes(3000) for _ in range(5)] for _ in range(200)]
    for prompt in prompts:
        walked(memo, prompt)
        assert memo.used_bytes <= 200_000
    memo.check()
    assert walked(memo, prompts[-1]).known_bytes == 15_000
    assert walked(memo, prompts[0]).known_bytes == 0


def test_what_does_not_fit_at_all_is_computed_and_not_kept() -> None:
    """A memo of no size is one that never knows."""
    memo = PrefixMemo(0)
    assert walked(memo, [b"abcd"]).keys == {4: expected(b"abcd", 4)}
    assert len(memo) == 0
    assert walked(memo, [b"abcd"]).known_bytes == 0
    memo.check()


@pytest.mark.parametrize("seed", range(4))
def test_random_prompts_have_the_keys_of_their_whole_content(seed: int) -> None:
    """Growing, forking and repeating conversations under a small bound, against no memo."""
    rng = Random(seed)
    memo = PrefixMemo(60_000)
    talks: list[list[bytes]] = [[]]
    for _ in range(60):
        talk = list(rng.choice(talks[-12:]))
        talk = talk[: rng.randint(0, len(talk))] if rng.random() < 0.3 else talk
        talk += [rng.randbytes(rng.choice((0, 1, 3, 70, 5000))) for _ in range(rng.randint(0, 3))]
        talks.append(talk)
        rest = rng.choice((None, b"", b"xyz", b"r" * 1500))
        done = walked(memo, talk, rest, units=(4, 7), remember_rest=rng.random() < 0.5)
        content = b"".join(talk) + (rest or b"")
        assert done.content_bytes == len(content)
        assert done.keys == {4: expected(content, 4), 7: expected(content, 7)}
        memo.check()


def test_several_threads_may_walk_at_once() -> None:
    """Each gets the keys of its own prompt, and the memo stays whole."""
    memo = PrefixMemo(50_000)
    rng = Random(3)
    pieces = [rng.randbytes(500) for _ in range(12)]
    wrong: list[int] = []

    def run(seed: int) -> None:
        chance = Random(seed)
        for _ in range(100):
            talk = [*pieces[: chance.randint(1, 12)], bytes([chance.randrange(3)]) * 600]
            if walked(memo, talk).keys != {4: expected(b"".join(talk), 4)}:
                wrong.append(seed)

    threads = [Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    memo.check()
