"""A log to a report: each call read, paired, predicted, compared and judged, one after the other.

```
call ─► rule, price, usage ─► prompt ─► sketch ─► parent ─► scale ─► shape ─► predicted
                                                    └──► divergence ──► losses ──► findings
```
Memory is bounded whatever the log's length: of earlier calls digests are kept, of the latest their
texts, and a parent whose texts are gone is read again.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from stemcache.lint.assumed import UNRESOLVED, assumed
from stemcache.lint.cause import Cause
from stemcache.lint.collect import Collector, Occurrence
from stemcache.lint.ends import Ends
from stemcache.lint.finding import Report
from stemcache.lint.judge import Case, Loss, judge, ladder_of, pure_growth
from stemcache.lint.keys import KeyValue, key_values
from stemcache.lint.known import Known, KnownCalls
from stemcache.lint.options import Options
from stemcache.lint.placement import marked
from stemcache.lint.refusals import ineffective, refusals
from stemcache.lint.remarks import remarks
from stemcache.lint.say import ineffective_cause, odd_cause, refusal_cause, timing_cause
from stemcache.lint.scale import Scale, Scales
from stemcache.lint.shaping import shape_of
from stemcache.lint.spend import Spend, spend
from stemcache.lint.tally import Tally
from stemcache.lint.time_order import in_time_order
from stemcache.lint.timing import Evidence, Label, labelled
from stemcache.lint.unread import Unread
from stemcache.provider.book import Book, load_book
from stemcache.provider.cache.cuts import held
from stemcache.provider.cache.outcome import Outcome
from stemcache.provider.cache.simulate import PromptCache
from stemcache.provider.price import Price
from stemcache.provider.resolve import Resolved, resolve
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Shape
from stemcache.provider.usage import Usage
from stemcache.provider.usage_read import read_usage
from stemcache.trace.calls.call import Call, Place
from stemcache.trace.divergence.change import Divergence
from stemcache.trace.divergence.compare import compare
from stemcache.trace.parents.index import ParentIndex
from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.sketch import Sketch, sketch
from stemcache.trace.spans.span import Prompt

__all__ = ["Analysis", "Log", "Row", "analyse"]

_NO_USAGE = Usage(prompt_tokens=None, read_tokens=None)
_MOST_ENTRIES = 250_000
"""Of one simulated cache: about 30 MB."""
_FIRST_ERROR = 400
_LEAST_TOLERANCE = 64
_TOLERANCE = 0.03
_ESTIMATE_TOLERANCE = 0.06


class Log(Protocol):
    """**Protocol**: calls to read once, and bodies to read again."""

    def __iter__(self) -> Any:
        """Calls in the log's order."""
        ...

    @property
    def repeated(self) -> int:
        """Records of an answer that was there before."""
        ...

    @property
    def skipped(self) -> Mapping[str, int]:
        """Lines that could not be used, by reason."""
        ...

    def again(self, place: Place) -> Mapping[str, Any] | None:
        """The body of a call that was read before; None where it cannot be had."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is said of one call: for those who want every one."""

    call: Call
    parent: Place | None
    rule: str
    prompt_tokens: int
    predicted_tokens: int
    reported_tokens: int | None
    parts: tuple[tuple[Label, int], ...]
    losses: tuple[Loss, ...]
    cost_usd: float | None


def analyse(
    log: Log,
    *,
    options: Options,
    book: Book | None = None,
    on_row: Callable[[Row], None] | None = None,
) -> Report:
    """Read a log to its end. Linear in its bytes; the log may be read again in places."""
    analysis = Analysis(
        options, load_book(overrides=(options.overrides,)) if book is None else book, log.again
    )
    analysis.on_row = on_row
    for call in in_time_order(log):
        analysis.add(call)
    return analysis.report(repeated=log.repeated, skipped=log.skipped)


