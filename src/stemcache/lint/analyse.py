"""A log to a report: each call read, paired, predicted, compared and judged, one after the other.

```
call ─► rule, price, usage ─► prompt ─► sketch ─► parent ─► scale ─► shape ─► predicted
                                                    └──► divergence ──► losses ──► findings
```
Memory is bounded whatever the log's length: of earlier calls digests are kept, of the latest their
texts, and a parent whose texts are gone is read again. A log may as well be one that is being made:
`Analysis` takes calls one by one as they end, says what it has found of each, and how all stands.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from stemcache.lint.cause import Cause
from stemcache.lint.collect import Collector, Occurrence
from stemcache.lint.earlier import Earlier
from stemcache.lint.finding import Finding, Report
from stemcache.lint.intake import Intake, taken_in, usage_of
from stemcache.lint.judge import Case, Loss, judge, ladder_of, pure_growth
from stemcache.lint.judged import (
    Judged,
    did_nothing,
    judged,
    known_of,
    light,
    routing_values,
)
from stemcache.lint.known import Known, KnownCalls, read_again
from stemcache.lint.log import Log, Row
from stemcache.lint.options import Options
from stemcache.lint.reading import Reading, reading_of, timing_words
from stemcache.lint.refusals import ineffective, refusals
from stemcache.lint.remarks import remarks
from stemcache.lint.room import Room
from stemcache.lint.say import ineffective_cause, odd_cause, refusal_cause, timing_cause
from stemcache.lint.scale import Scales
from stemcache.lint.spend import Spend, or_predicted, spend
from stemcache.lint.tally import Tally
from stemcache.lint.time_order import in_time_order
from stemcache.lint.unread import Unread
from stemcache.provider.book import Book, load_book
from stemcache.provider.cache.outcome import Outcome
from stemcache.provider.cache.simulate import PromptCache
from stemcache.provider.rule import Rule
from stemcache.provider.usage import Usage
from stemcache.trace.calls.call import Call, Place
from stemcache.trace.divergence.change import Divergence
from stemcache.trace.divergence.compare import compare
from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.span import Prompt

__all__ = ["Analysis", "analyse"]

_FIRST_ERROR = 400
_ROOM = Room()
_NOTHING: Mapping[str, int] = {}


def analyse(
    log: Log,
    *,
    options: Options,
    book: Book | None = None,
    on_row: Callable[[Row], None] | None = None,
    room: Room = _ROOM,
) -> Report:
    """Read a log to its end. Linear in its bytes; the log may be read again in places."""
    analysis = Analysis(
        options,
        load_book(overrides=(options.overrides,)) if book is None else book,
        log.again,
        room=room,
    )
    analysis.on_row = on_row
    for call in in_time_order(log):
        analysis.add(call)
    return analysis.report(repeated=log.repeated, skipped=log.skipped)


class Analysis:
    """The state between two calls of a log."""

    def __init__(
        self,
        options: Options,
        book: Book,
        again: Callable[[Place], Mapping[str, Any] | None],
        *,
        room: Room = _ROOM,
    ) -> None:
        self.on_row: Callable[[Row], None] | None = None
        self.on_occurrence: Callable[[Occurrence], None] | None = None
        """Called for each cause that a call has, ahead of `on_row`, once it is counted."""
        self._options = options
        self._book = book
        self._room = room
        self._caches: dict[tuple[str, str, int], PromptCache] = {}
        self._known = KnownCalls(partial(read_again, again), room=room)
        self._earlier = Earlier(self._known, overlap=options.overlap, room=room)
        self._scales = Scales()
        self._collector = Collector(most_causes=room.causes)
        self._unread = Unread(most_open=room.open_writes)
        self._tally = Tally()
        self._used_rules: dict[str, Rule] = {}

    def report(self, *, repeated: int, skipped: Mapping[str, int]) -> Report:
        """What all calls come to, once. Writes that nobody read until now count as unread."""
        for occurrence in self._unread.occurrences():
            self._collector.add(occurrence)
        return self.so_far(repeated=repeated, skipped=skipped)

    def standing(self, occurrence: Occurrence) -> Finding:
        """What is found so far of the cause of an occurrence that was told. O(1)."""
        return self._collector.standing(
            occurrence,
            input_cost_usd=self._tally.input_cost_usd,
            prompt_tokens=self._tally.prompt_tokens,
            warning_share=self._options.warning_share,
        )

    def so_far(self, *, repeated: int = 0, skipped: Mapping[str, int] = _NOTHING) -> Report:
        """What the calls so far come to; changes nothing, and more calls may be added.

        Writes that may still be read are no finding yet.
        """
        tally = self._tally
        total = tally.total(repeated=repeated, skipped=skipped)
        found = self._collector.findings(
            input_cost_usd=total.input_cost_usd,
            prompt_tokens=total.prompt_tokens,
            warning_share=self._options.warning_share,
        )
        return Report(
            findings=found.findings,
            total=total,
            reconciliation=tally.reconciliation(),
            remarks=remarks(
                total,
                tally,
                found,
                rules=tuple(self._used_rules.values()),
                stale=self._book.staleness(self._options.today),
            ),
        )

    def add(self, call: Call) -> None:
        """Judge one call against those before it."""
        tally = self._tally
        tally.seen(call)
        try:
            taken = taken_in(
                call,
                book=self._book,
                provider=self._options.provider,
                aliases=self._options.aliases,
            )
        except BadBodyError as error:
            tally.skipped[error.reason] += 1
            return
        rule = taken.rule
        tally.rules[rule.name] += 1
        self._used_rules.setdefault(rule.name, rule)
        if self._refuse(call, rule, taken.prompt) or call.failed:
            tally.failed += 1
            return
        usage = usage_of(call, rule)
        for sentence in usage.odd:
            self._say(odd_cause(sentence), call, rule)
        if taken.prompt is None or not taken.prompt.spans:
            self._count_only(call, usage, taken)
        else:
            self._judge(call, usage, taken, taken.prompt)

    def _say(self, cause: Cause, call: Call, rule: Rule) -> None:
        """Count a cause that lost no tokens of its own."""
        self._found(
            Occurrence(
                cause=cause,
                call=light(call),
                parent=None,
                lost_tokens=0,
                cost_usd=None,
                rule=rule.name,
            )
        )

    def _found(self, occurrence: Occurrence) -> None:
        self._collector.add(occurrence)
        if self.on_occurrence is not None:
            self.on_occurrence(occurrence)

    def _refuse(self, call: Call, rule: Rule, prompt: Prompt | None) -> bool:
        if prompt is None or not call.fidelity.keeps_parameters:
            return False
        for pointer in ineffective(prompt):
            self._say(ineffective_cause(pointer), call, rule)
        if call.usage is not None or (call.status is not None and call.status < _FIRST_ERROR):
            return False  # an API that answered did not refuse, whatever the rule says
        refused = [*refusals(rule, prompt)]
        for refusal in refused:
            self._say(refusal_cause(refusal, rule), call, rule)
        return bool(refused)

    def _count_only(self, call: Call, usage: Usage, taken: Intake) -> None:
        """A call whose prompt cannot be seen."""
        self._tally.used(
            usage,
            read_tokens=usage.read_tokens or 0,
            prompt_tokens=usage.prompt_tokens or 0,
            lost_tokens=0,
        )
        subscription = self._options.subscription
        spent = spend(call, usage, taken.price, taken.rule, subscription=subscription)
        unpriced = None if taken.price else call.model
        self._tally.paid(spent, call.billed_usd, unpriced=unpriced)

    def _judge(self, call: Call, usage: Usage, taken: Intake, prompt: Prompt) -> None:
        drawn = self._earlier.sketch(prompt)
        scope = f"{call.scope}\n{taken.rule.provider}"
        number = self._earlier.find(call, prompt, drawn, scope=scope)
        known = None if number is None else self._known.get(number)
        scale = self._scales.of(
            call.model,
            int(drawn.span_bytes.sum()),
            usage.prompt_tokens,
            whole=call.fidelity.keeps_parameters,
        )
        growth = None
        if known is not None:
            growth = pure_growth(drawn.span_chain, drawn.span_bytes, known)
            if growth is not None and scale.reported and known.reported_prompt_tokens:
                scale = scale.with_knot(growth.shared_bytes, known.reported_prompt_tokens)
        one = judged(call, taken, usage, drawn, scale)
        routing = "\n".join(routing_values(call, one.rule, prompt).values())
        cache = self._cache(one.rule)
        outcome = cache.look(one.shape, now_s=call.time_s, scope=scope, routing=routing)
        self._settle(one, outcome, number, known, growth)
        kept = known_of(one)
        cache.keep(
            one.shape,
            outcome,
            now_s=call.time_s,
            readable_s=kept.readable_s,
            scope=scope,
            routing=routing,
            answered_s=call.answered_s,
        )
        self._earlier.add(call, prompt, drawn, scope=scope, kept=kept)

    def _settle(
        self,
        one: Judged,
        outcome: Outcome,
        parent: int | None,
        known: Known | None,
        growth: Divergence | None,
    ) -> None:
        """What was read, what was lost to what, and what that cost."""
        case = None
        if known is not None and parent is not None:
            case = self._case(one, known, parent, growth)
        elif parent is None:
            self._tally.cold += 1
        steps, ladder = ((), None) if case is None else ladder_of(case)
        dropped = known is not None and known.did_nothing and did_nothing(one)
        reading = reading_of(
            one,
            outcome,
            ladder,
            dropped=dropped,
            answer_tokens=0 if known is None else known.output_tokens,
        )
        words = timing_words(outcome, one.rule)
        losses = [
            Loss(timing_cause(label, one.call, words), tokens)
            for label, tokens in reading.parts
            # What no rule foretold cannot be missed.
            if label != "rounding" and (one.rule.name or label != "unexplained")
        ]
        if case is not None and ladder is not None:
            if ladder.top and case.parent.last_write is not None:
                self._unread.wanted(case.parent.last_write, scope=one.call.scope)
            losses += judge(
                case,
                steps,
                ladder,
                read_tokens=max(reading.read_tokens, reading.should_tokens),
                markers=one.whole,
            )
        spent = self._spend(one, reading.read_tokens, outcome)
        self._add_up(one, reading, losses, spent)
        self._collect(one, losses, known, spent)
        lost = sum(loss.tokens for loss in losses)
        self._unread.look(
            shape=one.shape,
            prompt=one.prompt,
            outcome=outcome,
            call=one.light,
            rule=one.rule,
            spent=spent,
            usage=one.usage,
            charged_share=lost / max(1, one.shape.tokens - reading.read_tokens),
        )
        if self.on_row is not None:
            self.on_row(
                Row(
                    call=one.light,
                    parent=None if known is None else known.call.place,
                    rule=one.rule.name,
                    prompt_tokens=one.shape.tokens,
                    predicted_tokens=reading.should_tokens,
                    reported_tokens=one.usage.read_tokens,
                    parts=reading.parts,
                    losses=tuple(losses),
                    cost_usd=None if spent.cost is None else spent.cost.input_usd,
                )
            )

    def _add_up(self, one: Judged, reading: Reading, losses: Iterable[Loss], spent: Spend) -> None:
        tally = self._tally
        if one.usage.read_tokens is not None:
            tally.compared(
                reading.should_tokens,
                one.usage.read_tokens,
                reading.parts,
                unseen=reading.unseen,
            )
        tally.used(
            one.usage,
            read_tokens=reading.read_tokens,
            prompt_tokens=one.shape.tokens,
            lost_tokens=sum(loss.tokens for loss in losses),
        )
        tally.near(one.rule.name, one.shape.tokens)
        tally.paid(spent, one.call.billed_usd, unpriced=None if one.price else one.call.model)

    def _case(
        self, one: Judged, known: Known, number: int, growth: Divergence | None
    ) -> Case | None:
        parent_prompt = None
        if growth is None:
            parent_prompt = self._known.prompt(number)
            if parent_prompt is None:
                return None
            growth = compare(parent_prompt, one.prompt)
        return Case(
            call=one.call,
            prompt=one.prompt,
            shape=one.shape,
            rule=one.rule,
            keys=one.keys,
            span_bytes=one.sketch.span_bytes,
            scale=one.scale,
            parent=known,
            parent_prompt=parent_prompt,
            divergence=growth,
        )

    def _spend(self, one: Judged, read: int, outcome: Outcome) -> Spend:
        usage = or_predicted(
            one.usage,
            prompt_tokens=one.shape.tokens,
            read_tokens=read,
            written_tokens=outcome.written_tokens,
        )
        subscription = self._options.subscription
        return spend(one.call, usage, one.price, one.rule, subscription=subscription)

    def _collect(
        self, one: Judged, losses: Iterable[Loss], known: Known | None, spent: Spend
    ) -> None:
        for loss in losses:
            cost_usd = None if spent.premium_usd is None else spent.premium_usd * loss.tokens
            self._found(
                Occurrence(
                    cause=loss.cause,
                    call=one.light,
                    parent=None if known is None else known.call.place,
                    lost_tokens=loss.tokens,
                    cost_usd=cost_usd,
                    needs=loss.needs,
                    rule=one.rule.name or None,
                )
            )

    def _cache(self, rule: Rule) -> PromptCache:
        # Models of one rule differ in their figures; what they keep is apart in any case.
        key = rule.name, rule.kind, rule.minimum_tokens.likely
        if key not in self._caches:
            self._caches[key] = PromptCache(rule, most_entries=self._room.cache_entries)
        return self._caches[key]
