"""The provider's own word on a miss, read and put beside what the requests hold.

```
Anthropic   diagnostics.cache_miss_reason   {type: tools_changed, cache_missed_input_tokens: …}
OpenAI      prompt_cache_diagnostics        {type: cache_miss, reason: tools_changed,
                                             cache_missed_tokens: …, comparison_reusable_tokens: …}
```
Both name a section or a parameter and no place. The requests name the place; where they do not
differ in what the provider names, that is said, for then it compared with another request, or was
sent something else than the log holds.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from stemcache.trace.calls.call import Call
from stemcache.trace.spans.span import Prompt
from stemcache.wire.section import Section

__all__ = ["Diagnosis", "Joined", "Verdict", "joined", "read_diagnosis"]

Verdict = Literal["agrees", "differs", "bytes-equal", "unknown"]

_WORD = re.compile(r"[a-z_]{1,60}")
_SECTIONS: Mapping[str, tuple[Section, ...]] = {
    "tools_changed": (Section.TOOLS,),
    "system_changed": (Section.SYSTEM,),
    "messages_changed": (Section.MESSAGES,),
    "input_changed": (Section.SYSTEM, Section.MESSAGES),
    "context_compacted": (Section.MESSAGES,),
}
_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "model_changed": ("/model", "/modelId", "/speed"),
    "prompt_cache_key_changed": ("/prompt_cache_key",),
    "text_format_changed": ("/text/format", "/response_format"),
    "reasoning_effort_changed": ("/reasoning/effort", "/reasoning_effort"),
    "verbosity_changed": ("/text/verbosity", "/verbosity"),
    "service_tier_changed": ("/service_tier",),
    "tools_changed": ("/parallel_tool_calls",),
    # What the vendor's documents name as causes of an answer without a comparison.
    "unavailable": ("/thinking", "/tool_choice", "/output_config/effort"),
}
_NOT_COMPARED: Mapping[str, str] = {
    "previous_message_not_found": "it does not hold the message that the request names any more",
    "comparison_response_not_found": "it does not hold the response that the request names",
    "unavailable": "it could not compare",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What the provider said."""

    vendor: Literal["anthropic", "openai"]
    reason: str
    """`tools_changed`, …; `cache_hit` where it says that nothing was missed."""
    missed_tokens: int | None
    reusable_tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """The provider's word beside the requests."""

    said: Diagnosis
    verdict: Verdict
    pointer: str | None
    """Where the requests differ in what the provider names; else their first difference."""
    sentence: str


def read_diagnosis(diagnostics: object) -> Diagnosis | None:
    """What a call's diagnostics say; None where they say nothing or nothing that can be read."""
    if not isinstance(diagnostics, Mapping):
        return None
    found: Mapping[str, Any] = diagnostics
    vendor: Literal["anthropic", "openai"] = "openai"
    if "cache_miss_reason" in found:
        vendor, inner = "anthropic", found["cache_miss_reason"]
        found = inner if isinstance(inner, Mapping) else {"type": inner}
    elif "cache_missed_input_tokens" in found:
        vendor = "anthropic"
    reason = _word(found.get("type"))
    if vendor == "openai" and reason in {"", "cache_miss"}:
        reason = _reason(found) or reason
    if not reason:
        return None
    return Diagnosis(
        vendor=vendor,
        reason=reason,
        missed_tokens=_count(found, "cache_missed_input_tokens", "cache_missed_tokens"),
        reusable_tokens=_count(found, "comparison_reusable_tokens"),
    )


def _reason(found: Mapping[str, Any]) -> str:
    for name in ("reason", "reasons", "cache_miss_reason"):
        value = found.get(name)
        if isinstance(value, list):
            value = value[0] if value else None
        if isinstance(value, Mapping):
            value = value.get("type")
        word = _word(value)
        if word:
            return word
    return ""


def _word(value: object) -> str:
    return value if isinstance(value, str) and _WORD.fullmatch(value) else ""


def _count(found: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = found.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12:
            return value
    return None


def joined(
    said: Diagnosis,
    *,
    old: Call,
    new: Call,
    prompts: tuple[Prompt, Prompt],
    places: Iterable[tuple[Section, str]],
    keys: Iterable[str],
) -> Joined:
    """Put the provider's word beside the requests.

    `places` are section and pointer of all changes of content, in order, and `keys` the pointers
    of the parameters that differ and key the cache.
    """
    changes, parameters = list(places), list(keys)
    says = f"the provider says {said.reason}"
    if said.reason == "cache_hit":
        if not changes and not parameters:
            return _made(said, "agrees", None, f"{says}, and nothing differs")
        first = [*(pointer for _, pointer in changes), *parameters][0]
        return _made(
            said,
            "differs",
            first,
            f"{says}; the bytes differ at {first}, so what it read ends before that, or it was "
            "compared with another request",
        )
    named = [pointer for section, pointer in changes if section in _SECTIONS.get(said.reason, ())]
    wanted = _PARAMETERS.get(said.reason, ())
    named += [
        name for name in wanted if _value(prompts[0], old, name) != _value(prompts[1], new, name)
    ]
    if said.reason in _NOT_COMPARED and not named:
        return _made(said, "unknown", None, f"{says}: {_NOT_COMPARED[said.reason]}")
    if named:
        return _made(said, "agrees", named[0], f"{says}; the bytes agree: {named[0]}")
    other = _compared_with_another(old, new)
    if changes or parameters:
        first = [*(pointer for _, pointer in changes), *parameters][0]
        return _made(
            said, "differs", first, f"{says}; the bytes differ elsewhere, first at {first}{other}"
        )
    known = said.reason in _SECTIONS or wanted
    if not known:
        return _made(said, "unknown", None, f"{says}, which is not known here; the bytes are equal")
    tail = other or (
        ": it compared with another request than this, or was sent something else than was recorded"
    )
    return _made(said, "bytes-equal", None, f"{says}, the bytes are equal{tail}")


def _compared_with_another(old: Call, new: Call) -> str:
    """Where the log shows that the provider was asked to compare with some other answer."""
    if new.previous_id is None or old.id is None or new.previous_id == old.id:
        return ""
    return ": it was asked to compare with an answer that is not the first request's"


def _value(prompt: Prompt, call: Call, pointer: str) -> object:
    if pointer == "/model":
        return call.model
    return prompt.parameters.get(pointer)


def _made(said: Diagnosis, verdict: Verdict, pointer: str | None, sentence: str) -> Joined:
    return Joined(said=said, verdict=verdict, pointer=pointer, sentence=sentence)
