"""Golden vectors: what other processes, machines and engines compute must stay equal to ours."""

from collections.abc import Mapping
from hashlib import sha256

import cbor2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.core.hashing import (
    SCHEMES,
    BlockKey,
    KeyScheme,
    sglang_event_id,
    sglang_page_keys,
    stem_keys,
    vllm_cbor_keys,
    vllm_event_id,
    vllm_extra,
)
from stemcache.core.namespace import Namespace
from stemcache.core.tokens import Chain


def raw(*tokens: int) -> bytes:
    """Tokens as a scheme takes them."""
    return np.array(tokens, "<u4").tobytes()


def hexed(keys: list[BlockKey]) -> list[str]:
    """Keys as people write them."""
    return [key.hex() for key in keys]


TWO = raw(*range(32))
NAMESPACE = Namespace("smol", "r1", "bfloat16", None, "tenant-a", 0).encode()

OURS = [
    (
        {},
        "2253bb0b6d45c3c3751995f8f2fd7b612f0f597be2a246fafd393b61267e8bcb",
        "fb4c8a5d1591a13ba8ee38cb4c86f2bc8b8b44f20f6f5be16fb2da050587ea86",
    ),
    (
        {0: b""},
        "95ae33b9d9838ac430752e3387672872ff739ee19442e66f238ca4e043697da8",
        "34ad2c74d55a6a53f6c78b724bc7975ef617d680225fef893cba69ab0ef5e7e7",
    ),
    (
        {0: b"tenant-a"},
        "eb5eacf8dab965d38cb2ddf261764825d0f12443245fe73383eda90ee603b13e",
        "38070c8396b6292b328dd9567debcfdd07a626233f12764d13668675dd6cc7e3",
    ),
    (
        {1: b"tenant-a"},
        "2253bb0b6d45c3c3751995f8f2fd7b612f0f597be2a246fafd393b61267e8bcb",
        "e08044931b2c4efc5993b99d05ed40a7647e6a90151a3f47a6154d73a263ddef",
    ),
]


@pytest.mark.parametrize(("extras", "first", "second"), OURS)
def test_our_scheme_is_frozen(extras: dict[int, bytes], first: str, second: str) -> None:
    """Keys kept by one version are found by the next: without, with empty, with later extras."""
    keys = hexed(stem_keys(None, TWO, 16, extras, 0))

    assert [first, second] == keys


def test_our_scheme_is_frozen_at_block_size_one() -> None:
    """The tree's block size has vectors of its own."""
    keys = hexed(stem_keys(None, raw(0, 1, 2), 1, {}, 0))

    assert [
        "f9f0c58ec0511089f602d10f5d2f6527db544c58a403962fc9c37ce8e9a02c37",
        "5982b8f702287787da62ffad3fe404f9a68570b015ce429924ee2c2a23cd5a44",
        "23b2ff8a7196c805694a54ed32bbedaff696f1cb2d176ac28b48ae3bd89499d3",
    ] == keys


def test_a_chain_in_a_namespace_is_frozen() -> None:
    """Namespace, its encoding and the chain together give keys that do not change."""
    plain = Chain(range(32), block_size=16, namespace=NAMESPACE)
    media = Chain(range(32), block_size=16, namespace=NAMESPACE, extras={0: b"m"})

    assert [
        "60c6a3c1e5fcc246cd5564c0ff677150c76dcac9517fd62c7c1fb03dc1b8d5c5",
        "7fa5326e20dbc51571827fd2d9978dae56f0444cc2f791ebcc57162ad0826278",
    ] == hexed(plain.keys(2))
    assert [
        "9539e6588fc637be9cb9edfaa748521b8e508b9b02150fb01158c6e033225985",
        "4ab75308a62e0cb99f11abbcbf3b741f758adaea08f081698c697140401cd28e",
    ] == hexed(media.keys(2))


def spelt_out(parent: bytes, extra: bytes | None, tokens: bytes) -> bytes:
    """One key of our scheme, from its documentation."""
    sizes = (len(parent), 0xFFFFFFFF if extra is None else len(extra), len(tokens))
    lengths = b"".join(size.to_bytes(4, "little") for size in sizes)
    return sha256(b"stm1" + lengths + parent + (extra or b"") + tokens).digest()


