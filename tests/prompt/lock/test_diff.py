"""Where a prefix departs from what was pinned, by digests and by texts."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from random import Random

from stemcache.prompt.lock.diff import by_digests, by_texts
from stemcache.prompt.lock.portions import RUNGS, Portion, in_order, pinned
from stemcache.trace.divergence.change import ChangeKind
from stemcache.trace.spans.prompt import ORDER
from stemcache.trace.spans.span import SpanKind
from stemcache.wire.section import Section
from tests.prompt.lock_portions import SECTIONS, edited, lock, portion, portions

LONG = "".join(f"line {number:04}\n" for number in range(400))


def shared(before: Sequence[Portion], now: Sequence[Portion]) -> float:
    """A dumb twin: tokens before the first portion, and in it the first character, that differs."""
    tokens = 0.0
    for old, new in zip(before, now, strict=False):
        if (old.text, old.section) != (new.text, new.section):
            same = 0
            while same < min(len(old.text), len(new.text)) and old.text[same] == new.text[same]:
                same += 1
            return tokens + old.tokens * same / max(1, len(old.text))
        tokens += old.tokens
    return tokens


def test_what_is_kept_is_known_within_a_sixteenth_and_both_ways_agree() -> None:
    """Over random prefixes and edits, in every order of sections, against the twin."""
    random = Random(5)
    for _ in range(150):
        before = portions(random)
        now = edited(random, before)
        order = random.choice(list(permutations(SECTIONS)))
        old, new = in_order(before, order), in_order(now, order)
        rough = by_digests(pinned("a", before), now, order)
        fine = by_texts(before, now, order)
        twin = shared(old, new)
        assert (
            bool(rough.changes)
            == bool(fine.changes)
            == (
                [(one.section, one.text) for one in old] != [(one.section, one.text) for one in new]
            )
        )
        assert rough.before_tokens == fine.before_tokens == sum(one.tokens for one in before)
        assert rough.now_tokens == fine.now_tokens == sum(one.tokens for one in now)
        # Bytes and characters, old and new scale of tokens: a text of several scripts is uneven.
        most = max(one.tokens for one in (*old, *new))
        assert rough.kept_low <= twin + most / 8 + 1
        assert rough.kept_high >= rough.kept_low
        assert fine.kept_low <= twin + most / 4 + 2
        first = next((one for one in fine.changes), None)
        if first is None or first.section is not Section.TOOLS:
            # Tools are paired by their names, and these have none, so they are not looked into.
            assert fine.kept_low >= twin - most / 4 - 2
        assert fine.kept_low == fine.kept_high


def test_rungs_bracket_every_place() -> None:
    """Of a text of one script exactly: the place is between the two characters that are told."""
    before = lock(portion("rules", LONG))
    for at in range(0, len(LONG), 37):
        now = [portion("rules", LONG[:at] + "X" + LONG[at + 1 :])]
        found = by_digests(before, now, ORDER)
        (one,) = found.changes
        assert one.char is not None
        assert one.char_high is not None
        assert one.char <= at < one.char_high
        assert one.char_high - one.char <= len(LONG) // RUNGS + 1
        exact = by_texts([portion("rules", LONG)], now, ORDER)
        assert exact.changes[0].char == at
        assert exact.changes[0].line == LONG.count("\n", 0, at) + 1
        assert found.kept_low <= exact.kept_low <= found.kept_high


def test_equal_prefixes_do_not_differ() -> None:
    """All is kept, nothing is lost or written."""
    one = [portion("rules", LONG)]
    for found in (by_digests(lock(*one), one, ORDER), by_texts(one, one, ORDER)):
        assert found.changes == ()
        assert found.kept_low == found.kept_high == found.before_tokens
        assert found.lost_tokens == found.written_tokens == 0


def test_what_is_behind_the_first_change_is_lost() -> None:
    """However little changed, and whatever comes behind it."""
    rules, book = portion("rules", LONG), portion("book", LONG[::-1])
    now = [replace(rules, text="X" + LONG[1:]), book]
    for found in (by_digests(lock(rules, book), now, ORDER), by_texts([rules, book], now, ORDER)):
        assert found.kept_low == 0
        assert found.lost_tokens == rules.tokens + book.tokens
        assert [one.name for one in found.changes] == ["rules"]


def test_what_is_added_at_the_end_loses_nothing() -> None:
    """It is written anew, alone."""
    rules, book = portion("rules", LONG), portion("book", "b" * 400)
    for found in (
        by_digests(lock(rules), [rules, book], ORDER),
        by_texts([rules], [rules, book], ORDER),
    ):
        assert [(one.kind, one.name) for one in found.changes] == [(ChangeKind.INSERTED, "book")]
        assert found.lost_tokens == 0
        assert found.written_tokens == book.tokens


def test_what_is_gone_is_named() -> None:
    """As it was called."""
    rules, book, law = (portion(name, f"{name} {LONG}") for name in ("rules", "book", "law"))
    for found in (
        by_digests(lock(rules, book, law), [rules, law], ORDER),
        by_texts([rules, book, law], [rules, law], ORDER),
    ):
        assert [(one.kind, one.name) for one in found.changes] == [(ChangeKind.REMOVED, "book")]
        assert found.kept_low == rules.tokens
        assert found.written_tokens == law.tokens


def test_another_order_is_told_from_another_text() -> None:
    """By both ways."""
    one, two, three = (portion(name, f"{name} {LONG}") for name in ("a", "b", "c"))
    rough = by_digests(lock(one, two, three), [two, three, one], ORDER)
    assert [(each.kind, each.name) for each in rough.changes] == [(ChangeKind.REORDERED, "a")]
    fine = by_texts([one, two, three], [two, three, one], ORDER)
    assert {each.kind for each in fine.changes} == {ChangeKind.REORDERED}
    assert rough.kept_low == fine.kept_low == 0


def test_the_providers_order_says_what_is_behind() -> None:
    """A tool that comes behind the system prompt leaves the system prompt."""
    rules = portion("rules", LONG)
    tool = portion("tool:x", '{"name":"x"}', section=Section.TOOLS, kind=SpanKind.TOOL)
    other = replace(tool, text='{"name":"y"}')
    behind = (Section.SYSTEM, Section.TOOLS, Section.MESSAGES)
    assert by_digests(lock(rules, tool), [rules, other], behind).kept_low == rules.tokens
    assert by_digests(lock(rules, tool), [rules, other], ORDER).kept_low == 0
    assert by_texts([rules, tool], [rules, other], behind).kept_low >= rules.tokens


def test_keys_in_another_order_are_told_as_such() -> None:
    """For tools as they are sent in a body."""
    texts = ('{"name":"x","description":"d"}', '{"description":"d","name":"x"}')
    old, new = (
        portion("tool:x", text, section=Section.TOOLS, kind=SpanKind.TOOL) for text in texts
    )
    (one,) = by_texts([old], [new], ORDER).changes
    assert (one.kind, one.name, one.char) == (ChangeKind.KEY_ORDER, "tool:x", None)


def test_a_text_that_is_cut_short_differs_where_it_ends() -> None:
    """Not behind its end."""
    now = [portion("rules", LONG[:1_000])]
    (one,) = by_digests(lock(portion("rules", LONG)), now, ORDER).changes
    assert one.char is not None
    assert one.char <= 1_000
    assert one.char_high == 1_000


def test_short_texts_differ_somewhere() -> None:
    """They have no rungs."""
    found = by_digests(lock(portion("rules", "be kind")), [portion("rules", "be short")], ORDER)
    assert (found.changes[0].char, found.changes[0].char_high) == (0, 7)
    assert (found.kept_low, found.kept_high) == (0, 2)
