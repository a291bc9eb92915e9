"""Against a twin that keeps whole prompts in dictionaries and compares them one block at a time."""

import base64
import json
import tracemalloc
from hashlib import sha256
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from stemcache.gateway.holdings import Held, Holdings
from stemcache.gateway.keys import Keys, extend_keys, root_key
from stemcache.gateway.kv_decode import decode_batch
from stemcache.gateway.kv_events import (
    Batch,
    Cleared,
    Event,
    Removed,
    Stored,
    read_live,
)

BLOCK = 2
Path_ = tuple[str, ...]  # a prompt's blocks; the first says whose it is


def tokens(name: str) -> bytes:
    """A block's tokens, made from a name."""
    return name.encode().ljust(4 * BLOCK, b".")[: 4 * BLOCK]


def engine_hash(path: Path_) -> int:
    """As an engine would: another hash than ours."""
    return int.from_bytes(sha256(repr(path).encode()).digest()[:8], "big")


def keys_of(*names: str, salt: str | None = None, adapter: str | None = None) -> Keys:
    """A request's."""
    keys: list[int] = []
    extend_keys(keys, root_key(adapter, salt), [tokens(name) for name in names])
    return Keys(keys, BLOCK, exact=True)


def stored(
    *names: str, after: Path_ = (), tier: str = "GPU", salt: str | None = None, **more: Any
) -> Stored:
    """The blocks `names`, behind those of `after`."""
    paths = [(*after, *names[: at + 1]) for at in range(len(names))]
    return Stored(
        hashes=tuple(engine_hash((str(salt), *path)) for path in paths),
        parent=engine_hash((str(salt), *after)) if after else None,
        tokens=b"".join(tokens(name) for name in names),
        block_tokens=BLOCK,
        tier=tier,
        salt=salt,
        **more,
    )


def removed(*path: str, tier: str = "GPU", salt: str | None = None) -> Removed:
    """The last block of a path."""
    return Removed(hashes=(engine_hash((str(salt), *path)),), tier=tier)


def holdings(*events: Event, most_blocks: int = 1000) -> Holdings:
    """What a seat holds after these, verified after each."""
    held = Holdings(most_blocks=most_blocks)
    for event in events:
        held.apply(Batch((event,)))
        held.check()
    return held


def test_a_prompt_matches_as_far_as_it_is_held() -> None:
    """Leading blocks count, and nothing behind the first that is not held."""
    held = holdings(stored("a", "b", "c"))
    assert held.held(keys_of("a", "b", "x")) == Held(2, 2)
    assert held.held(keys_of("a", "b", "c", "d")) == Held(3, 3)
    assert held.held(keys_of("b", "c")) == Held(0, 0)
    assert held.held(keys_of()) == Held(0, 0)
    assert len(held) == 3
    assert held.block_tokens == BLOCK


@pytest.mark.parametrize("keys", [Keys([1], 128, exact=False), Keys([1], 4, exact=True)])
def test_keys_of_another_kind_match_nothing(keys: Keys) -> None:
    """Keys over text, or over blocks of another size, say nothing about these blocks."""
    assert holdings(stored("a")).held(keys) == Held(0, 0)


def test_salts_and_adapters_are_apart() -> None:
    """What one tenant or adapter has stored is not held for another, nor for nobody."""
    held = holdings(stored("a", "b", salt="t1"), stored("a", "b", adapter="sql", salt="x"))
    assert held.held(keys_of("a", "b", salt="t1")) == Held(2, 2)
    assert held.held(keys_of("a", "b", salt="t2")) == Held(0, 0)
    assert held.held(keys_of("a", "b")) == Held(0, 0)
    assert held.held(keys_of("a", "b", salt="x", adapter="sql")) == Held(2, 2)
    assert held.held(keys_of("a", "b", salt="x")) == Held(0, 0)


def test_a_chain_that_grows_over_events_is_one_chain() -> None:
    """A run goes on behind its parent, whatever event that came in."""
    held = holdings(stored("a"), stored("b", "c", after=("a",)), stored("d", after=("a", "b", "c")))
    assert held.held(keys_of("a", "b", "c", "d", "e")) == Held(4, 4)