class Analysis:
    """The state between two calls of a log."""

    def __init__(
        self, options: Options, book: Book, again: Callable[[Place], Mapping[str, Any] | None]
    ) -> None:
        self.on_row: Callable[[Row], None] | None = None
        self._options = options
        self._book = book
        self._caches: dict[tuple[str, str, int], PromptCache] = {}
        self._parents = ParentIndex(overlap=options.overlap)
        self._known = KnownCalls(partial(_reread, again))
        self._ends = Ends()
        self._scales = Scales()
        self._collector = Collector()
        self._unread = Unread()
        self._tally = Tally()
        self._ids: dict[str, int] = {}
        self._used_rules: dict[str, Rule] = {}

    def report(self, *, repeated: int, skipped: Mapping[str, int]) -> Report:
        """What the calls so far come to."""
        tally = self._tally
        for occurrence in self._unread.occurrences():
            self._collector.add(occurrence)
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
        prompt = None
        resolved = self._resolve(call, marked=False)
        rule = resolved.rule or UNRESOLVED
        if call.body is not None and call.api is not None and call.fidelity.keeps_text:
            try:
                prompt = prompt_of(call.body, call.api, rule.order)
            except BadBodyError as error:
                tally.skipped[error.reason] += 1
                return
            if _is_marked(prompt):
                resolved = self._resolve(call, marked=True)
                if resolved.rule is not None and resolved.rule.order != rule.order:
                    prompt = prompt_of(call.body, call.api, resolved.rule.order)
        rule = resolved.rule or UNRESOLVED
        tally.rules[rule.name] += 1
        self._used_rules.setdefault(rule.name, rule)
        refused = self._refuse(call, rule, prompt)
        if call.failed or refused:
            tally.failed += 1
            return
        usage = self._usage(call, rule)
        if prompt is None or not prompt.spans:
            self._count_only(call, usage, rule, resolved.price)
        else:
            self._judge(call, usage, rule, resolved.price, prompt)

    def _resolve(self, call: Call, *, marked: bool) -> Resolved:
        return resolve(
            self._book,
            provider=self._options.provider,
            host=call.host,
            model=call.model,
            api=call.api,
            marked=marked,
            aliases=self._options.aliases,
        )

    def _usage(self, call: Call, rule: Rule) -> Usage:
        if call.usage is None:
            return _NO_USAGE
        usage = read_usage(
            call.usage,
            api=call.api,
            provider=rule.provider or None,
            rule=rule if rule.name else None,
        )
        for sentence in usage.odd:
            self._say(odd_cause(sentence), call, rule)
        return usage

    def _say(self, cause: Cause, call: Call, rule: Rule) -> None:
        """Count a cause that lost no tokens of its own."""
        self._collector.add(
            Occurrence(
                cause=cause,
                call=_light(call),
                parent=None,
                lost_tokens=0,
                cost_usd=None,
                rule=rule.name,
            )
        )

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

    def _count_only(self, call: Call, usage: Usage, rule: Rule, price: Price | None) -> None:
        """A call whose prompt cannot be seen."""
        prompt_tokens = usage.prompt_tokens or 0
        spent = spend(call, usage, price, rule, subscription=self._options.subscription)
        self._tally.used(
            usage,
            read_tokens=usage.read_tokens or 0,
            prompt_tokens=prompt_tokens,
            lost_tokens=0,
        )
        self._tally.paid(spent)

    def _judge(
        self, call: Call, usage: Usage, rule: Rule, price: Price | None, prompt: Prompt
    ) -> None:
        assert call.api is not None, "a prompt is of an API"
        whole = call.fidelity.keeps_parameters
        rule = assumed(rule, whole=whole)
        drawn = sketch(prompt)
        prompt_bytes = int(drawn.span_bytes.sum())
        scope = f"{call.scope}\n{rule.provider}"
        number = self._parent(call, prompt, drawn, scope)
        known = None if number is None else self._known.get(number)
        scale = self._scales.of(call.model, prompt_bytes, usage.prompt_tokens, whole=whole)
        growth = None
        if known is not None:
            growth = pure_growth(drawn.span_chain, drawn.span_bytes, known)
            if growth is not None and scale.reported and known.reported_prompt_tokens:
                scale = scale.with_knot(growth.shared_bytes, known.reported_prompt_tokens)
        keys = key_values(rule, prompt, call.model, ordered=call.fidelity.keeps_key_order)
        shape = shape_of(
            prompt,
            drawn,
            keys=keys,
            scale=scale,
            output_tokens=usage.output_tokens,
            ttl=None if whole else _longest_ttl(usage),
        )
        judged = _Judged(
            call, _light(call), usage, rule, price, prompt, drawn, scale, keys, shape, whole
        )
        routing = _routing(call, rule, prompt)
        cache = self._cache(rule)
        outcome = cache.look(shape, now_s=call.time_s, scope=scope, routing=routing)
        self._settle(judged, outcome, number, known, growth)
        cache.keep(
            shape,
            outcome,
            now_s=call.time_s,
            readable_s=_readable_s(call, rule),
            scope=scope,
            routing=routing,
            answered_s=call.answered_s,
        )
        number = self._parents.add(
            drawn, scope=scope, answered_s=_readable_s(call, rule), prompt=prompt
        )
        self._ends.add(drawn, scope=scope, number=number)
        if call.id is not None:
            self._ids[call.id] = number
            if len(self._ids) > 200_000:
                del self._ids[next(iter(self._ids))]
        self._known.add(number, self._remembered(judged), prompt, call.size_bytes)

    def _parent(self, call: Call, prompt: Prompt, drawn: Sketch, scope: str) -> int | None:
        """Number of the call that this one goes on from."""
        plain = self._ends.find(prompt, drawn, scope=scope)
        known = None if plain is None else self._known.get(plain)
        if known is not None and not _later(known.readable_s, call.time_s):
            return plain
        found = self._parents.find(
            drawn,
            scope=scope,
            now_s=call.time_s,
            previous=self._ids.get(call.previous_id or ""),
            prompt=prompt,
        )
        return None if found is None else found.number

    def _settle(
        self,
        judged: "_Judged",
        outcome: Outcome,
        parent: int | None,
        known: Known | None,
        growth: Divergence | None,
    ) -> None:
        """What was read, what was lost to what, and what that cost."""
        call, usage, rule = judged.call, judged.usage, judged.rule
        case = None
        if known is not None and parent is not None:
            case = self._case(judged, known, parent, growth)
        elif parent is None:
            self._tally.cold += 1
        steps, ladder = ((), None) if case is None else ladder_of(case)
        untimely = max(outcome.expired_tokens, outcome.raced_tokens, outcome.routed_tokens)
        should = outcome.read_tokens + untimely
        if ladder is not None:
            should = max(should, ladder.levels[0])
        if usage.read_tokens is not None:
            read = usage.read_tokens
        elif untimely:
            read = outcome.read_tokens
        else:
            read = should
        tolerance = _tolerance(usage, rule, judged.shape.tokens)
        evidence = Evidence(
            expired_tokens=max(outcome.expired_tokens, outcome.doubtful_tokens),
            raced_tokens=outcome.raced_tokens,
            routed_tokens=outcome.routed_tokens,
            dropped=known is not None
            and known.did_nothing
            and _did_nothing(usage, judged.shape, rule),
        )
        parts = labelled(
            should - read,
            evidence,
            tolerance_tokens=tolerance,
            reported=usage.read_tokens is not None,
        )
        losses = [
            Loss(timing_cause(label, call, _timing_words(outcome, rule)), tokens)
            for label, tokens in parts
            if label != "rounding"
        ]
        if case is not None and ladder is not None:
            if ladder.top and case.parent.last_write is not None:
                self._unread.wanted(case.parent.last_write, scope=call.scope)
            losses += judge(
                case,
                steps,
                ladder,
                read_tokens=max(read, should),
                markers=judged.whole,
            )
        spent = self._spend(judged, read, outcome)
        if usage.read_tokens is not None:
            self._tally.compared(
                should, usage.read_tokens, parts, unseen=usage.read_tokens > should + tolerance
            )
        lost = sum(loss.tokens for loss in losses)
        prompt_tokens = judged.shape.tokens
        self._tally.used(usage, read_tokens=read, prompt_tokens=prompt_tokens, lost_tokens=lost)
        self._tally.near(rule.name, prompt_tokens)
        self._tally.paid(spent)
        self._collect(judged, losses, known, spent)
        self._unread.look(
            shape=judged.shape,
            prompt=judged.prompt,
            outcome=outcome,
            call=judged.light,
            rule=rule,
            spent=spent,
            usage=usage,
            charged_share=lost / max(1, prompt_tokens - read),
        )
        if self.on_row is not None:
            self.on_row(
                Row(
                    call=judged.light,
                    parent=None if known is None else known.call.place,
                    rule=rule.name,
                    prompt_tokens=prompt_tokens,
                    predicted_tokens=should,
                    reported_tokens=usage.read_tokens,
                    parts=tuple(parts),
                    losses=tuple(losses),
                    cost_usd=None if spent.cost is None else spent.cost.input_usd,
                )
            )

    def _case(
        self, judged: "_Judged", known: Known, number: int, growth: Divergence | None
    ) -> Case | None:
        parent_prompt = None
        if growth is None:
            parent_prompt = self._known.prompt(number)
            if parent_prompt is None:
                return None
            growth = compare(parent_prompt, judged.prompt)
        return Case(
            call=judged.call,
            prompt=judged.prompt,
            shape=judged.shape,
            rule=judged.rule,
            keys=judged.keys,
            span_bytes=judged.sketch.span_bytes,
            scale=judged.scale,
            parent=known,
            parent_prompt=parent_prompt,
            divergence=growth,
        )

    def _spend(self, judged: "_Judged", read: int, outcome: Outcome) -> Spend:
        usage = judged.usage
        if usage.prompt_tokens is None or usage.read_tokens is None:
            # Nothing was reported: what the rule predicts, to say what a fault costs.
            prompt_tokens = judged.shape.tokens
            usage = Usage(
                prompt_tokens=prompt_tokens,
                read_tokens=min(read, prompt_tokens),
                written_tokens=max(0, min(outcome.written_tokens, prompt_tokens - read)),
                written_by_ttl=(),
                output_tokens=usage.output_tokens,
            )
        return spend(
            judged.call,
            usage,
            judged.price,
            judged.rule,
            subscription=self._options.subscription,
        )

    def _collect(
        self, judged: "_Judged", losses: Iterable[Loss], known: Known | None, spent: Spend
    ) -> None:
        for loss in losses:
            cost_usd = None if spent.premium_usd is None else spent.premium_usd * loss.tokens
            self._collector.add(
                Occurrence(
                    cause=loss.cause,
                    call=judged.light,
                    parent=None if known is None else known.call.place,
                    lost_tokens=loss.tokens,
                    cost_usd=cost_usd,
                    rule=judged.rule.name or None,
                )
            )

    def _remembered(self, judged: "_Judged") -> Known:
        left = held(judged.rule, judged.shape)
        positions = judged.shape.positions
        return Known(
            call=judged.light,
            rule=judged.rule,
            span_chain=judged.sketch.span_chain,
            span_bytes=judged.sketch.span_bytes,
            keys=judged.keys,
            held=left,
            marks=tuple(marked(judged.shape)),
            prompt_tokens=judged.shape.tokens,
            reported_prompt_tokens=judged.usage.prompt_tokens,
            readable_s=_readable_s(judged.call, judged.rule),
            last_write=positions[left.positions[-1]].chain if left.positions else None,
            did_nothing=_did_nothing(judged.usage, judged.shape, judged.rule),
        )

    def _cache(self, rule: Rule) -> PromptCache:
        # Models of one rule differ in their figures; what they keep is apart in any case.
        key = rule.name, rule.kind, rule.minimum_tokens.likely
        if key not in self._caches:
            self._caches[key] = PromptCache(rule, most_entries=_MOST_ENTRIES)
        return self._caches[key]


