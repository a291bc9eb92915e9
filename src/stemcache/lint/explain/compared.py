"""A request as its provider's cache sees it, and the second one against the first.

```
call ─► rule ─► prompt ─► sketch ─► scale ─► shape ─► Judged     one request
                                                └─ two of them ─► Case, steps, ladder, outcome
```
The same steps as those of a whole log's analysis, for two requests of which it is known that one
goes on from the other.
"""

from collections.abc import Mapping
from dataclasses import replace

from stemcache.errors import UsageError
from stemcache.lint.explain.request import Request
from stemcache.lint.intake import taken_in, usage_of
from stemcache.lint.judge import Case
from stemcache.lint.judged import Judged, judged, known_of, readable_s, routing_values
from stemcache.lint.scale import Scales
from stemcache.lint.shaping import shape_of
from stemcache.provider.book import Book
from stemcache.provider.cache.outcome import Outcome
from stemcache.provider.cache.simulate import PromptCache
from stemcache.provider.rule import Rule
from stemcache.trace.divergence.compare import compare
from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.sketch import sketch

__all__ = ["case_of", "grown", "judged_of", "outcome_of"]


def judged_of(
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
    try:
        taken = taken_in(call, book=book, provider=provider, aliases=aliases)
    except BadBodyError as error:
        raise UsageError(
            f"{request.name} is no request that can be compared: {error.reason}; give one as it "
            "is sent"
        ) from None
    if taken.prompt is None or not taken.prompt.spans:
        raise UsageError(f"{request.name} has an empty prompt; there is nothing to compare")
    usage = usage_of(call, taken.rule)
    drawn = sketch(taken.prompt)
    scale = scales.of(
        call.model,
        int(drawn.span_bytes.sum()),
        usage.prompt_tokens,
        whole=call.fidelity.keeps_parameters,
    )
    return judged(call, taken, usage, drawn, scale)


def case_of(old: Judged, new: Judged) -> Case:
    """The second request against the first. Costs what comparing costs."""
    return Case(
        call=new.call,
        prompt=new.prompt,
        shape=new.shape,
        rule=new.rule,
        keys=new.keys,
        span_bytes=new.sketch.span_bytes,
        scale=new.scale,
        parent=known_of(old),
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


def outcome_of(old: Judged, new: Judged) -> Outcome:
    """What the second would read if the first were all that came before it."""
    cache = PromptCache(new.rule)
    if not old.call.failed:
        before = cache.look(
            old.shape, now_s=old.call.time_s, scope="", routing=_routing(old, new.rule)
        )
        cache.keep(
            old.shape,
            before,
            now_s=old.call.time_s,
            readable_s=readable_s(old.call, new.rule),
            scope="",
            routing=_routing(old, new.rule),
            answered_s=old.call.answered_s,
        )
    return cache.look(new.shape, now_s=new.call.time_s, scope="", routing=_routing(new, new.rule))


def _routing(one: Judged, rule: Rule) -> str:
    return "\n".join(routing_values(one.call, rule, one.prompt).values())