def test_children_wait_for_their_parent() -> None:
    """Blocks whose parent has not come match nothing until it comes, in whatever order."""
    held = holdings(stored("d", after=("a", "b", "c")), stored("b", "c", after=("a",)))
    assert (len(held), held.aside) == (0, 3)
    held.apply(Batch((stored("a"),)))
    held.check()
    assert held.held(keys_of("a", "b", "c", "d")) == Held(4, 4)
    assert (len(held), held.aside) == (4, 0)
    assert held.counts["adopted"] == 3


def test_a_waiting_child_that_is_removed_is_not_adopted() -> None:
    """What is removed while it waits is gone when its parent comes."""
    held = holdings(
        stored("b", after=("a",)), stored("c", after=("a",)), removed("a", "b"), stored("a")
    )
    assert held.held(keys_of("a", "b")) == Held(1, 1)
    assert held.held(keys_of("a", "c")) == Held(2, 2)


def test_waiting_children_are_bounded() -> None:
    """Of too many blocks that wait, the oldest are given up, and counted."""
    held = holdings(*[stored(f"c{n}", after=(f"p{n}",)) for n in range(100)], most_blocks=128)
    assert held.aside == 20
    assert held.counts["aside_dropped"] == 80
    held.apply(Batch((stored("p0"), stored("p99"))))
    assert held.held(keys_of("p0", "c0")) == Held(1, 1)
    assert held.held(keys_of("p99", "c99")) == Held(2, 2)


def test_a_hole_ends_a_match_until_it_is_filled() -> None:
    """Where a parent went before its child, nothing behind it counts; when it is back, all does."""
    chain = ("a", "b", "c", "d", "e", "f", "g")
    held = holdings(stored(*chain), removed("a", "b"), removed("a", "b", "c", "d"))
    assert held.held(keys_of(*chain)) == Held(1, 1)
    held.apply(Batch((stored("b", after=("a",)),)))
    held.check()
    assert held.held(keys_of(*chain)) == Held(3, 3)
    held.apply(Batch((stored("d", after=("a", "b", "c")),)))
    held.check()
    assert held.held(keys_of(*chain)) == Held(7, 7)


def test_a_hole_elsewhere_does_not_matter() -> None:
    """Holes of other prompts leave a match as it is, few or many."""
    others = [stored("x", f"{n}", "y") for n in range(50)]
    holes = [removed("x", f"{n}") for n in range(50)]
    held = holdings(stored("a", "b", "c"), *others, *holes)
    assert held.held(keys_of("a", "b", "c", "d")) == Held(3, 3)
    assert held.held(keys_of("x", "7", "y")) == Held(1, 1)


def test_the_last_child_takes_its_holes_along() -> None:
    """Holes are kept for what is behind them only."""
    held = holdings(stored("a", "b", "c"), removed("a"), removed("a", "b"), removed("a", "b", "c"))
    assert len(held) == 0
    held.apply(Batch((stored("c", after=("a", "b")),)))
    assert held.aside == 1


def test_tiers_are_apart() -> None:
    """A block in two tiers leaves one and stays in the other."""
    held = holdings(
        stored("a", "b", "c"),
        stored("a", "b", "c", tier="CPU"),
        removed("a", "b", "c"),
        removed("a", "b"),
    )
    assert held.held(keys_of("a", "b", "c")) == Held(1, 3)
    held.apply(Batch((removed("a", "b", tier="CPU"),)))
    held.check()
    assert held.held(keys_of("a", "b", "c")) == Held(1, 1)
    held.apply(Batch((removed("a"),)))
    assert held.held(keys_of("a", "b", "c")) == Held(0, 1)


def test_a_fast_hole_ends_the_fast_part() -> None:
    """A block that is only in a slower tier ends the fast part, not the whole match."""
    held = holdings(stored("a", "b", "c", "d"), stored("b", after=("a",), tier="DISK"))
    held.apply(Batch((removed("a", "b"),)))
    held.check()
    assert held.held(keys_of("a", "b", "c", "d")) == Held(1, 4)