@given(
    tokens=st.lists(st.integers(0, 2**32 - 1), max_size=40),
    block_size=st.integers(1, 17),
    extras=st.dictionaries(st.integers(0, 50), st.binary(max_size=80), max_size=6),
    start=st.integers(0, 4),
    parent=st.none() | st.binary(min_size=32, max_size=32),
)
def test_our_scheme_is_what_its_documentation_says(
    tokens: list[int],
    block_size: int,
    extras: dict[int, bytes],
    start: int,
    parent: bytes | None,
) -> None:
    """However blocks and extras fall, each key is the digest of tag, lengths and fields."""
    size = 4 * block_size
    data = raw(*tokens[: len(tokens) // block_size * block_size])
    chained = parent or b""
    expected: list[bytes] = []
    for number in range(len(data) // size):
        chained = spelt_out(
            chained, extras.get(start + number), data[number * size : (number + 1) * size]
        )
        expected.append(chained)

    key = None if parent is None else BlockKey(parent)

    assert expected == stem_keys(key, data, block_size, extras, start)


FIELDS = st.sampled_from(
    [b"", b"\x00", b"a", b"ab", b"b", b"stm1", b"stm1\x20\x00\x00\x00", b"\xff\xff\xff\xff"]
) | st.binary(max_size=40)
PARENTS = st.none() | st.sampled_from([b"\x00" * 32, b"\xff" * 32, b"stm1" * 8])
INPUTS = st.tuples(PARENTS, st.none() | FIELDS, st.lists(st.integers(0, 3), min_size=1, max_size=4))


@given(left=INPUTS, right=INPUTS)
def test_no_two_inputs_give_one_key(
    left: tuple[bytes | None, bytes | None, list[int]],
    right: tuple[bytes | None, bytes | None, list[int]],
) -> None:
    """Parent, extra and tokens are told apart, wherever one field ends and the next begins."""

    def key(each: tuple[bytes | None, bytes | None, list[int]]) -> BlockKey:
        parent, extra, tokens = each
        extras: Mapping[int, bytes] = {} if extra is None else {0: extra}
        above = None if parent is None else BlockKey(parent)
        return stem_keys(above, raw(*tokens), len(tokens), extras, 0)[0]

    assert (left == right) == (key(left) == key(right))


def test_bytes_moved_across_a_boundary_change_the_key() -> None:
    """An extra that ends in a block's bytes, and a block that begins with an extra's, differ."""
    moved = stem_keys(None, raw(7, 7), 2, {0: b""}, 0)
    whole = stem_keys(None, raw(7), 1, {0: raw(7)}, 0)
    fewer = stem_keys(None, raw(7, 7), 1, {0: b""}, 0)

    assert 4 == len({moved[0], whole[0], *fewer})


def test_a_parent_that_is_no_digest_is_refused() -> None:
    """The length of a parent is part of the message, so it must be what it is said to be."""
    with pytest.raises(AssertionError) as error:
        stem_keys(BlockKey(b"short"), raw(1), 1, {}, 0)

    assert "a parent of 5 bytes; a key has 32" == str(error.value)


@pytest.mark.parametrize("scheme", [stem_keys, vllm_cbor_keys, sglang_page_keys])
def test_a_chain_may_be_keyed_in_pieces(scheme: KeyScheme) -> None:
    """Going on from any key gives what the whole chain gives."""
    data = raw(*range(24))
    whole = scheme(None, data, 4, {}, 0)
    for cut in range(1, 6):
        head = scheme(None, data[: 16 * cut], 4, {}, 0)
        tail = scheme(head[-1], data[16 * cut :], 4, {}, cut)

        assert whole == head + tail


def test_no_tokens_have_no_keys() -> None:
    """An empty chain is a chain."""
    assert [[], [], []] == [scheme(None, b"", 4, {}, 0) for scheme in SCHEMES.values()]


def test_vllm_sha256_cbor_gives_the_reference_vectors() -> None:
    """Keys equal those derived from vLLM's definition, first and chained block."""
    first, second = vllm_cbor_keys(None, TWO, 16, {}, 0)

    assert "dc918a88b139e5afe60b88eda27508d4aee16c10fdc354791efea06206ac0749" == first.hex()
    assert "c300ec275d7bf08af8fc63e76cdc0086911bbc7091e03c5cf892553bef84ef0c" == second.hex()
    assert 2233398808101521225 == vllm_event_id(first)


def test_vllm_sha256_cbor_with_a_salt_gives_the_reference_vector() -> None:
    """A salt enters the first block's extra keys."""
    first = vllm_cbor_keys(None, TWO[:64], 16, {0: vllm_extra(salt="tenant-a")}, 0)

    assert ["4e31e1ced73eb044a95997f0109d0ddab3d9145878214f1a0ee37c048b397859"] == hexed(first)


def test_vllm_extra_keys_are_typed_and_in_order() -> None:
    """Adapter, media, salt and embeddings stand as tagged tuples in vLLM's order."""
    extra = vllm_extra(
        embeds=b"\x01" * 32, salt="s", media=(("img", 0), ("img2", 9)), lora=("n", "/p")
    )
    expected = [
        ["lora", "n", "/p"],
        ["mm", "img", 0],
        ["mm", "img2", 9],
        ["cache_salt", "s"],
        ["prompt_embeds", b"\x01" * 32],
    ]

    assert expected == cbor2.loads(extra)
    assert cbor2.loads(vllm_extra()) is None


def test_vllm_keys_are_digests_of_one_canonical_array() -> None:
    """The message put together by hand is the one that a CBOR encoder writes."""
    salt = vllm_extra(salt="tenant-a")
    tokens = [0, 23, 24, 255, 256, 65_535, 65_536, 2**32 - 1]
    root = sha256(cbor2.dumps("vllm-none-hash")).digest()
    message = cbor2.dumps((root, tokens, (("cache_salt", "tenant-a"),)), canonical=True)

    assert [sha256(message).digest()] == vllm_cbor_keys(None, raw(*tokens), 8, {0: salt}, 0)


def test_an_adapter_and_a_salt_of_one_name_differ() -> None:
    """The confusion that made vLLM tag its extra keys does not happen."""
    adapter = vllm_extra(lora=("x", "x"))

    assert adapter != vllm_extra(salt="x")


def test_sglang_page_hash_gives_the_reference_vectors() -> None:
    """Keys and event ids equal those derived from SGLang's definition."""
    keys = sglang_page_keys(None, TWO, 16, {}, 0)

    assert [
        "5d85718ec594b982c252d0279e5966ffca33a5eaf2a455038d3ab331fde70cea",
        "4681c0107c38f402cd1bc30b0b09a65202dba31f98269d9d7f63f5e0dea6901a",
    ] == hexed(keys)
    assert [6738917275443968386, 5080553031686747138] == [sglang_event_id(key) for key in keys]


def test_event_ids_are_unsigned_in_vllm_and_signed_in_sglang() -> None:
    """The two engines cut their ids from opposite ends of a key."""
    key = BlockKey(b"\xff" * 8 + b"\x00" * 16 + b"\xff" * 8)

    assert 2**64 - 1 == vllm_event_id(key)
    assert -1 == sglang_event_id(key)


def test_a_seed_namespaces_an_sglang_chain() -> None:
    """A seed stands where the parent's digest stands."""
    seed = sha256(b"tenant").digest()
    (seeded,) = sglang_page_keys(None, raw(1, 2), 2, {0: seed}, 0)

    assert sha256(seed + raw(1, 2)).digest() == seeded


def test_a_seed_that_is_no_digest_is_refused() -> None:
    """Bytes of any other length could be mistaken for tokens."""
    with pytest.raises(AssertionError) as error:
        sglang_page_keys(None, raw(1), 1, {0: b"tenant"}, 0)

    assert "a seed of 6 bytes; use a digest" == str(error.value)


def test_an_extra_behind_block_0_is_refused_by_sglangs_scheme() -> None:
    """What a scheme cannot express it must not ignore."""
    with pytest.raises(AssertionError) as error:
        sglang_page_keys(None, raw(1, 2), 1, {1: b"x" * 32}, 0)

    assert "this scheme has no extras behind block 0" == str(error.value)


def test_schemes_have_the_names_users_give_them() -> None:
    """The table of schemes is the closed set of names."""
    assert {
        "stemcache": stem_keys,
        "vllm-sha256-cbor": vllm_cbor_keys,
        "sglang": sglang_page_keys,
    } == SCHEMES
