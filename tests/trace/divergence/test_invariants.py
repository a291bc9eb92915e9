"""What holds of every comparison, on random prompts, beside slow ways to find the same."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from random import Random

import pytest

from stemcache.trace.divergence.change import ChangeKind, Divergence
from stemcache.trace.divergence.compare import compare
from stemcache.trace.spans.span import Prompt, Span
from stemcache.wire.section import Section
from tests.trace.divergence.prompts import ORDER, prompt, tool

RANK = {section: i for i, section in enumerate(ORDER)}


def key(span: Span) -> tuple[Section, str, str, str, str]:
    """What makes spans equal."""
    return span.section, span.role, span.kind, span.label, span.text


def size(spans: Sequence[Span]) -> int:
    """Bytes of all texts."""
    return sum(len(span.text.encode()) for span in spans)


def sentence(draw: Random) -> str:
    """Some words of few sorts, so that some repeat; now and then a line of its own."""
    words = draw.choices(
        ("order", "mail", "Größe", "10:31", "a", "\n", "yes."), k=draw.randrange(9)
    )
    return " ".join(words)


def conversation(draw: Random) -> dict[str, list[object]]:
    """Tools, system blocks and messages."""
    names = draw.sample("abcdefg", draw.randrange(5))
    turns = draw.randrange(9)
    return {
        "tools": [tool(name, sentence(draw), x={"k": 1, "l": name}) for name in names],
        "system": [sentence(draw) for _ in range(draw.randrange(3))],
        "messages": [(("user", "assistant")[i % 2], sentence(draw)) for i in range(turns)],
    }


def built(parts: dict[str, list[object]]) -> Prompt:
    """As a prompt."""
    return prompt(parts["system"], parts["messages"], parts["tools"])  # type: ignore[arg-type]


def changed(draw: Random, parts: dict[str, list[object]]) -> dict[str, list[object]]:
    """With items dropped, added, moved, or taken from another conversation."""
    other = conversation(draw)
    result = {}
    for name, items in parts.items():
        some = list(items)
        for _ in range(draw.choice((0, 0, 0, 1, 2))):
            what = draw.randrange(4)
            at = draw.randrange(len(some) + 1)
            if what == 0 and some:
                del some[min(at, len(some) - 1)]
            elif what == 1 and other[name]:
                some.insert(at, draw.choice(other[name]))
            elif what == 2:
                draw.shuffle(some)
            elif what == 3 and some and other[name]:
                some[min(at, len(some) - 1)] = draw.choice(other[name])
        result[name] = some
    return result


def check(parent: Prompt, child: Prompt) -> Divergence:
    """All that change.py promises."""
    found = compare(parent, child)
    old, new = parent.spans, child.spans
    assert found.child_bytes == size(new)
    assert found.parent_bytes == size(old)
    assert 0 <= found.prefix_bytes <= found.shared_bytes <= found.child_bytes
    assert (not found.changes) == ([key(a) for a in old] == [key(b) for b in new[: len(old)]])
    if not found.changes:
        assert found.prefix_bytes == found.shared_bytes == found.parent_bytes
    at, before_at, shared = 0, 0, 0
    for change in found.changes:
        assert change.before or change.after
        assert change.before == old[change.before_index : change.before_index + len(change.before)]
        assert change.after == new[change.after_index : change.after_index + len(change.after)]
        assert change.before_index >= before_at
        assert change.after_index >= at
        # Several places in one span are changes of their own.
        inside = len(change.before) == 1 == len(change.after)
        at = change.after_index + (0 if inside else len(change.after))
        before_at = change.before_index + (0 if inside else len(change.before))
        assert change.shared_before >= shared
        shared = change.shared_before
        assert change.shared_before + change.shared_behind == found.shared_bytes
        assert change.pointer.startswith("/")
        assert (change.kind is not ChangeKind.REPLACED) or change.shared_behind == 0
        empty = not size((*change.before, *change.after))
        assert empty or change.old != change.new
    if found.changes:
        assert found.prefix_bytes == found.changes[0].shared_before
    aligned = [number for number in found.aligned if number >= 0]
    assert aligned == sorted(aligned)
    assert len(found.aligned) == len(new)
    assert len(set(aligned)) == len(aligned)
    for number, span in zip(found.aligned, new, strict=True):
        if number >= 0:
            assert key(span)[:4] == key(old[number])[:4]
            assert span.text.startswith(old[number].text)
    return found


def prefix_by_hand(parent: Prompt, child: Prompt) -> tuple[int, int]:
    """Bytes of equal spans in front, and what may come to it inside of the next."""
    count = 0
    for old, new in zip(parent.spans, child.spans, strict=False):
        if key(old) != key(new):
            pairs = zip(old.text, new.text, strict=False)
            common = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            return size(child.spans[:count]), len(common.encode())
        count += 1
    return size(child.spans[:count]), 0


@pytest.mark.parametrize("seed", range(40))
def test_random_changes_keep_every_promise(seed: int) -> None:
    """Both ways, and the prefix is that which equal spans and the next text make."""
    draw = Random(seed)
    for _ in range(8):
        parts = conversation(draw)
        one, other = built(parts), built(changed(draw, parts))
        for parent, child in ((one, other), (other, one)):
            found = check(parent, child)
            spans, inside = prefix_by_hand(parent, child)
            assert spans <= found.prefix_bytes <= spans + inside


@pytest.mark.parametrize("seed", range(20))
def test_unrelated_requests_keep_every_promise(seed: int) -> None:
    """Nothing has to correspond."""
    draw = Random(1000 + seed)
    for _ in range(8):
        check(built(conversation(draw)), built(conversation(draw)))


@pytest.mark.parametrize("seed", range(20))
def test_equal_spans_are_found_as_another_algorithm_finds_them(seed: int) -> None:
    """Where each text is there once, nothing moved, and every text is long."""
    draw = Random(seed)
    texts = [f"{i} {draw.getrandbits(400):x}" for i in range(40)]
    kept = [text for text in texts if draw.random() < 0.8]
    for _ in range(6):
        kept.insert(draw.randrange(len(kept)), f"new {draw.getrandbits(400):x}")
    one = prompt(["S"], [("user", text) for text in texts])
    other = prompt(["S"], [("user", text) for text in kept])
    found = check(one, other)
    blocks = SequenceMatcher(None, texts, kept, autojunk=False).get_matching_blocks()
    expected = [-1] * len(kept)
    for block in blocks:
        for i in range(block.size):
            expected[block.b + i] = block.a + i + 1
    assert found.aligned == (0, *expected)


@pytest.mark.parametrize("seed", range(20))
def test_what_edits_leave_of_a_text_is_shared(seed: int) -> None:
    """Marks put into a long text cost nothing but themselves."""
    draw = Random(seed)
    lines = [f"{draw.getrandbits(300):x}" for _ in range(60)]
    marked = list(lines)
    places = sorted(draw.sample(range(60), 3))
    for i in places:
        marked[i] = marked[i][:40] + "<>" + marked[i][40:]
    found = check(prompt(["\n".join(lines), "T"]), prompt(["\n".join(marked), "T"]))
    assert len(found.changes) == 3
    assert found.shared_bytes == found.parent_bytes
    pointers = {change.pointer for change in found.changes}
    assert pointers == {"/system/0/text"}
