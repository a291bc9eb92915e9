import json
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.sketch import Sketch, TextMemo, chains, sketch
from stemcache.wire.api import Api
from stemcache.wire.section import Section

EPHEMERAL = {"type": "ephemeral"}


def words(size: int, *, seed: int = 1) -> str:
    """Text of some variety, letters of two bytes among it."""
    chance = Random(seed)
    lengths = [chance.randint(2, 9) for _ in range(999)]
    vocabulary = ["".join(chance.choices("etaoinshrdlué", k=length)) for length in lengths]
    return " ".join(chance.choices(vocabulary, k=size // 3))[:size]


def of(*messages: object, **body: Any) -> Sketch:
    """The sketch of Anthropic's messages."""
    return sketch(prompt_of({"messages": list(messages), **body}, Api.MESSAGES))


def user(content: object, **more: object) -> dict[str, object]:
    """A message of the user."""
    return {"role": "user", "content": content, **more}


def equal(one: Sketch, other: Sketch) -> bool:
    """Whether all arrays are."""
    return all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in Sketch.__slots__
    )


def shared(one: Sketch, other: Sketch) -> float:
    """Share of the bytes of `one` in units that `other` has too."""
    return float(one.unit_bytes[np.isin(one.units, other.units)].sum() / one.unit_bytes.sum())


def test_short_texts_are_one_unit_and_long_ones_are_cut() -> None:
    """An empty text has none; sizes are bytes."""
    found = of(user("é" * 512), user(""), user(words(5_000)), user("a"))
    counts = np.diff(found.span_units).tolist()
    assert (counts[0], counts[1], counts[3]) == (1, 0, 1)
    assert counts[2] > 3
    assert found.span_bytes.tolist() == [1_024, 0, len(words(5_000).encode()), 1]
    assert found.unit_bytes.sum() == found.span_bytes.sum()
    assert len(found.heads) == len(found.span_chain) == 4
    assert len(found.chain) == len(found.units) == len(found.unit_bytes)


def test_arrays_have_the_types_that_they_are_said_to_have() -> None:
    """Also where there is nothing in them."""
    for found in (of(), of(user(words(9_000)))):
        types = [getattr(found, name).dtype.name for name in Sketch.__slots__]
        assert types == ["uint64", "uint32", "uint64", "int64", "int64", "uint64", "uint64"]
        assert chains(found, [(0, 1)]).unit_chain.dtype == np.uint64


def test_an_empty_prompt_has_an_empty_sketch() -> None:
    """One offset and nothing else."""
    found = of()
    assert found.span_units.tolist() == [0]
    assert found.size_bytes == 8


def test_digests_are_the_same_in_every_process() -> None:
    """They are stated here, so that what is stored stays good."""
    found = of(user("Hi"))
    assert found.units.tolist() == [8_336_913_914_519_304_502]
    assert found.heads.tolist() == [1_720_116_009_717_029_767]


def test_equal_texts_have_equal_units_wherever_they_stand() -> None:
    """In a tool's result as in a system prompt; heads tell them apart."""
    text = words(3_000)
    found = of(user(text), {"role": "assistant", "content": text}, system=text)
    thirds = np.split(found.units, 3)
    assert np.array_equal(thirds[0], thirds[1])
    assert np.array_equal(thirds[0], thirds[2])
    assert len(set(found.heads.tolist())) == 3


def test_heads_tell_section_role_kind_and_label() -> None:
    """A result of another call is another span, and so is an error."""
    result = {"type": "tool_result", "content": "r"}
    found = of(
        user("r"),
        {"role": "assistant", "content": "r"},
        user([{**result, "tool_use_id": "a"}]),
        user([{**result, "tool_use_id": "b"}]),
        user([{**result, "tool_use_id": "b", "is_error": True}]),
        user([{"type": "thinking", "thinking": "r"}]),
        system="r",
    )
    assert len(set(found.heads.tolist())) == 7
    assert len(set(found.units.tolist())) == 1


def test_markers_are_in_no_digest() -> None:
    """Moved, added or with another time to live: the sketch is the same."""
    tool = {"name": "f", "input_schema": {"type": "object"}}
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": [1]}}
    plain = of(user([{"type": "text", "text": "a"}, use]), system="s", tools=[tool])
    marked = of(
        user(
            [
                {"type": "text", "text": "a", "cache_control": EPHEMERAL},
                {"cache_control": {"type": "ephemeral", "ttl": "1h"}, **use},
            ]
        ),
        system=[{"type": "text", "text": "s", "cache_control": EPHEMERAL}],
        tools=[{**tool, "cache_control": EPHEMERAL}],
        cache_control=EPHEMERAL,
    )
    assert equal(plain, marked)


def test_a_moved_cache_point_changes_nothing() -> None:
    """Converse's markers are blocks, but no spans."""
    point = {"cachePoint": {"type": "default"}}
    one, two = (
        sketch(prompt_of({"messages": [{"role": "user", "content": blocks}]}, Api.CONVERSE))
        for blocks in ([{"text": "a"}, point, {"text": "b"}], [{"text": "a"}, {"text": "b"}, point])
    )
    assert equal(one, two)


def test_another_order_of_keys_is_another_unit() -> None:
    """In the schema of a tool, as in the input of a call."""
    one = of(tools=[{"name": "f", "input_schema": {"a": {}, "b": {}}}])
    two = of(tools=[{"name": "f", "input_schema": {"b": {}, "a": {}}}])
    assert one.heads.tolist() == two.heads.tolist()
    assert one.units.tolist() != two.units.tolist()


def test_a_prefix_of_messages_has_equal_chains() -> None:
    """Up to its end, over all cuts."""
    messages = [user(words(100 + 700 * i, seed=i)) for i in range(12)]
    whole = of(*messages, system="s")
    for count in range(12):
        part = of(*messages[:count], system="s")
        assert np.array_equal(whole.span_chain[: len(part.span_chain)], part.span_chain)
        assert np.array_equal(whole.chain[: len(part.chain)], part.chain)


def test_chains_differ_from_the_first_difference_on() -> None:
    """Whatever is the same behind it."""
    messages = [user(words(2_000, seed=i)) for i in range(6)]
    one = of(*messages)
    two = of(*messages[:2], {**messages[2], "role": "assistant"}, *messages[3:])
    assert (one.span_chain == two.span_chain).tolist() == [True] * 2 + [False] * 4
    assert (one.chain == two.chain).sum() == one.span_units[2]
    assert np.array_equal(one.units, two.units)


def test_where_a_text_is_divided_counts() -> None:
    """One block is not two with the same words."""
    one, two = of(user("ab")), of(user([{"type": "text", "text": text} for text in "ab"]))
    assert not set(one.span_chain.tolist()) & set(two.span_chain.tolist())


def test_the_chain_of_a_span_is_that_of_its_last_unit() -> None:
    """An empty span has one of its own."""
    found = of(user(words(4_000)), user(""), user("a"))
    ends = found.span_units[1:] - 1
    assert found.span_chain[0] == found.chain[ends[0]]
    assert found.span_chain[2] == found.chain[ends[2]]
    assert len(set(found.span_chain.tolist())) == 3


def test_text_in_front_leaves_later_units() -> None:
    """Twenty bytes before 400 kB: more than 95% of the bytes are in units that were there."""
    text = words(400_000)
    before, after = of(user(text)), of(user("20 bytes in front .." + text))
    assert shared(after, before) > 0.95
    assert shared(before, after) > 0.95
    assert before.chain[0] != after.chain[0]


def test_an_edit_in_the_middle_changes_the_units_around_it() -> None:
    """A character of 400 kB leaves more than 98%."""
    text = words(400_000)
    edited = text[:200_000] + "#" + text[200_001:]
    before, after = of(user(text)), of(user(edited))
    assert shared(after, before) > 0.98
    equal_chains = before.chain[: len(after.chain)] == after.chain[: len(before.chain)]
    assert 0.45 < equal_chains.mean() < 0.52


def test_a_sketch_is_a_small_part_of_its_text() -> None:
    """Some 4%, of which the digests of units are 1.6%."""
    assert 0.03 < of(user(words(400_000))).size_bytes / 400_000 < 0.045


def test_half_a_surrogate_pair_is_digested() -> None:
    """Some decoders let it pass, in texts, structures and labels."""
    result = {"type": "tool_result", "tool_use_id": "\udc00", "content": "x"}
    found = of(user("\ud800"), user([result]), user([{"type": "\ud800"}]))
    assert np.diff(found.span_units).tolist() == [1, 1, 1]


def test_salts_change_chains_from_their_span_on() -> None:
    """Those before stay, and units with them."""
    found = of(*(user(words(2_000, seed=i)) for i in range(5)))
    salted = chains(found, [(3, 77)])
    assert (salted.span_chain == found.span_chain).tolist() == [True] * 3 + [False] * 2
    assert (salted.unit_chain == found.chain).sum() == found.span_units[3]
    assert salted.span_chain[4] == salted.unit_chain[-1]


def test_equal_salts_make_equal_chains() -> None:
    """In any order and of any size; others do not, nor the same at another place."""
    found = of(*(user(str(i)) for i in range(5)))
    one = chains(found, [(1, 5), (3, -7), (0, 2**200)])
    two = chains(found, [(0, 2**200), (3, -7), (1, 5)])
    assert np.array_equal(one.span_chain, two.span_chain)
    other = chains(found, [(1, 5), (3, -8), (0, 2**200)])
    assert (one.span_chain == other.span_chain).tolist() == [True] * 3 + [False] * 2
    later = chains(found, [(2, 5), (3, -7), (0, 2**200)])
    assert (one.span_chain == later.span_chain).tolist() == [True, False, True, True, True]


def test_no_salts_leave_the_chains_and_one_behind_the_end_is_none() -> None:
    """No array is copied for nothing."""
    found = of(user("a"))
    assert chains(found, []).span_chain is found.span_chain
    assert chains(found, [(1, 5)]).span_chain.tolist() == found.span_chain.tolist()
    assert chains(of(), [(0, 5)]).span_chain.tolist() == []


def test_a_salt_before_the_first_span_is_refused() -> None:
    """A negative number would count from the end."""
    with pytest.raises(ValueError, match="a salt counts from span -1; give a number of at least 0"):
        chains(of(user("a")), [(-1, 5)])


def test_the_order_of_sections_is_the_providers() -> None:
    """Chains follow it, units are the same set."""
    body = {"messages": [user("m")], "system": "s", "tools": [{"name": "t"}]}
    one = sketch(prompt_of(body, Api.MESSAGES))
    two = sketch(prompt_of(body, Api.MESSAGES, (Section.SYSTEM, Section.TOOLS, Section.MESSAGES)))
    assert two.units.tolist() == one.units[[1, 0, 2]].tolist()
    assert not set(one.span_chain.tolist()) & set(two.span_chain.tolist())


TEXTS = st.lists(st.text(max_size=40) | st.integers(900, 9_000).map(words), max_size=8)


@settings(max_examples=60)
@given(TEXTS, TEXTS)
def test_chains_are_equal_exactly_where_all_before_is(one: list[str], two: list[str]) -> None:
    """Compared with the texts themselves, unit by unit."""
    first, second = of(*map(user, one)), of(*map(user, two))
    common = 0
    while common < min(len(one), len(two)) and one[common] == two[common]:
        common += 1
    least = min(len(one), len(two))
    assert (first.span_chain[:least] == second.span_chain[:least]).tolist() == [
        i < common for i in range(least)
    ]
    assert first.span_bytes.tolist() == [len(text.encode()) for text in one]
    for text, (low, high) in zip(one, pairwise(first.span_units.tolist()), strict=True):
        assert first.unit_bytes[low:high].sum() == len(text.encode())


def test_bodies_that_say_the_same_have_one_sketch() -> None:
    """White space and escapes of the JSON do not count, nor the order of the body's members."""
    one = json.loads('{"system":"s","messages":[{"role":"user","content":"\\u00e9"}]}')
    two = json.loads('{ "messages": [{"content": "é", "role": "user"}], "system": "s" }')
    assert equal(
        sketch(prompt_of(one, Api.MESSAGES)),
        sketch(prompt_of(two, Api.MESSAGES)),
    )


@given(st.lists(st.lists(st.text(max_size=40), max_size=6), max_size=12))
def test_memo_changes_nothing(histories: list[list[str]]) -> None:
    """A text that was cut before is cut alike, however small the memo."""
    memo = TextMemo(most_characters=300)
    for texts in histories:
        body = {"messages": [{"role": "user", "content": text * 40} for text in texts]}
        if not texts:
            continue
        prompt = prompt_of(body, Api.CHAT)
        plain, memoised = sketch(prompt), sketch(prompt, memo)
        assert plain.units.tolist() == memoised.units.tolist()
        assert plain.chain.tolist() == memoised.chain.tolist()
        assert plain.span_units.tolist() == memoised.span_units.tolist()
