from collections.abc import Callable
from hashlib import blake2b
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.core.tokens import Chain
from stemcache.trace.anonymize import Anonymizer
from stemcache.trace.record import TraceRequest
from tests.trace.traces import related_requests, request_of, shared_blocks

KEY = bytes(range(32))
OTHER = bytes(range(1, 33))


@given(requests=related_requests(), keep_sessions=st.booleans())
def test_every_pair_shares_exactly_what_it_did(
    requests: list[TraceRequest], *, keep_sessions: bool
) -> None:
    """No block more and no block less, across scopes and sessions, in any order of appearance."""
    hide = Anonymizer(KEY, keep_sessions=keep_sessions)
    hidden = [hide(one) for one in requests]
    for (left, right), (one, other) in zip(
        combinations(requests, 2), combinations(hidden, 2), strict=True
    ):
        assert shared_blocks(one, other) == shared_blocks(left, right)


@given(related_requests())
def test_what_was_seen_before_changes_no_id(requests: list[TraceRequest]) -> None:
    """What is remembered of earlier requests only saves time."""
    hide = Anonymizer(KEY)
    for one in requests:
        assert hide(one).block_ids.tolist() == Anonymizer(KEY)(one).block_ids.tolist()


def test_nothing_but_times_lengths_and_pseudonyms_is_kept() -> None:
    """Scopes and sessions go, the rest of the numbers stays to the last bit."""
    request = request_of(
        7,
        8,
        prompt_tokens=9,
        output_tokens=3,
        arrival_s=0.1 + 0.2,
        scope="secret",
        session="alice",
        tenant="acme",
    )
    hidden = Anonymizer(KEY)(request)
    assert (hidden.scope, hidden.session, hidden.session_clock) == ("", None, False)
    assert (hidden.block_tokens, hidden.prompt_tokens, hidden.output_tokens) == (4, 9, 3)
    assert hidden.arrival_s == request.arrival_s
    assert hidden.tenant not in {None, "acme"}
    assert len(hidden.block_ids) == 2
    assert (hidden.block_ids >= 0).all()
    assert not {7, 8} & set(hidden.block_ids.tolist())


def test_sessions_are_kept_where_they_are_part_of_the_time() -> None:
    """Or if asked for; always under another name."""
    clocked = request_of(1, session="alice", session_clock=True, arrival_s=1.0)
    plain = request_of(1, session="alice")
    name = Anonymizer(KEY)(clocked).session
    assert name not in {None, "alice"}
    assert Anonymizer(KEY)(clocked).session_clock
    assert Anonymizer(KEY, keep_sessions=True)(plain).session == name
    assert Anonymizer(KEY)(plain).session is None


def test_one_name_has_different_pseudonyms_as_tenant_and_as_session() -> None:
    """So that the two cannot be compared; equal tenants stay equal."""
    hide = Anonymizer(KEY, keep_sessions=True)
    one, other = (hide(request_of(i, session="x", tenant="x")) for i in (1, 2))
    assert one.tenant != one.session
    assert (one.tenant, one.session) == (other.tenant, other.session)


def test_traces_under_one_key_can_be_joined_and_others_cannot() -> None:
    """Equal keys give equal ids and pseudonyms; different ones have nothing in common."""
    request = request_of(1, 2, 3, tenant="acme")
    first, again, other = (Anonymizer(key)(request) for key in (KEY, KEY, OTHER))
    assert first.block_ids.tolist() == again.block_ids.tolist()
    assert first.tenant == again.tenant
    assert not set(first.block_ids.tolist()) & set(other.block_ids.tolist())
    assert first.tenant != other.tenant


def test_block_sizes_do_not_mix() -> None:
    """Equal ids of different block sizes stand for different prompts."""
    small, large = (Anonymizer(KEY)(request_of(1, block_tokens=size)) for size in (4, 8))
    assert small.block_ids[0] != large.block_ids[0]


def _true_ids(prompt: str) -> TraceRequest:
    chain = Chain(list(prompt.encode()), block_size=4, namespace=b"public")
    ids = [int.from_bytes(key[:8], "little", signed=True) for key in chain.keys(chain.blocks)]
    return request_of(*ids)


def _plain_hash(ids: list[int]) -> set[int]:
    found, chained = set(), b""
    for one in ids:
        chained = blake2b(chained + one.to_bytes(8, "little", signed=True)).digest()
        found.add(int.from_bytes(chained[:8], "little") & (2**63 - 1))
    return found


@pytest.mark.parametrize(
    "attack",
    [
        lambda prompt: {one & (2**63 - 1) for one in _true_ids(prompt).block_ids.tolist()},
        lambda prompt: _plain_hash(_true_ids(prompt).block_ids.tolist()),
        lambda prompt: set(Anonymizer(bytes(32))(_true_ids(prompt)).block_ids.tolist()),
        lambda prompt: set(Anonymizer(OTHER)(_true_ids(prompt)).block_ids.tolist()),
    ],
    ids=["the ids themselves", "a hash without key", "a key of zeros", "another key"],
)
def test_a_dictionary_of_the_true_prompts_finds_nothing(
    attack: Callable[[str], set[int]],
) -> None:
    """Without the key, who has every prompt of the trace matches not one block of it."""
    prompts = [f"You are a helpful assistant. Question {i}: what is {i} + {i}?" for i in range(500)]
    hidden = {
        one for prompt in prompts for one in Anonymizer(KEY)(_true_ids(prompt)).block_ids.tolist()
    }
    guessed = {one for prompt in prompts for one in attack(prompt)}
    assert len(hidden) > 1000
    assert len(guessed) > 1000
    assert not hidden & guessed


def test_a_block_alone_cannot_be_found_again() -> None:
    """One id behind different beginnings has different pseudonyms: no counting of blocks."""
    hide = Anonymizer(KEY)
    found = {int(hide(request_of(first, 77)).block_ids[1]) for first in range(50)}
    assert len(found) == 50


def test_a_short_key_is_a_mistake_of_the_program() -> None:
    """Files with short keys are refused where they are read."""
    with pytest.raises(AssertionError, match="a key of 31 bytes"):
        Anonymizer(bytes(31))
