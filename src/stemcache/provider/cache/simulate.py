"""A provider's cache, simulated: what each request of a log would read and write under the rule.

```
            look(shape, now) ─► Outcome            keep(shape, outcome, now, readable)
                 │  pure                                │  writes, and refreshes what was read
                 ▼                                      ▼
   key = chain ^ digest(scope, routing)   ──►   entries: young ◄── put     (see `entries`)
         chain ^ digest(scope)  any routing              old
         chain ^ digest(scope)  seen before (persisted units)
```
Invariants: `look` changes nothing; keys of different scopes never meet; where a cache keeps every
prefix, an entry's shorter prefixes are in the table too, since longer ones are put first and so
forgotten first.

Memory is bounded: about 120 bytes an entry and `most_entries` at most. One request needs as many as
it has cuts to keep: some for markers and breakpoints, its positions and a quarter of its fine cuts
where every prefix is kept, twice that where routing matters or units are persisted. Costs:
O(positions) for markers and breakpoints; O(positions + fine cuts) for the others, in numpy but for
the sample, of which `look` visits O(log) and `keep` all.

Precision: where every prefix is kept, reads end at a sampled cut, so short of the true place by
about four fine cuts; who knows the true place goes by that.
"""

from bisect import bisect_right
from dataclasses import replace
from hashlib import blake2b
from math import isnan

from stemcache.provider.cache.candidates import Candidates, answers, candidates
from stemcache.provider.cache.clock import gap_s, ttl_number, ttl_of
from stemcache.provider.cache.cut import counted
from stemcache.provider.cache.cuts import held, reach, tokens_at
from stemcache.provider.cache.entries import Entries, Entry
from stemcache.provider.cache.finds import (
    Find,
    Finds,
    find_longest,
    longer,
    longer_of_each,
    present,
)
from stemcache.provider.cache.outcome import Outcome
from stemcache.provider.cache.written import written
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Shape

__all__ = ["Outcome", "PromptCache"]

_MASK = 2**64 - 1
_NEVER = float("-inf")
_UNKNOWN = float("nan")