def test_a_block_that_moves_is_said_without_its_tokens() -> None:
    """A known block takes the tier of an event without tokens; an unknown one is left out."""
    moved = Stored(
        hashes=(engine_hash(("None", "a")), 1, engine_hash(("None", "q", "r"))),
        parent=None,
        tokens=b"",
        block_tokens=0,
        tier="CPU",
    )
    held = holdings(stored("a"), stored("r", after=("q",)), moved, removed("a"), removed("q", "r"))
    assert held.held(keys_of("a")) == Held(0, 1)
    assert held.counts["stored_unknown"] == 1
    assert held.aside == 1


def test_a_block_computed_twice_is_removed_twice() -> None:
    """Two copies of a block are two stores; the first removal leaves one."""
    held = holdings(stored("a", "b"), stored("a"), removed("a"))
    assert held.held(keys_of("a", "b")) == Held(2, 2)
    held.apply(Batch((removed("a"),)))
    held.check()
    assert held.held(keys_of("a", "b")) == Held(0, 0)


def test_clearing_empties_everything() -> None:
    """After it nothing is held nor waited for, and another block size may follow."""
    held = holdings(stored("a", "b"), stored("d", after=("c",)), Cleared())
    assert (len(held), held.aside, held.block_tokens) == (0, 0, BLOCK)
    assert held.held(keys_of("a")) == Held(0, 0)
    held.apply(Batch((Stored((9,), None, b"1234" * 3, 3, "GPU"),)))
    assert (len(held), held.block_tokens) == (1, 3)


def test_another_block_size_is_left_out() -> None:
    """While blocks of one size are held, those of another are counted and left out."""
    held = holdings(stored("a"), Stored((9, 8), None, b"1234" * 6, 3, "GPU"))
    assert (len(held), held.counts["other_size"], held.block_tokens) == (1, 2, BLOCK)


def test_layers_with_a_window_are_left_out() -> None:
    """Of a hybrid model's groups only one that attends to everything is followed."""
    held = holdings(
        stored("w", group=1, full_attention=False),
        stored("a", "b", group=0, full_attention=True),
        stored("a", "b", group=2, full_attention=True),
        Removed((engine_hash(("None", "a")),), "GPU", group=2),
        Removed((engine_hash(("None", "a", "b")),), "GPU", group=0),
    )
    assert held.held(keys_of("a", "b")) == Held(1, 1)
    assert held.held(keys_of("w")) == Held(0, 0)
    assert held.counts["other_group"] == 4


def test_a_group_that_skips_blocks_has_a_window() -> None:
    """Fewer hashes than its tokens fill: such a group is given up, and the next one followed."""
    skipping = Stored((1,), None, b"1234" * 8, BLOCK, "GPU", group=0)
    held = holdings(stored("a", group=0), skipping, stored("b", group=0), stored("c", group=1))
    assert held.held(keys_of("a")) == Held(0, 0)
    assert held.held(keys_of("b")) == Held(0, 0)
    assert held.held(keys_of("c")) == Held(1, 1)


def test_strange_groups_without_end_are_left_out_and_not_remembered() -> None:
    """However many there are; the one that is followed stays so."""
    held = holdings(stored("a", group=0))
    for group in range(1, 1000):
        held.apply(Batch((stored("w", group=group, full_attention=False),)))
    held.check()
    assert len(held._groups_left_out) == 64
    assert held.counts["other_group"] == 999
    held.apply(Batch((stored("b", after=("a",), group=0),)))
    assert held.held(keys_of("a", "b", "w")) == Held(2, 2)


def test_after_a_clearing_groups_are_judged_anew() -> None:
    """An engine that has begun anew may run another model, whose groups mean something else."""
    held = holdings(stored("w", group=0, full_attention=False), Cleared(), stored("a", group=0))
    assert held.held(keys_of("a")) == Held(1, 1)


def test_hashes_that_do_not_fit_their_tokens_are_left_out() -> None:
    """Without a group to blame, an event of a wrong shape is counted and left out."""
    held = holdings(Stored((1, 2), None, b"1234" * 3, BLOCK, "GPU"))
    assert (len(held), held.counts["misshapen"]) == (0, 2)