@dataclass(frozen=True, slots=True)
class _Judged:
    call: Call
    light: Call
    """Without what is large."""
    usage: Usage
    rule: Rule
    price: Price | None
    prompt: Prompt
    sketch: Sketch
    scale: Scale
    keys: tuple[KeyValue, ...]
    shape: Shape
    whole: bool


def _reread(again: Callable[[Place], Mapping[str, Any] | None], known: Known) -> Prompt | None:
    body = again(known.call.place)
    if body is None or known.call.api is None:
        return None
    try:
        return prompt_of(body, known.call.api, known.rule.order)
    except BadBodyError:
        return None


def _light(call: Call) -> Call:
    """The call without what is large."""
    return replace(call, body=None, raw=None, answer=None)


def _is_marked(prompt: Prompt) -> bool:
    return prompt.automatic is not None or any(span.marker for span in prompt.spans)


def _routing(call: Call, rule: Rule, prompt: Prompt) -> str:
    """What chooses the server: the rule's fields, and the host where a server has its own cache."""
    parts = [call.host or ""] if rule.isolation == "server" else []
    for field in rule.routing_fields:
        if field.startswith("header:"):
            parts.append(call.headers.get(field.removeprefix("header:").lower(), ""))
        else:
            parts.append(str(prompt.parameters.get(field, "")))
    return "\n".join(parts)


