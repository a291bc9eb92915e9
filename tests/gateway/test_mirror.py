"""What seats are believed to hold, by source."""

from array import array

import msgspec
import pytest

from stemcache.gateway.decision import Source
from stemcache.gateway.guess import Verdict
from stemcache.gateway.holdings import Holdings
from stemcache.gateway.kv_decode import decode_batch
from stemcache.gateway.kv_events import Batch, Stored
from stemcache.gateway.mirror import Mirror
from stemcache.gateway.prompt import Prompt
from stemcache.gateway.usage import AnswerUsage
from stemcache.policy.route.contract import View
from stemcache.policy.route.rates import ASSUMED
from tests.gateway.prompts import nothing_to_route, text_prompt, token_prompt

BLOCK = 16


def stored(tokens: list[int], *, parent: int | None = None, first: int = 1) -> bytes:
    """A batch of vLLM's with one chain of blocks, hashed 1, 2, 3 …"""
    count = len(tokens) // BLOCK
    event = {
        "type": "BlockStored",
        "block_hashes": list(range(first, first + count)),
        "parent_block_hash": parent,
        "token_ids": tokens[: count * BLOCK],
        "block_size": BLOCK,
        "lora_id": None,
        "medium": "GPU",
        "lora_name": None,
    }
    return msgspec.msgpack.encode([1.0, [event], None])


def fed(*messages: bytes) -> Holdings:
    """Holdings that were told so much."""
    holdings = Holdings(most_blocks=1000)
    for message in messages:
        holdings.apply(decode_batch(message))
    return holdings


def belief(mirror: Mirror, prompt: Prompt, seat: int = 0) -> tuple[int, Source]:
    """Cached tokens and what that rests on; a view is shown the same."""
    tokens = mirror.prompt_tokens(prompt)
    found = mirror.beliefs(prompt, [seat], tokens)[0]
    view = View("seat", 7, 7, 0, 0, 0.0, 0.0, 0.0, ASSUMED)
    assert list(mirror.show(prompt, [seat], [view], tokens)) == [found.source]
    assert (view.cached_tokens, view.slow_tokens) == (found.cached, found.slow)
    assert view.held_tokens == mirror.held_tokens(seat)
    assert view.capacity_tokens == mirror.capacity_tokens(seat)
    mirror.check()
    return found.cached, found.source


def make(*, exact: bool = True, kv_tokens: int | None = None) -> Mirror:
    """With one seat, 0."""
    mirror = Mirror(most_bytes=2**22, exact=exact)
    mirror.join(0, kv_tokens=kv_tokens)
    return mirror


TOKENS = list(range(1000, 1000 + 10 * BLOCK))


def test_events_are_believed_before_a_guess() -> None:
    """What was routed there long ago is forgotten once events are complete."""
    mirror = make()
    mirror.landed(0, mirror.routed(0, token_prompt(TOKENS)))
    assert belief(mirror, token_prompt(TOKENS)) == (9 * BLOCK, Source.GUESS)
    mirror.follow(0, fed(stored(TOKENS[: 4 * BLOCK])), complete=True)
    assert belief(mirror, token_prompt(TOKENS)) == (4 * BLOCK, Source.EVENTS)
    assert mirror.held_tokens(0) == 4 * BLOCK


def test_a_prompt_on_its_way_counts_until_its_flight_ends() -> None:
    """Events of it come later; siblings must follow it now."""
    mirror = make()
    mirror.follow(0, fed(), complete=True)
    units = mirror.routed(0, token_prompt(TOKENS))
    assert belief(mirror, token_prompt(TOKENS))[0] == 9 * BLOCK
    mirror.landed(0, units)
    assert belief(mirror, token_prompt(TOKENS))[0] == 0


def test_events_with_a_gap_are_believed_where_they_say_more() -> None:
    """Incomplete, the longer of both counts."""
    mirror = make()
    mirror.landed(0, mirror.routed(0, token_prompt(TOKENS[: 2 * BLOCK])))
    mirror.follow(0, fed(stored(TOKENS[: 6 * BLOCK])), complete=False)
    assert belief(mirror, token_prompt(TOKENS)) == (6 * BLOCK, Source.EVENTS)
    other = [7 * token for token in TOKENS]
    mirror.routed(0, token_prompt(other))
    assert belief(mirror, token_prompt(other)) == (9 * BLOCK, Source.GUESS)


def test_when_events_end_the_guess_begins_again() -> None:
    """Nothing is believed of what only events had told."""
    mirror = make()
    mirror.follow(0, fed(stored(TOKENS)), complete=True)
    mirror.follow(0, None, complete=False)
    assert belief(mirror, token_prompt(TOKENS)) == (0, Source.GUESS)
    mirror.routed(0, token_prompt(TOKENS))
    assert belief(mirror, token_prompt(TOKENS))[0] == 9 * BLOCK


def test_the_last_token_is_never_believed_cached() -> None:
    """Engines compute it: a prompt of whole blocks that is held whole lacks one."""
    mirror = make()
    mirror.follow(0, fed(stored(TOKENS)), complete=True)
    assert belief(mirror, token_prompt(TOKENS))[0] == 9 * BLOCK
    assert belief(mirror, token_prompt([*TOKENS, 5]))[0] == 10 * BLOCK


def test_block_sizes_are_those_that_seats_have() -> None:
    """Sixteen until a seat or its events say otherwise."""
    mirror = make()
    mirror.join(1, kv_tokens=None)
    assert mirror.block_sizes() == {16}
    mirror.told(1, kv_tokens=None, block_tokens=32)
    assert mirror.block_sizes() == {16, 32}
    prompt = token_prompt(TOKENS, blocks=(16, 32))
    mirror.routed(1, prompt)
    found = mirror.beliefs(prompt, [0, 1], 160)
    assert (found[0].cached, found[1].cached) == (0, 128)