def test_what_else_was_hashed_is_told_apart() -> None:
    """A block with an image in it, and all behind it, match no request of the tokens alone."""
    held = holdings(stored("a", "b", "c", extras=(None, b"image", None)))
    assert held.held(keys_of("a", "b", "c")) == Held(1, 1)
    keys: list[int] = []
    extend_keys(keys, root_key(None, None), [tokens("a"), tokens("b") + b"image", tokens("c")])
    assert held.held(Keys(keys, BLOCK, exact=True)) == Held(3, 3)


def test_a_hash_that_means_another_prompt_now_is_taken_at_its_word() -> None:
    """Where an engine uses a hash again, its old prompt is not held any more."""
    again = Stored((engine_hash(("None", "a", "b")),), None, tokens("z"), BLOCK, "GPU")
    held = holdings(stored("a", "b", "c"), again)
    assert held.held(keys_of("z")) == Held(1, 1)
    assert held.held(keys_of("a", "b", "c")) == Held(1, 1)
    assert held.counts["rehashed"] == 1


def test_a_block_may_be_its_own_parent_in_a_bad_event() -> None:
    """Cycles of hashes, which no engine sends, do no harm."""
    own = engine_hash(("None", "a"))
    looped = Stored((own, own), own, tokens("b") + tokens("c"), BLOCK, "GPU")
    unknown = Stored((5, 6, 5), 5, tokens("b") * 3, BLOCK, "GPU")
    for events in (
        [stored("a"), looped],
        [unknown],
        [unknown, Stored((5,), None, tokens("b"), 2, "GPU")],
    ):
        held = holdings(*events, *events)
        held.apply(Batch((Removed((5, 6, own), "GPU"),)))
        held.check()


def test_another_hash_of_the_same_prompt_replaces_the_first() -> None:
    """An engine that begins anew unnoticed may hash otherwise: its word counts from then on."""
    held = holdings(
        stored("a", "b"),
        Stored((7, 8), None, tokens("a") + tokens("b"), BLOCK, "GPU"),
        removed("a", "b"),
    )
    assert held.held(keys_of("a", "b")) == Held(2, 2)
    held.apply(Batch((Removed((8,), "GPU"),)))
    held.check()
    assert held.held(keys_of("a", "b")) == Held(1, 1)


def test_more_tiers_than_bits_share_the_last() -> None:
    """However many tiers are named, the table of them stays short and nothing is missed."""
    held = holdings(*[stored("a", tier=f"T{n}") for n in range(50)])
    assert held.held(keys_of("a")) == Held(0, 1)
    assert len(held._tiers) == 8


def test_over_the_bound_old_tails_go_first() -> None:
    """Whole tails are dropped, oldest first; what they shared with others stays."""
    held = holdings(
        *[stored("sys", f"{n}", f"{n}-") for n in range(100)],
        most_blocks=100,
    )
    assert len(held) <= 100
    assert held.held(keys_of("sys", "99", "99-")) == Held(3, 3)
    assert held.held(keys_of("sys", "0", "0-")) == Held(1, 1)
    assert held.counts["dropped"] >= 100


def test_at_the_bound_no_more_goes_than_comes() -> None:
    """Block by block, so that no batch has to wait until a part of all blocks is forgotten."""
    held = holdings(*[stored(*[f"{n}-{at}" for at in range(10)]) for n in range(100)])
    assert (len(held), held.counts["dropped"]) == (1000, 0)
    for n in range(100, 150):
        held.apply(Batch((stored(*[f"{n}-{at}" for at in range(3)]),)))
        assert (len(held), held.counts["dropped"]) == (1000, 3 * (n - 99))
    held.check()
    whole = [
        n
        for n in range(100)
        if held.held(keys_of(*[f"{n}-{at}" for at in range(10)])) == Held(10, 10)
    ]
    assert whole == list(range(15, 100))


def test_what_was_used_since_is_not_old() -> None:
    """A tail that was next to go, and was then stored again, stays."""
    held = holdings(*[stored(f"{n}") for n in range(10)], most_blocks=10)
    held.apply(Batch((stored("x"), stored("1"), stored("y"))))
    held.check()
    assert held.held(keys_of("1")) == Held(1, 1)
    gone = [n for n in range(10) if not held.held(keys_of(f"{n}")).any_units]
    assert gone == [0, 2]