def _readable_s(call: Call, rule: Rule) -> float | None:
    if rule.readable_after == "answer-ends":
        return call.ended_s if call.ended_s is not None else call.answered_s
    return call.answered_s if call.answered_s is not None else call.ended_s


def _later(one_s: float | None, other_s: float | None) -> bool:
    return one_s is not None and other_s is not None and one_s > other_s


def _tolerance(usage: Usage, rule: Rule, prompt_tokens: int) -> int:
    share = _ESTIMATE_TOLERANCE if usage.prompt_tokens is None else _TOLERANCE
    return max(_LEAST_TOLERANCE, 2 * rule.unit_tokens, round(share * prompt_tokens))


def _longest_ttl(usage: Usage) -> str | None:
    """Of what was written: one request may write for two lifetimes, the system prompt longer."""
    written = [ttl for ttl, tokens in usage.written_by_ttl if tokens > 0]
    return "1h" if "1h" in written else (written[0] if written else None)


def _did_nothing(usage: Usage, shape: Shape, rule: Rule) -> bool:
    return (
        rule.kind == "markers"
        and usage.read_tokens == 0
        and usage.written_tokens == 0
        and bool(held(rule, shape).positions)
    )


def _timing_words(outcome: Outcome, rule: Rule) -> dict[str, str]:
    words: dict[str, str] = {"rule": rule.name}
    gap_s = outcome.read_gap_s if outcome.expired_gap_s is None else outcome.expired_gap_s
    if gap_s is not None:
        words["gap"] = _duration(gap_s)
    if outcome.expired_ttl:
        words["ttl"] = outcome.expired_ttl
    elif outcome.doubtful_tokens and rule.ttls:
        words["ttl"] = f"at least {_duration(rule.ttls[0].low_s)}"
    if rule.routing_fields:
        words["routing"] = rule.routing_fields[0].removeprefix("header:").lstrip("/")
    return words


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
