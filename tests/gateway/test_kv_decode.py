import base64
import json
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from stemcache.gateway.holdings import Holdings
from stemcache.gateway.kv_decode import MOST_MESSAGE_BYTES, decode_batch
from stemcache.gateway.kv_events import (
    Batch,
    Cleared,
    KvEventsError,
    Removed,
    Stored,
    portions,
    read_live,
)

RECORDED = json.loads((Path(__file__).parent / "data/vllm_events.json").read_text())


def payloads(part: str) -> list[bytes]:
    """As a real vLLM sent them."""
    return [
        read_live([base64.b64decode(frame) for frame in one["frames"]]).payload
        for one in RECORDED[part]["live"]
    ]


def decoded(*events: Any, rank: Any = 0) -> Batch:
    """A batch of these events, by way of its bytes."""
    return decode_batch(msgspec.msgpack.encode([1.5, list(events), rank]))


def a_map(**fields: Any) -> dict[str, Any]:
    """A BlockStored as vLLM sends it, with some fields otherwise."""
    return {
        "type": "BlockStored",
        "block_hashes": [11, 12],
        "parent_block_hash": 10,
        "token_ids": [1, 2, 3, 4],
        "block_size": 2,
        "lora_id": None,
        "medium": "GPU",
        "lora_name": None,
        **fields,
    }


def only(batch: Batch) -> Any:
    """The one event of a batch."""
    (event,) = batch.events
    return event


TOKENS = b"".join(token.to_bytes(4, "little") for token in (1, 2, 3, 4))


@pytest.mark.parametrize(
    ("part", "kinds"),
    [
        ("plenty", [[Stored], [Stored], [Stored], [Cleared, Stored]]),
        (
            "sixteen_blocks",
            [
                [Stored],
                [*[Removed] * 2, Stored],
                [*[Removed] * 8, Stored],
                [*[Removed] * 8, Stored],
                [*[Removed] * 2, Stored],
            ],
        ),
    ],
)
def test_what_a_real_vllm_published_is_read_whole(part: str, kinds: list[list[type]]) -> None:
    """Frames recorded from a real vLLM decode into the events that it meant, nothing unknown."""
    batches = [decode_batch(payload) for payload in payloads(part)]
    assert [[type(event) for event in batch.events] for batch in batches] == kinds
    assert not any(batch.unknown for batch in batches)
    assert {batch.rank for batch in batches} == {0}


def test_a_real_salt_is_read_from_the_extra_keys() -> None:
    """A salt of vLLM comes untagged in the first block's extra keys; it is taken out of there."""
    salted = only(decode_batch(payloads("plenty")[2]))
    assert (salted.salt, salted.adapter, salted.extras) == ("tenant-a", None, ())
    assert (salted.group, salted.full_attention, salted.block_tokens) == (0, True, 32)


def test_a_map_and_an_array_are_the_same_event() -> None:
    """The two encodings of vLLM mean the same."""
    array = ["BlockStored", [11, 12], 10, [1, 2, 3, 4], 2, None, "GPU", "sql", [None, None], 3]
    one = only(decoded(array))
    assert one == only(decoded(a_map(lora_name="sql", extra_keys=[None, None], group_idx=3)))
    assert one == Stored((11, 12), 10, TOKENS, 2, "GPU", adapter="sql", group=3)
    assert only(decoded(["BlockRemoved", [7], "CPU"])) == Removed((7,), "CPU")
    assert only(decoded({"type": "BlockRemoved", "block_hashes": [7], "medium": "CPU"})) == Removed(
        (7,), "CPU"
    )
    assert decoded(["AllBlocksCleared"], {"type": "AllBlocksCleared"}).events == (
        Cleared(),
        Cleared(),
    )


def test_the_oldest_arrays_name_no_tier() -> None:
    """SGLang's first events have six values and no rank; they mean the tier computed from."""
    batch = decode_batch(
        msgspec.msgpack.encode(
            [2, [["BlockStored", [-1], None, [1, 2], 2, None], ["BlockRemoved", [-1]]]]
        )
    )
    assert batch == Batch(
        (Stored((2**64 - 1,), None, TOKENS[:8], 2, "GPU"), Removed((2**64 - 1,), "GPU")), at_s=2.0
    )