def test_text_is_believed_in_tokens_that_answers_taught() -> None:
    """Bytes a token are learned from usage; a report corrects by shares."""
    mirror = make(exact=False)
    prompt = text_prompt("word " * 800)
    units = mirror.routed(0, prompt)
    assert mirror.prompt_tokens(prompt) == 1000
    verdict = mirror.reported(0, prompt, 0, AnswerUsage(800, 0, 1))
    mirror.landed(0, units)
    assert verdict is Verdict.AGREED
    assert mirror.prompt_tokens(prompt) == 800
    cached, source = belief(mirror, text_prompt("word " * 900))
    assert source is Source.GUESS
    assert 770 <= cached <= 800


def test_a_missing_report_teaches_nothing_of_the_cache() -> None:
    """Unknown, not zero."""
    mirror = make(exact=False)
    prompt = text_prompt("word " * 800)
    mirror.routed(0, prompt)
    before = belief(mirror, prompt)
    assert mirror.reported(0, prompt, 0, AnswerUsage(None, None, None)) is Verdict.UNKNOWN
    assert belief(mirror, prompt) == before


def test_a_seat_that_was_reset_holds_nothing() -> None:
    """By events or by guess."""
    mirror = make()
    mirror.follow(0, fed(stored(TOKENS)), complete=True)
    mirror.clear(0)
    assert belief(mirror, token_prompt(TOKENS))[0] == 0
    mirror.leave(0)
    mirror.check()


def test_what_another_gateway_sent_is_a_guess_of_the_same_kind() -> None:
    """Keys of other units are passed over, and so is all where events tell."""
    mirror = make()
    keys = token_prompt(TOKENS).tokens[16].keys
    mirror.heard(0, 32, keys)
    assert belief(mirror, token_prompt(TOKENS))[0] == 0
    mirror.heard(0, 16, keys)
    assert belief(mirror, token_prompt(TOKENS))[0] == 9 * BLOCK
    mirror.follow(0, fed(), complete=True)
    mirror.heard(0, 16, keys)
    assert belief(mirror, token_prompt(TOKENS))[0] == 0


def test_a_request_without_a_prompt_is_believed_nowhere() -> None:
    """And leaves nothing behind."""
    mirror = make()
    assert mirror.routed(0, nothing_to_route()) == 0
    assert belief(mirror, nothing_to_route()) == (0, Source.NONE)


def test_capacity_is_as_told() -> None:
    """What is routed beyond it pushes out what came first."""
    mirror = make(kv_tokens=8 * BLOCK)
    assert mirror.capacity_tokens(0) == 8 * BLOCK
    one, other = token_prompt(TOKENS[: 6 * BLOCK]), token_prompt(TOKENS[::-1][: 6 * BLOCK])
    mirror.routed(0, one)
    mirror.routed(0, other)
    assert mirror.held_tokens(0) == 8 * BLOCK
    assert belief(mirror, other)[0] == 5 * BLOCK
    assert belief(mirror, one)[0] == 2 * BLOCK


def test_flights_may_end_after_their_seat_has_left() -> None:
    """Nothing is left to be told."""
    mirror = make()
    units = mirror.routed(0, token_prompt(TOKENS))
    mirror.leave(0)
    mirror.landed(0, units)
    assert mirror.reported(0, token_prompt(TOKENS), 0, AnswerUsage(1, 1, 1)) is Verdict.UNKNOWN


@pytest.mark.parametrize("cached", [0, 64, 160, 10**9])
def test_no_report_breaks_an_invariant(cached: int) -> None:
    """Whatever a replica says."""
    mirror = make()
    for number in range(40):
        prompt = token_prompt([token + number // 4 for token in TOKENS])
        units = mirror.routed(0, prompt)
        mirror.reported(0, prompt, 0, AnswerUsage(160, cached, 1))
        mirror.landed(0, units)
        mirror.check()


def test_events_of_a_typed_batch_and_of_the_wire_are_the_same() -> None:
    """The helper of this file makes what the decoder makes."""
    batch = decode_batch(stored(TOKENS[:BLOCK]))
    assert isinstance(batch, Batch)
    (event,) = batch.events
    assert isinstance(event, Stored)
    assert array("I", event.tokens).tolist() == TOKENS[:BLOCK]


def test_seats_that_differ_are_each_shown_what_they_hold() -> None:
    """Longer, shorter and nothing at all, and whatever a view said before; of no prompt nothing."""
    mirror = make(exact=False, kv_tokens=64_000)
    mirror.join(1, kv_tokens=None)
    mirror.join(2, kv_tokens=None)
    mirror.routed(0, text_prompt("word " * 800))
    mirror.routed(2, text_prompt("word " * 400))
    views = [View(f"w{seat}", 9, 9, 0, 0, 0.0, 0.0, 0.0, ASSUMED) for seat in range(3)]
    prompt = text_prompt("word " * 800)
    assert list(mirror.show(prompt, [2, 0, 1], views, 1000)) == [Source.GUESS] * 3
    assert [view.cached_tokens for view in views] == [480, 992, 0]
    assert [view.slow_tokens for view in views] == [0, 0, 0]
    assert [view.held_tokens for view in views] == [480, 992, 0]
    assert [view.capacity_tokens for view in views] == [None, 64_000, None]
    assert list(mirror.show(nothing_to_route(), [0, 1, 2], views, 1)) == [Source.NONE] * 3
    assert [view.cached_tokens for view in views] == [0, 0, 0]
