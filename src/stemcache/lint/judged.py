"""A request as its provider's cache sees it, with all that is worked out about it on the way.

```
call ─► prompt ─► sketch ─► scale ─► shape          rule, usage, keys, price beside it
                                       └─► known_of: what is kept for those that go on from it
```
"""

from dataclasses import dataclass, replace

from stemcache.lint.assumed import assumed
from stemcache.lint.intake import Intake
from stemcache.lint.keys import KeyValue, key_values
from stemcache.lint.known import Known
from stemcache.lint.placement import marked
from stemcache.lint.scale import Scale
from stemcache.lint.shaping import shape_of
from stemcache.provider.cache.cuts import held
from stemcache.provider.price import Price
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Shape
from stemcache.provider.usage import Usage
from stemcache.trace.calls.call import Call
from stemcache.trace.spans.sketch import Sketch
from stemcache.trace.spans.span import Prompt

__all__ = [
    "Judged",
    "did_nothing",
    "judged",
    "known_of",
    "light",
    "readable_s",
    "routing_values",
]


@dataclass(frozen=True, slots=True)
class Judged:
    """One request."""

    call: Call
    light: Call
    """Without what is large."""
    usage: Usage
    rule: Rule
    """As `assumed` has it for what the log shows."""
    price: Price | None
    prompt: Prompt
    sketch: Sketch
    scale: Scale
    keys: tuple[KeyValue, ...]
    shape: Shape

    @property
    def whole(self) -> bool:
        """Whether the log shows markers and parameters."""
        return self.call.fidelity.keeps_parameters


def judged(call: Call, taken: Intake, usage: Usage, drawn: Sketch, scale: Scale) -> Judged:
    """O(spans + units)."""
    assert taken.prompt is not None, "only what has a prompt is judged"
    whole = call.fidelity.keeps_parameters
    rule = assumed(taken.rule, whole=whole)
    keys = key_values(rule, taken.prompt, call.model, ordered=call.fidelity.keeps_key_order)
    shape = shape_of(
        taken.prompt,
        drawn,
        keys=keys,
        scale=scale,
        output_tokens=usage.output_tokens,
        ttl=None if whole else _longest_ttl(usage),
    )
    return Judged(
        call, light(call), usage, rule, taken.price, taken.prompt, drawn, scale, keys, shape
    )


def _longest_ttl(usage: Usage) -> str | None:
    """Of what was written: one request may write for two lifetimes, the system prompt longer."""
    written = [ttl for ttl, tokens in usage.written_by_ttl if tokens > 0]
    return "1h" if "1h" in written else (written[0] if written else None)


def light(call: Call) -> Call:
    """The call without what is large."""
    return replace(call, body=None, raw=None, answer=None)


def known_of(one: Judged) -> Known:
    """What is kept of it for those that go on from it."""
    left = held(one.rule, one.shape)
    positions = one.shape.positions
    return Known(
        call=one.light,
        rule=one.rule,
        span_chain=one.sketch.span_chain,
        span_bytes=one.sketch.span_bytes,
        keys=one.keys,
        held=left,
        marks=tuple(marked(one.shape)),
        prompt_tokens=one.shape.tokens,
        reported_prompt_tokens=one.usage.prompt_tokens,
        readable_s=readable_s(one.call, one.rule),
        last_write=positions[left.positions[-1]].chain if left.positions else None,
        output_tokens=one.usage.output_tokens or 0,
        did_nothing=did_nothing(one),
    )


def did_nothing(one: Judged) -> bool:
    """Whether markers were sent that count, and usage shows that they had no effect."""
    return (
        one.rule.kind == "markers"
        and one.usage.read_tokens == 0
        and one.usage.written_tokens == 0
        and bool(held(one.rule, one.shape).positions)
    )


def readable_s(call: Call, rule: Rule) -> float | None:
    """From when on what the call leaves can be read; None where the log has no such time."""
    if rule.readable_after == "answer-ends":
        return call.ended_s if call.ended_s is not None else call.answered_s
    return call.answered_s if call.answered_s is not None else call.ended_s


def routing_values(call: Call, rule: Rule, prompt: Prompt) -> dict[str, str]:
    """What chooses the server, by name: the rule's fields, and the host of caches of a server."""
    found = {"host": call.host or ""} if rule.isolation == "server" else {}
    for field in rule.routing_fields:
        if field.startswith("header:"):
            name = field.removeprefix("header:").lower()
            found[name] = call.headers.get(name, "")
        else:
            found[field] = str(prompt.parameters.get(field, ""))
    return found