def test_sglangs_maps_name_salt_and_adapter() -> None:
    """SGLang sends the salt as a field of its own, and other names of tiers."""
    event = a_map(medium="CPU_PINNED", cache_salt="t", lora_name="sql", session_id="s")
    del event["lora_id"]
    assert only(decoded(event)) == Stored(
        (11, 12), 10, TOKENS, 2, "CPU_PINNED", adapter="sql", salt="t"
    )
    array = ["BlockStored", [11, 12], 10, [1, 2, 3, 4], 2, None, "DISK", "t", "session", "sql"]
    assert only(decoded(array)) == Stored((11, 12), 10, TOKENS, 2, "DISK", adapter="sql", salt="t")


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (5, 5),
        (-1, 2**64 - 1),
        (2**64 - 1, 2**64 - 1),
        (b"\x00" * 24 + b"\xff" * 8, 2**64 - 1),
        (b"\x00" * 7 + b"\x05", 5),
    ],
)
def test_a_hash_is_64_bits_however_it_comes(sent: Any, read: int) -> None:
    """Signed, unsigned or bytes, a hash is its low 64 bits."""
    assert only(decoded(a_map(block_hashes=[sent, 1], parent_block_hash=sent))).hashes == (read, 1)
    assert only(decoded({"type": "BlockRemoved", "block_hashes": [sent]})).hashes == (read,)


def test_positions_in_pairs_are_their_first_tokens() -> None:
    """With a draft model SGLang sends each token beside the next one."""
    pairs = [[1, 2], [2, 3], [3, 4], [4, 5]]
    assert only(decoded(a_map(token_ids=pairs))).tokens == TOKENS


@pytest.mark.parametrize(
    ("fields", "adapter", "salt", "extras"),
    [
        ({"extra_keys": [["s"], None]}, None, "s", ()),
        ({"extra_keys": [["sql", "s"], ["sql"]], "lora_name": "sql"}, "sql", "s", ()),
        ({"extra_keys": [["sql"], ["sql"]], "lora_name": "sql"}, "sql", None, ()),
        (
            {"extra_keys": [[["lora", "sql"], ["cache_salt", "s"]], None], "lora_name": "sql"},
            "sql",
            "s",
            (),
        ),
        (
            {"extra_keys": [[["img", 3], "s"], [["img", -1]]]},
            None,
            "s",
            ([["img", 3]], [["img", -1]]),
        ),
        ({"extra_keys": [None, [b"digest"]]}, None, None, (None, [b"digest"])),
        ({"lora_id": 3}, "\x003", None, ()),
        ({"extra_keys": None}, None, None, ()),
    ],
)
def test_extra_keys_are_told_apart(fields: Any, adapter: Any, salt: Any, extras: Any) -> None:
    """The adapter and the salt are taken out; what is left belongs to its block."""
    event = only(decoded(a_map(parent_block_hash=None, **fields)))
    assert (event.adapter, event.salt) == (adapter, salt)
    assert [extra and msgspec.msgpack.decode(extra) for extra in event.extras] == list(extras)


def test_a_string_behind_the_first_block_is_no_salt() -> None:
    """A salt is in a prompt's first block only; elsewhere a string is an image's name."""
    event = only(decoded(a_map(extra_keys=[["image"], None])))
    assert event.salt is None
    assert msgspec.msgpack.decode(event.extras[0]) == ["image"]


@pytest.mark.parametrize(
    ("kind", "full"),
    [
        ("full_attention", True),
        ("mla_attention", True),
        ("sliding_window", False),
        ("mamba", False),
        ("unknown", None),
        (None, None),
    ],
)
def test_the_kind_of_layers_is_known_where_it_is_said(kind: Any, full: Any) -> None:
    """Only what attends to everything is full; what is not said is not known."""
    assert only(decoded(a_map(kv_cache_spec_kind=kind))).full_attention is full


