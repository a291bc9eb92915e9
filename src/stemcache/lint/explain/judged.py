"""A request as its provider's cache sees it, and the second one against the first.

```
call ─► rule ─► prompt ─► sketch ─► scale ─► shape ─► Judged     one request
                                                └─ two of them ─► Case, steps, ladder, outcome
```
The same steps as those of a whole log's analysis, for two requests of which it is known that one
goes on from the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from stemcache.errors import UsageError
from stemcache.lint.assumed import UNRESOLVED, assumed
from stemcache.lint.explain.request import Request
from stemcache.lint.judge import Case
from stemcache.lint.keys import KeyValue, key_values
from stemcache.lint.known import Known
from stemcache.lint.placement import marked
from stemcache.lint.scale import Scale, Scales
from stemcache.lint.shaping import shape_of
from stemcache.provider.book import Book
from stemcache.provider.cache.cuts import held
from stemcache.provider.cache.outcome import Outcome
from stemcache.provider.cache.simulate import PromptCache
from stemcache.provider.resolve import Resolved, resolve
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Shape
from stemcache.provider.usage import Usage
from stemcache.provider.usage_read import read_usage
from stemcache.trace.calls.call import Call
from stemcache.trace.divergence.compare import compare
from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.sketch import Sketch, sketch
from stemcache.trace.spans.span import Prompt

__all__ = ["Judged", "case_of", "did_nothing", "grown", "judged", "outcome_of", "routing_values"]

_NO_USAGE = Usage(prompt_tokens=None, read_tokens=None)


@dataclass(frozen=True, slots=True)
class Judged:
    """One request."""

    call: Call
    usage: Usage
    rule: Rule
    prompt: Prompt
    sketch: Sketch
    scale: Scale
    keys: tuple[KeyValue, ...]
    shape: Shape


def judged(
    request: Request,
    *,
    book: Book,
    provider: str | None,
    aliases: Mapping[str, str],
    scales: Scales,
) -> Judged:
    """Linear in the body. Raises UsageError for a request that cannot be compared."""
    call = request.call
    if call.body is None or call.api is None:
        raise UsageError(
            f"{request.name} has no request body that could be compared; name a record that "
            "holds one"
        )
    if not call.fidelity.keeps_text:
        raise UsageError(
            f"the texts of {request.name} are {call.fidelity.value} in this log; compare requests "
            "of a log that holds them whole"
        )
    prompt, rule = _prompt(request, call, book, provider, aliases)
    if not prompt.spans:
        raise UsageError(f"{request.name} has an empty prompt; there is nothing to compare")
    whole = call.fidelity.keeps_parameters
    rule = assumed(rule, whole=whole)
    usage = _NO_USAGE
    if call.usage is not None:
        usage = read_usage(call.usage, api=call.api, provider=rule.provider or None)
    drawn = sketch(prompt)
    size = int(drawn.span_bytes.sum())
    scale = scales.of(call.model, size, usage.prompt_tokens, whole=whole)
    keys = key_values(rule, prompt, call.model)
    shape = shape_of(prompt, drawn, keys=keys, scale=scale, output_tokens=usage.output_tokens)
    return Judged(call, usage, rule, prompt, drawn, scale, keys, shape)


def _prompt(
    request: Request,
    call: Call,
    book: Book,
    provider: str | None,
    aliases: Mapping[str, str],
) -> tuple[Prompt, Rule]:
    assert call.body is not None and call.api is not None, "looked at before"

    def told(*, has_markers: bool) -> Resolved:
        return resolve(
            book,
            provider=provider,
            host=call.host,
            model=call.model,
            api=call.api,
            marked=has_markers,
            aliases=aliases,
        )

    rule = told(has_markers=False).rule or UNRESOLVED
    try:
        prompt = prompt_of(call.body, call.api, rule.order)
        if prompt.automatic is not None or any(span.marker for span in prompt.spans):
            again = told(has_markers=True).rule or rule
            if again.order != rule.order:
                prompt = prompt_of(call.body, call.api, again.order)
            rule = again
    except BadBodyError as error:
        raise UsageError(
            f"{request.name} is no request that can be compared: {error.reason}; give one as it "
            "is sent"
        ) from None
    return prompt, rule


def case_of(old: Judged, new: Judged) -> Case:
    """The second request against the first. Costs what comparing costs."""
    known = Known(
        call=old.call,
        rule=old.rule,
        span_chain=old.sketch.span_chain,
        span_bytes=old.sketch.span_bytes,
        keys=old.keys,
        held=held(old.rule, old.shape),
        marks=tuple(marked(old.shape)),
        prompt_tokens=old.shape.tokens,
        reported_prompt_tokens=old.usage.prompt_tokens,
        did_nothing=did_nothing(old),
        readable_s=None,
        last_write=None,
    )
    return Case(
        call=new.call,
        prompt=new.prompt,
        shape=new.shape,
        rule=new.rule,
        keys=new.keys,
        span_bytes=new.sketch.span_bytes,
        scale=new.scale,
        parent=known,
        parent_prompt=old.prompt,
        divergence=compare(old.prompt, new.prompt),
    )


def grown(old: Judged, new: Judged, shared_bytes: int) -> Judged:
    """The new request, which only adds to the old one, with what that one reported taken in."""
    if old.usage.prompt_tokens is None or not new.scale.reported:
        return new
    scale = new.scale.with_knot(shared_bytes, old.usage.prompt_tokens)
    shape = shape_of(
        new.prompt,
        new.sketch,
        keys=new.keys,
        scale=scale,
        output_tokens=new.usage.output_tokens,
    )
    return replace(new, scale=scale, shape=shape)


def did_nothing(one: Judged) -> bool:
    """Whether markers were sent and usage shows that they had no effect."""
    return (
        one.rule.kind == "markers"
        and one.usage.read_tokens == 0
        and one.usage.written_tokens == 0
        and bool(held(one.rule, one.shape).positions)
    )


def outcome_of(old: Judged, new: Judged) -> Outcome:
    """What the second would read if the first were all that came before it."""
    cache = PromptCache(new.rule)
    if not old.call.failed:
        before = cache.look(
            old.shape, now_s=old.call.time_s, scope="", routing=_routing(old, new.rule)
        )
        ended, answered = old.call.ended_s, old.call.answered_s
        late = old.rule.readable_after == "answer-ends"
        first, second = (ended, answered) if late else (answered, ended)
        cache.keep(
            old.shape,
            before,
            now_s=old.call.time_s,
            readable_s=second if first is None else first,
            scope="",
            routing=_routing(old, new.rule),
            answered_s=answered,
        )
    return cache.look(new.shape, now_s=new.call.time_s, scope="", routing=_routing(new, new.rule))


def routing_values(one: Judged, rule: Rule) -> dict[str, str]:
    """What a request says in the fields that choose a server, by their names."""
    found = {"host": one.call.host or ""} if rule.isolation == "server" else {}
    for field in rule.routing_fields:
        if field.startswith("header:"):
            name = field.removeprefix("header:").lower()
            found[name] = one.call.headers.get(name, "")
        else:
            found[field] = str(one.prompt.parameters.get(field, ""))
    return found


def _routing(one: Judged, rule: Rule) -> str:
    return "\n".join(routing_values(one, rule).values())
