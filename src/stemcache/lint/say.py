"""Causes that are no change of content: parameters, markers, time, routing, usage, in words."""

import re
from collections.abc import Mapping

from stemcache.lint.catalogue import find
from stemcache.lint.cause import Cause
from stemcache.lint.keys import KeyChange
from stemcache.lint.placement import Misplaced
from stemcache.lint.refusals import Refusal
from stemcache.lint.rules.below_minimum import advice
from stemcache.lint.timing import Label
from stemcache.provider.rule import Rule
from stemcache.trace.calls.call import Call
from stemcache.trace.spans.span import Prompt

__all__ = [
    "extended_cause",
    "ineffective_cause",
    "key_cause",
    "misplaced_cause",
    "odd_cause",
    "refusal_cause",
    "timing_cause",
    "unread_cause",
]

_NUMBERS = re.compile(r"/\d+")
_CODES = {
    "no-marker": "STM403",
    "look-back": "STM401",
    "marker-placement": "STM402",
    "frozen-markers": "STM410",
    "below-minimum": "STM406",
    "too-many-markers": "STM404",
    "ttl-order": "STM405",
    "marker-dropped": "STM407",
    "expired": "STM601",
    "raced": "STM602",
    "routed": "STM603",
    "unexplained": "STM702",
}


def _place(pointer: str) -> str:
    """A pointer without the numbers of messages and tools."""
    return _NUMBERS.sub("/*", pointer)


def refusal_cause(refusal: Refusal, rule: Rule) -> Cause:
    """What the API answers with a 400."""
    head = find(_CODES[refusal.fault])
    return Cause(
        rule=head,
        kind=head.kind,
        message=refusal.detail,
        pointer=refusal.pointer,
        group=f"{rule.name} {_place(refusal.pointer)}",
        fields=(("most_markers", str(rule.most_markers)), ("detail", refusal.detail)),
    )


def misplaced_cause(found: Misplaced, rule: Rule, prompt: Prompt) -> Cause:
    """A marker that is missing, too far away or in the wrong place."""
    head = find(_CODES[found.fault])
    span = prompt.spans[found.span]
    return Cause(
        rule=head,
        kind=head.kind,
        message=found.detail,
        pointer=span.pointer,
        group=_place(span.pointer),
        fields=(
            ("detail", found.detail),
            ("look_back", str(rule.look_back)),
            ("minimum", f"{rule.minimum_tokens.likely:,}"),
            ("advice", advice(markers=rule.kind == "markers")),
            ("most_markers", str(rule.most_markers)),
            ("pointer", span.pointer),
        ),
    )


def key_cause(change: KeyChange, rule: Rule) -> Cause:
    """A parameter that keys the cache has another value."""
    head = find("STM501")
    section = change.after.key.section
    return Cause(
        rule=head,
        kind=f"{head.kind}:{change.name}",
        message=f"{change.name} has another value, and all from {section} on is keyed by it",
        pointer=change.pointer,
        old=_shape(change.before.spelt),
        new=_shape(change.after.spelt),
        group=change.name,
        fields=(("parameter", change.name), ("section", str(section)), ("rule", rule.name)),
        old_text=change.before.spelt.decode(errors="replace")[:4096],
        new_text=change.after.spelt.decode(errors="replace")[:4096],
    )


def _shape(spelt: bytes) -> str:
    return f"value, {len(spelt)} bytes" if spelt else "absent, or the default"


def extended_cause(prompt: Prompt, span: int, rule: Rule) -> Cause:
    """A block that goes on where the parent's ended, so that the end it left is inside a block."""
    head = find("STM409")
    pointer = prompt.spans[span].pointer
    return Cause(
        rule=head,
        kind=head.kind,
        message="this block begins as its parent's and goes on, so nothing ends where it was kept",
        pointer=pointer,
        group=_place(pointer),
        fields=(("rule", rule.name),),
    )


def timing_cause(label: Label, call: Call, words: Mapping[str, str]) -> Cause:
    """Why something was not read that the rule says is there. `words` fill the messages."""
    head = find(_CODES[label])
    said = _diagnosis(call)
    message = {
        "expired": f"it came {words.get('gap', 'too long')} after the last use, "
        f"and is kept for {words.get('ttl', 'less')}",
        "raced": "it began while the call that would have written the prefix was still running",
        "routed": f"the prefix was written under another {words.get('routing', 'host or key')}",
        "marker-dropped": "markers were sent, but usage shows neither a write nor a read",
    }.get(label, "nothing in the log says why the provider did not read what it should hold")
    if label == "unexplained" and said:
        message = f"the provider says {said}, but the requests do not show it"
    return Cause(
        rule=head,
        kind=head.kind,
        message=message,
        pointer="",
        group=said if label == "unexplained" else "",
        fields=tuple(words.items()),
    )


def _diagnosis(call: Call) -> str:
    found: object = call.diagnostics
    for name in ("cache_miss_reason", "type"):
        if isinstance(found, Mapping):
            found = found.get(name, found if name == "cache_miss_reason" else None)
    return found if isinstance(found, str) and re.fullmatch(r"[a-z_]{1,60}", found) else ""


def ineffective_cause(pointer: str) -> Cause:
    """A cache point that keeps nothing."""
    head = find(_CODES["marker-dropped"])
    return Cause(
        rule=head,
        kind=head.kind,
        message="this cache point has no block of its own to keep: first, doubled or nested",
        pointer=pointer,
        group=f"ineffective {_place(pointer)}",
    )


def odd_cause(sentence: str) -> Cause:
    """Usage that cannot be right."""
    head = find("STM701")
    return Cause(
        rule=head, kind=head.kind, message=sentence, pointer="", group=_NUMBERS.sub("", sentence)
    )


def unread_cause(pointer: str, ttl: str) -> Cause:
    """What was written at a premium and never read."""
    head = find("STM408")
    return Cause(
        rule=head,
        kind=head.kind,
        message=f"most of what is written here for {ttl} is never read",
        pointer=pointer,
        group=f"{_place(pointer)} {ttl}",
        fields=(("ttl", ttl),),
    )