def test_two_places_of_one_medium_are_two_tiers() -> None:
    """The owner of a secondary tier is part of its name."""
    assert only(decoded(a_map(medium="storage", ownership="fs"))).tier == "STORAGE/fs"
    removed = {"type": "BlockRemoved", "block_hashes": [1], "medium": "STORAGE", "ownership": "fs"}
    assert only(decoded(removed)).tier == "STORAGE/fs"


def test_a_block_that_was_moved_has_no_tokens() -> None:
    """Offloading may say that a hash is in a tier and nothing else of it."""
    event = a_map(
        block_hashes=[11], parent_block_hash=None, token_ids=[], block_size=0, medium="CPU"
    )
    assert only(decoded(event)) == Stored((11,), None, b"", 0, "CPU")


def test_what_is_not_known_is_counted_and_left_out() -> None:
    """Events and fields of another day do no harm, and are seen."""
    batch = decoded(
        {"type": "BlockMoved", "x": 1},
        a_map(colour="red"),
        ["BlockFrozen", 1],
        ["BlockRemoved", [1], "GPU", None, None, None, "more"],
        {"type": "AllBlocksCleared", "why": "asked"},
    )
    assert [type(event) for event in batch.events] == [Stored, Removed, Cleared]
    assert batch.unknown == {
        "BlockMoved": 1,
        "BlockStored.colour": 1,
        "BlockFrozen": 1,
        "BlockRemoved (further values)": 1,
    }


def test_unknown_names_are_bounded() -> None:
    """However many names a message makes up, few are kept, and those cut."""
    batch = decoded(*[{"type": f"{'x' * 200}{number}"} for number in range(50)], {"type": "y"})
    assert all(len(name) <= 129 for name in batch.unknown)
    batch = decoded(*[{"type": f"kind{number}"} for number in range(50)])
    assert len(batch.unknown) == 21
    assert batch.unknown["others"] == 30


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b"", "not msgpack (DecodeError)"),
        (b"\xc1", "not msgpack (DecodeError)"),
        (b"\xdd\xff\xff\xff\xff", "not msgpack (DecodeError)"),
        (b"\x91" * 100_000, "not msgpack (RecursionError)"),
        (b"\x81\xa1x" * 50_000, "not msgpack (RecursionError)"),
        (b"\x90\x90", "not msgpack (DecodeError)"),
        (b"\x90", "not [time, [event, …], rank]"),
        (b"\x92\x01\x80", "not [time, [event, …], rank]"),
        (b"\x80", "not [time, [event, …], rank]"),
        (b"\x00" * (MOST_MESSAGE_BYTES + 1), "16,777,217 bytes, more than 16,777,216"),
    ],
)
def test_what_is_no_message_is_said_so(payload: bytes, message: str) -> None:
    """Bytes that are no batch are an error of ours, however they are wrong."""
    with pytest.raises(KvEventsError) as raised:
        decode_batch(payload)
    assert str(raised.value) == f"KV event message: {message}"


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (7, "KV event 1: int, not a map or an array with its type"),
        ([], "KV event 1: list, not a map or an array with its type"),
        ([3], "KV event 1: its type is int, not a string"),
        ({"type": ["x"]}, "KV event 1: its type is list, not a string"),
        (["BlockStored"], "KV event 1: block_hashes is NoneType, not an array"),
        (
            a_map(block_hashes=[1.5]),
            "KV event 1: block_hashes: a hash is float, not an integer or 8 bytes or more",
        ),
        (
            a_map(block_hashes=[True]),
            "KV event 1: block_hashes: a hash is bool, not an integer or 8 bytes or more",
        ),
        (
            a_map(parent_block_hash=b"x"),
            "KV event 1: parent_block_hash: a hash is bytes, not an integer or 8 bytes or more",
        ),
        (a_map(block_size=None), "KV event 1: no block_size"),
        (a_map(block_size=-1), "KV event 1: block_size: not an integer from 0 to 2^31-1"),
        (a_map(block_size=2**40), "KV event 1: block_size: not an integer from 0 to 2^31-1"),
        (a_map(token_ids="secret"), "KV event 1: token_ids is str, not an array"),
        (a_map(token_ids=[1, -1]), "KV event 1: token_ids are not integers from 0 to 2^32-1"),
        (a_map(token_ids=[1, 2**32]), "KV event 1: token_ids are not integers from 0 to 2^32-1"),
        (a_map(token_ids=["a"]), "KV event 1: token_ids are not integers from 0 to 2^32-1"),
        (a_map(token_ids=[[1], 2]), "KV event 1: token_ids are neither integers nor pairs"),
        (a_map(token_ids=[[1], []]), "KV event 1: token_ids are neither integers nor pairs"),
        (a_map(medium=3), "KV event 1: medium is int, not a string"),
        (a_map(lora_name=3), "KV event 1: lora_name is int, not a string"),
        (a_map(lora_id=[]), "KV event 1: lora_id is list, not an integer"),
        (a_map(extra_keys=3), "KV event 1: extra_keys is int, not an array"),
        (a_map(extra_keys=[3]), "KV event 1: extra_keys[0] is int, not an array or nothing"),
        (a_map(group_idx="0"), "KV event 1: group_idx: not an integer from 0 to 2^31-1"),
        (a_map(cache_salt=b"x"), "KV event 1: cache_salt is bytes, not a string"),
    ],
)
def test_a_bad_event_says_which_and_what(event: Any, message: str) -> None:
    """The error names the event's place and the field, and shows none of its tokens."""
    with pytest.raises(KvEventsError) as raised:
        decoded(["AllBlocksCleared"], event)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("time", "at_s"), [(1, 1.0), (float("nan"), None), ("x", None), (True, None)]
)
def test_a_time_that_makes_no_sense_is_none(time: Any, at_s: Any) -> None:
    """The engine's clock is for looking at; a strange one is no error."""
    assert decode_batch(msgspec.msgpack.encode([time, []])).at_s == at_s