def test_a_lower_bound_is_come_to_in_steps() -> None:
    """Oldest first; meanwhile there are no more than there were, and what comes is held."""
    held = holdings(*[stored(f"{n}") for n in range(1000)])
    held.limit(100)
    assert held.tend()
    assert len(held) == 744
    held.apply(Batch((stored("x"),)))
    assert len(held) == 488
    held.check()
    assert held.tend()
    assert not held.tend()
    assert len(held) == 100
    assert held.held(keys_of("x")) == Held(1, 1)
    assert held.held(keys_of("999")) == Held(1, 1)
    held.check()
    held.limit(1000)
    held.apply(Batch(tuple(stored(f"{n}") for n in range(1000))))
    assert len(held) == 1000


def test_fewer_wait_for_their_parents_under_a_lower_bound() -> None:
    """In steps as well, the oldest first, and counted."""
    held = holdings(*[stored(f"c{n}", after=(f"p{n}",)) for n in range(300)], most_blocks=2000)
    assert held.aside == 300
    held.limit(64)
    assert held.tend()
    assert held.aside == 44
    assert not held.tend()
    assert (held.aside, held.counts["aside_dropped"]) == (10, 290)
    held.check()


def test_what_was_cleared_is_freed_in_steps() -> None:
    """A clearing itself costs nothing; each step frees a 256th."""
    held = holdings(*[stored(f"{n}") for n in range(1000)], stored("c", after=("p",)))
    held.apply(Batch((Cleared(),)))
    assert (len(held), held.aside) == (0, 0)
    steps = 1
    while held.tend():
        steps += 1
    assert 256 <= steps < 300
    assert not held._gone
    held.check()


def test_a_run_longer_than_the_bound_is_held_in_part() -> None:
    """The beginning of it; the rest is counted as dropped."""
    names = [f"n{at}" for at in range(50)]
    held = holdings(stored(*names), most_blocks=20)
    assert held.held(keys_of(*names)) == Held(20, 20)
    assert held.counts["dropped"] == 30
    held.apply(Batch((stored("z", after=tuple(names[:20])),)))
    held.check()
    assert len(held) <= 20


def test_what_is_held_already_needs_no_room() -> None:
    """At the bound, a second copy of held blocks drops nothing and is counted as one."""
    names = [f"n{at}" for at in range(20)]
    held = holdings(stored(*names), stored(*names), removed(*names), most_blocks=20)
    assert held.held(keys_of(*names)) == Held(20, 20)
    assert held.counts["dropped"] == 0


def test_a_block_costs_some_hundreds_of_bytes() -> None:
    """At most 350 bytes a block, everything counted."""
    tracemalloc.start()
    try:
        held = Holdings(most_blocks=30_000)
        before = tracemalloc.get_traced_memory()[0]
        for chain in range(300):
            held.apply(Batch((stored(*[f"{chain}-{at}" for at in range(100)]),)))
        used = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(held) == 30_000
    assert used / len(held) < 350


