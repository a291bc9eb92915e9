"""Where a prefix departs from what is pinned of it, and how much of it can still be read.

```
pinned   tool:search   rules ▲ ▲ ▲ ▲   handbook         digests and rungs only
now      tool:search   rules …x…       handbook
                             └ between two rungs        kept: what stands before, from … to … tokens
```
`by_digests` needs the lock alone, and gives the place to a sixteenth of a portion. `by_texts` has
the text of both, and gives it to the character, with what differs there.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from stemcache.prompt.lock.portions import (
    RUNGS,
    Pinned,
    PinnedPortion,
    Portion,
    digest_of,
    in_order,
    rung,
)
from stemcache.prompt.lock.prompt import as_prompt
from stemcache.trace.divergence.align import Match, align
from stemcache.trace.divergence.change import Change, ChangeKind
from stemcache.trace.divergence.compare import compare
from stemcache.trace.divergence.inside import utf8_bytes
from stemcache.wire.section import Section

__all__ = ["Changed", "Difference", "by_digests", "by_texts"]

_MOST_CHANGES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """One place, in the order of the prompt."""

    kind: ChangeKind
    name: str
    """Of the portion: as it is now, or as it was where it is gone."""
    section: Section
    char: int | None = None
    """Character of the portion's text at which it differs, or before which it does not; None where
    it is no string, or the portion as a whole."""
    char_high: int | None = None
    """Where it differs at the latest. Equal to `char` where the texts were compared."""
    line: int | None = None
    """Line of that character in the text of now."""
    change: Change | None = None
    """What the texts say; None where only digests were compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A prefix now against what it was. No changes: the same bytes."""

    changes: tuple[Changed, ...]
    before_tokens: int
    """Of the whole prefix, as it was."""
    now_tokens: int
    kept_low: int
    """Tokens before the first change, at least: they can still be read."""
    kept_high: int
    """The same at most."""

    @property
    def lost_tokens(self) -> int:
        """Of what it was, from the first change on: not to be read any more. At most."""
        return max(0, self.before_tokens - self.kept_low)

    @property
    def written_tokens(self) -> int:
        """Of what it is now, from the first change on: to be written anew. At most."""
        return max(0, self.now_tokens - self.kept_low)


def by_digests(before: Pinned, now: Sequence[Portion], order: Sequence[Section]) -> Difference:
    """Compare with what a lock holds, as a provider with that order reads it.

    Pure; near-linear in portions, and one pass over the text of the first one that differs.
    """
    rank = {section: i for i, section in enumerate(dict.fromkeys((*order, *Section)))}
    olds = sorted(before.portions, key=lambda one: rank[one.section])
    news = in_order(now, order)
    digests = [digest_of(one) for one in news]
    gone = {one.digest for one in olds}.difference(digests)
    come = set(digests).difference(one.digest for one in olds)
    changes: list[Changed] = []
    kept: tuple[int, int] | None = None
    at, at_new = 0, 0
    matches = [*align([one.digest for one in olds], digests), Match(len(olds), len(news), 0)]
    for match in matches:
        low, low_new, count = match.one, match.other, match.count
        if kept is None and (at < low or at_new < low_new):
            kept = _kept(olds, news, _Gap(at, low, at_new, low_new))
        mine, theirs = olds[at:low], news[at_new:low_new]
        names = {one.name: one for one in mine}
        stay = {one.name for one in theirs}
        changes += [
            _whole(ChangeKind.REMOVED, one)
            for one in mine
            if one.name not in stay and one.digest in gone
        ]
        for one, digest in zip(theirs, digests[at_new:low_new], strict=True):
            if one.name in names:
                changes.append(_edited(names[one.name], one))
            else:
                kind = ChangeKind.INSERTED if digest in come else ChangeKind.REORDERED
                changes.append(_whole(kind, one))
        at, at_new = low + count, low_new + count
    now_tokens = sum(one.tokens for one in news)
    low_tokens, high_tokens = (before.tokens, before.tokens) if kept is None else kept
    return Difference(
        changes=tuple(changes[:_MOST_CHANGES]),
        before_tokens=before.tokens,
        now_tokens=now_tokens,
        kept_low=low_tokens,
        kept_high=high_tokens,
    )


def by_texts(
    before: Sequence[Portion], now: Sequence[Portion], order: Sequence[Section]
) -> Difference:
    """Compare the texts, as a provider with that order reads them. Costs what `compare` does."""
    olds, news = in_order(before, order), in_order(now, order)
    found = compare(as_prompt(olds, order), as_prompt(news, order))
    changes = [_told(change, olds, news) for change in found.changes]
    before_tokens = sum(one.tokens for one in olds)
    kept = _tokens_at(news, found.prefix_bytes)
    if not changes:
        kept = before_tokens
        # All that it was, and something behind.
        changes += [_whole(ChangeKind.INSERTED, one) for one in news[len(olds) :]]
    kept = min(kept, before_tokens)
    return Difference(
        changes=tuple(changes[:_MOST_CHANGES]),
        before_tokens=before_tokens,
        now_tokens=sum(one.tokens for one in news),
        kept_low=kept,
        kept_high=kept,
    )


@dataclass(frozen=True, slots=True)
class _Gap:
    """Portions `[low, high)` of the pinned and `[new_low, new_high)` of now that do not match."""

    low: int
    high: int
    new_low: int
    new_high: int


def _kept(olds: Sequence[PinnedPortion], news: Sequence[Portion], gap: _Gap) -> tuple[int, int]:
    """Tokens before the first change, at least and at most."""
    whole = sum(one.tokens for one in olds[: gap.low])
    if gap.low == gap.high or gap.new_low == gap.new_high:
        return whole, whole
    old, new = olds[gap.low], news[gap.new_low]
    if old.name != new.name or old.section is not new.section:
        return whole, whole
    low, high = _between(old, new)
    return whole + _share(old, low), whole + _share(old, high)


def _share(old: PinnedPortion, chars: int) -> int:
    return old.tokens * chars // max(1, old.chars)


def _between(old: PinnedPortion, new: Portion) -> tuple[int, int]:
    """Between which characters the texts begin to differ."""
    if not old.rungs:
        return 0, min(old.chars, len(new.text))
    places = [number * old.chars // RUNGS for number in range(1, RUNGS)]
    # A beginning that is equal has equal beginnings, so the first rung that differs is bisected.
    same = bisect_right(
        range(len(places)),
        0,
        key=lambda i: 0 if _is_equal(old.rungs[i], new.text, places[i]) else 1,
    )
    low = places[same - 1] if same else 0
    high = places[same] if same < len(places) else old.chars
    return low, min(high, max(low, len(new.text)))


def _is_equal(digest: str, text: str, chars: int) -> bool:
    return chars <= len(text) and rung(text, chars) == digest


def _edited(old: PinnedPortion, new: Portion) -> Changed:
    low, high = _between(old, new)
    return Changed(
        kind=ChangeKind.EDITED,
        name=new.name,
        section=new.section,
        char=low,
        char_high=high,
        line=_line(new.text, low) if low == high else None,
    )


def _whole(kind: ChangeKind, one: Portion | PinnedPortion) -> Changed:
    return Changed(kind=kind, name=one.name, section=one.section)


def _told(change: Change, olds: Sequence[Portion], news: Sequence[Portion]) -> Changed:
    gone = not change.after and change.before_index < len(olds)
    portion = olds[change.before_index] if gone else news[min(change.after_index, len(news) - 1)]
    text = portion.text
    plain = change.char is not None and change.pointer.endswith("/text")
    char = change.char if plain else None
    return Changed(
        kind=change.kind,
        name=portion.name,
        section=change.section,
        char=char,
        char_high=char,
        line=None if char is None else _line(text, char),
        change=change,
    )


def _tokens_at(portions: Sequence[Portion], at_bytes: int) -> int:
    """Tokens before a byte of all texts; within a portion they are spread evenly."""
    tokens = 0
    for one in portions:
        size = utf8_bytes(one.text)
        if at_bytes < size:
            return tokens + one.tokens * at_bytes // max(1, size)
        at_bytes -= size
        tokens += one.tokens
    return tokens


def _line(text: str, char: int) -> int:
    return text.count("\n", 0, char) + 1