def test_a_strange_rank_is_an_error() -> None:
    """A rank decides whose the events are."""
    with pytest.raises(KvEventsError, match="rank: not an integer from 0"):
        decoded(rank="0")


@pytest.mark.parametrize("seed", range(20))
def test_no_bytes_do_harm(seed: int) -> None:
    """Messages with bytes changed, cut or doubled are read or refused; holdings stay sound."""
    rng, held = Random(seed), Holdings(most_blocks=50)
    base = [*payloads("plenty"), *payloads("sixteen_blocks")]
    base.append(msgspec.msgpack.encode([1, [["BlockStored", [1], None, [1] * 32, 32, None]]]))
    read = 0
    for _ in range(150):
        payload = bytearray(rng.choice(base))
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(payload))
            kind = rng.randrange(3)
            if kind == 0:
                payload[at] = rng.randrange(256)
            elif kind == 1:
                del payload[at : at + rng.randrange(1, 9)]
            else:
                payload[at:at] = rng.randbytes(rng.randrange(1, 9))
            if not payload:
                break
        try:
            batch = decode_batch(bytes(payload))
        except KvEventsError as error:
            assert len(str(error)) < 400  # noqa: PT017  # its length is all that is asked
            continue
        read += 1
        for piece in portions(batch, most_blocks=7):
            held.apply(piece)
        held.check()
    assert read > 0


ODD: list[Any] = [
    None,
    True,
    -1,
    2**64 - 1,
    1.5,
    float("nan"),
    "",
    "x" * 300,
    b"",
    b"12345678",
    [],
    [[]],
    {},
    {"a": []},
    [None],
    [1, 2],
    [b"x", [3]],
]


@pytest.mark.parametrize("seed", range(20))
def test_no_type_anywhere_does_harm(seed: int) -> None:
    """Any value in any field is read or refused, as a map and as an array."""
    rng, held = Random(seed), Holdings(most_blocks=50)
    names = [*a_map(), "extra_keys", "group_idx", "kv_cache_spec_kind", "ownership", "cache_salt"]
    for _ in range(300):
        event: Any = a_map(
            **{rng.choice(names): rng.choice(ODD) for _ in range(rng.randrange(1, 3))}
        )
        if rng.random() < 0.5:
            event = list(event.values())
        try:
            held.apply(decoded(event, {"type": "BlockRemoved", "block_hashes": [11]}))
        except KvEventsError:
            continue
        held.check()