def test_a_real_engines_events_predict_what_it_reports() -> None:
    """On events recorded from vLLM, what is held before a request is what it says it had cached."""
    recorded = json.loads((Path(__file__).parent / "data/vllm_events.json").read_text())
    for part in ("plenty", "sixteen_blocks"):
        held, live = Holdings(most_blocks=1000), list(recorded[part]["live"])
        for ask in recorded[part]["asks"]:
            ids = ask["prompt_token_ids"]
            packed = b"".join(token.to_bytes(4, "little") for token in ids)
            keys: list[int] = []
            units = [packed[at : at + 128] for at in range(0, len(ids) // 32 * 128, 128)]
            extend_keys(keys, root_key(None, ask["salt"]), units)
            # The event of a reset comes with the next step only, as engines send it.
            if ask["label"] != "after-reset":
                found = held.held(Keys(keys, 32, exact=True))
                assert found.fast_units * 32 == ask["cached_tokens"], ask["label"]
            while live and live[0]["after"] == ask["label"]:
                frames = [base64.b64decode(frame) for frame in live.pop(0)["frames"]]
                held.apply(decode_batch(read_live(frames).payload))
                held.check()


def test_sglangs_own_encoding_is_followed() -> None:
    """Batches encoded by SGLang's classes: a chain, a tenant's, a move to the host."""
    recorded = json.loads((Path(__file__).parent / "data/sglang_events.json").read_text())
    batches = [decode_batch(base64.b64decode(payload)) for payload in recorded["batches"]]
    packed = [token.to_bytes(4, "little") for token in range(32)]
    units = [b"".join(packed[:16]), b"".join(packed[16:])]
    plain: list[int] = []
    extend_keys(plain, root_key(None, None), units)
    salted: list[int] = []
    extend_keys(salted, root_key("sql", "t"), units)
    held = Holdings(most_blocks=100)
    held.apply(batches[0])
    held.check()
    assert (batches[0].rank, batches[0].unknown) == (1, {})
    assert held.held(Keys(plain, 16, exact=True)) == Held(0, 1)
    assert held.held(Keys(salted, 16, exact=True)) == Held(2, 2)
    held.apply(batches[1])
    assert len(held) == 0


class Twin:
    """Every block by its path, with the tiers it is in and how often."""

    def __init__(self) -> None:
        self.tiers: dict[Path_, dict[str, int]] = {}

    def store(self, path: Path_, tier: str) -> None:
        at = self.tiers.setdefault(path, {})
        at[tier] = at.get(tier, 0) + 1 if tier == "GPU" else 1

    def remove(self, path: Path_, tier: str) -> None:
        at = self.tiers.get(path, {})
        if tier in at:
            at[tier] -= 1
            if not at[tier]:
                del at[tier]
            if not at:
                del self.tiers[path]

    def held(self, path: Path_) -> Held:
        def leading(tier: str | None) -> int:
            for at in range(len(path)):
                tiers = self.tiers.get(path[: at + 1], {})
                if (tier not in tiers) if tier else not tiers:
                    return at
            return len(path)

        return Held(leading("GPU"), leading(None))


@pytest.mark.parametrize("seed", range(40))
def test_the_twin_agrees_under_any_history(seed: int) -> None:
    """Random stores, removals in any order, tiers, moves and clearings: matches are the twin's."""
    rng = Random(seed)
    held, twin = Holdings(most_blocks=10_000), Twin()
    prompts = [
        tuple(f"{rng.randrange(2)}{at}" for at in range(rng.randrange(1, 9))) for _ in range(12)
    ]
    for _ in range(150):
        path = rng.choice(prompts)
        tier = rng.choice(["GPU", "GPU", "GPU", "CPU", "DISK"])
        kind = rng.random()
        if kind < 0.45:
            start = rng.choice([0, 0, rng.randrange(len(path))])
            held.apply(Batch((stored(*path[start:], after=path[:start], tier=tier),)))
            for end in range(start + 1, len(path) + 1):
                twin.store(path[:end], tier)
        elif kind < 0.97:
            end = rng.randrange(1, len(path) + 1)
            held.apply(Batch((removed(*path[:end], tier=tier),)))
            twin.remove(path[:end], tier)
        elif kind < 0.98:
            held.apply(Batch((Cleared(),)))
            twin = Twin()
        held.check()
        for prompt in prompts:
            assert held.held(keys_of(*prompt)) == twin.held(prompt)


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_believed_beyond_the_twin_within_any_bound(seed: int) -> None:
    """However small the bound, a match is never longer than what is held, and the bound holds."""
    rng, names = Random(seed), count()
    bound = rng.choice([1, 2, 5, 20])
    held, twin = Holdings(most_blocks=bound), Twin()
    prompts: list[Path_] = [("s",)]
    for _ in range(120):
        base = rng.choice(prompts)
        path = (*base[: rng.randrange(len(base) + 1)], *[f"{next(names)}" for _ in range(3)])
        prompts = [*prompts[-8:], path]
        start = rng.randrange(len(path))
        held.apply(Batch((stored(*path[start:], after=path[:start]),)))
        for end in range(start + 1, len(path) + 1):
            twin.store(path[:end], "GPU")
        gone = rng.choice(prompts)
        held.apply(Batch((removed(*gone),)))
        twin.remove(gone, "GPU")
        held.check()
        assert len(held) <= bound
        for prompt in prompts:
            assert held.held(keys_of(*prompt)).any_units <= twin.held(prompt).any_units