class PromptCache:
    """One provider's cache under one rule, for any number of scopes. Not for several threads."""

    def __init__(self, rule: Rule, *, most_entries: int = 1_000_000) -> None:
        self.rule = rule
        self._entries = Entries(most_entries=most_entries)
        self._routes = bool(rule.routing_fields)
        self._lasts_s = [ttl.high_s for ttl in rule.ttls] or [float("inf")]

    def __len__(self) -> int:
        return len(self._entries)

    def look(self, shape: Shape, *, now_s: float | None, scope: str, routing: str = "") -> Outcome:
        """What the request would read and write, were it sent at `now_s`. Changes nothing.

        `routing` counts only where the rule has routing fields. With `now_s` None nothing expires
        and nothing races.
        """
        rule = self.rule
        if not shape.positions:
            return Outcome(read_tokens=0)
        if rule.kind == "objects":
            return _object(rule, shape)
        places = candidates(shape, reach(rule, shape))
        behind = answers(shape) if rule.keeps_answer else None
        own = self._finds(places, behind, self._own(scope, routing), now_s)
        best = longer(own.fresh, own.doubtful)
        read = self._worth(shape, best)
        expired = max(self._worth(shape, own.expired) - read, 0)
        routed = 0
        if self._routes:
            every = self._finds(places, behind, _salt(scope, "any"), now_s)
            there = longer(every.fresh, every.doubtful)
            routed = max(self._worth(shape, there) - read, 0)
        writes = written(rule, shape, held(rule, shape), read)
        gone = own.expired if expired else None
        ttl = ttl_of(rule, gone.entry.ttl) if gone is not None else None
        return Outcome(
            read_tokens=read,
            read_at=_whole(shape, best) if read else None,
            read_gap_s=_gap_s(best, now_s) if read else None,
            doubtful_tokens=read - self._worth(shape, own.fresh),
            written_tokens=sum(tokens for _, tokens in writes),
            written_by_ttl=writes,
            expired_tokens=expired,
            expired_gap_s=_gap_s(gone, now_s),
            expired_ttl=ttl.name if ttl is not None else None,
            raced_tokens=max(self._worth(shape, own.racing) - read, 0),
            routed_tokens=routed,
            read_chain=best.chain if read and best is not None else None,
        )

    def keep(
        self,
        shape: Shape,
        outcome: Outcome,
        *,
        now_s: float | None,
        readable_s: float | None,
        scope: str,
        routing: str = "",
        answered_s: float | None = None,
    ) -> None:
        """Leaves what the request leaves, and refreshes what it read.

        `outcome` is what `look` said of it. Entries can be found from `readable_s` on, when the
        answer begins or ends as the rule has it; where that is unknown from `answered_s`, and where
        that is unknown too at once. Not to be called for a request that failed.
        """
        rule = self.rule
        if not shape.positions or rule.kind in {"objects", "usage-only"}:
            return
        readable = readable_s if readable_s is not None else answered_s
        made = Entry(
            started_s=_UNKNOWN if now_s is None else now_s,
            readable_s=_NEVER if readable is None else readable,
            ttl=ttl_number(rule, shape.automatic),
            ends_prompt=False,
        )
        salts = [self._own(scope, routing)]
        if self._routes:
            salts.append(_salt(scope, "any"))
        kept = held(rule, shape)
        chains = [] if outcome.read_chain is None else [outcome.read_chain]
        if rule.kind == "persisted-units":
            chains += self._common(shape, _salt(scope, "seen"), made)
        if kept.everywhere:
            # Longest first, so that it is also forgotten first.
            chains += reversed(candidates(shape, reach(rule, shape)).chains)
        self._use(chains, salts, made, now_s)
        for index in kept.positions:
            place = shape.positions[index]
            number = ttl_number(rule, place.mark or shape.automatic)
            self._use([place.chain & _MASK], salts, replace(made, ttl=number), now_s)
        last = len(shape.positions) - 1
        if (
            rule.keeps_answer
            and shape.output_tokens
            and (kept.everywhere or last in kept.positions)
        ):
            ended = replace(made, ends_prompt=True)
            self._use([shape.positions[last].chain & _MASK], salts, ended, now_s)

    def _use(self, chains: list[int], salts: list[int], made: Entry, now_s: float | None) -> None:
        for salt in salts:
            self._entries.use(
                (chain ^ salt for chain in chains),
                made,
                now_s=now_s,
                lasts_s=self._lasts_s,
                refreshes=self.rule.refreshed_by_reads,
            )

    def _common(self, shape: Shape, seen: int, made: Entry) -> list[int]:
        """The chain of the longest prefix that an earlier request had too; notes this one's."""
        places = candidates(shape, reach(self.rule, shape))
        common = present(self._entries, places, seen)
        for chain in reversed(places.chains):
            self._entries.put(chain ^ seen, made)
        if not common or places.tokens[common - 1] < self.rule.minimum_tokens.likely:
            return []
        return [places.chains[common - 1]]

    def _own(self, scope: str, routing: str) -> int:
        return _salt(scope, "own", routing if self._routes else "")

    def _finds(
        self, places: Candidates, behind: Candidates | None, salt: int, now_s: float | None
    ) -> Finds:
        rule, entries = self.rule, self._entries
        count = present(entries, places, salt) if rule.kind == "units" else len(places)
        finds = find_longest(
            rule, entries, places, count=count, salt=salt, now_s=now_s, ended=False
        )
        if behind is None:
            return finds
        more = find_longest(
            rule, entries, behind, count=len(behind), salt=salt, now_s=now_s, ended=True
        )
        return longer_of_each(finds, more)

    def _worth(self, shape: Shape, find: Find | None) -> int:
        if find is None:
            return 0
        tokens = find.tokens
        if self.rule.kind == "units":
            tokens = min(tokens, shape.tokens - 1)
        return counted(self.rule, tokens)


def _salt(scope: str, use: str, routing: str = "") -> int:
    digest = blake2b(digest_size=8)
    for part in (use, scope, routing):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return int.from_bytes(digest.digest(), "big")


def _gap_s(find: Find | None, now_s: float | None) -> float | None:
    if find is None or now_s is None:
        return None
    gap = gap_s(find.entry, now_s)
    return None if isnan(gap) else gap


def _whole(shape: Shape, find: Find | None) -> int | None:
    if find is None:
        return None
    if find.position >= 0:
        return find.position
    index = bisect_right(shape.positions, find.tokens, key=lambda place: place.end_tokens) - 1
    return index if index >= 0 else None


def _object(rule: Rule, shape: Shape) -> Outcome:
    cuts = held(rule, shape)
    if not cuts.positions:
        return Outcome(read_tokens=0)
    return Outcome(
        read_tokens=counted(rule, tokens_at(shape, cuts.positions[-1])),
        read_at=cuts.positions[-1],
    )
