"""Which prompts are made by one piece of a program: a warning is given once to each such family.

```
call with a parent      ──► the parent's family
call without            ──► API, model, names of tools, beginning of the system prompt
                            with clocks and ids left out: `It is ─, you are …`
```
Conversations of one agent have no parent in each other, and still are made by the same code.
"""

from collections import OrderedDict
from hashlib import blake2b

from stemcache.text.volatile.mask import tokens
from stemcache.trace.calls.call import Call
from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.span import Prompt, SpanKind
from stemcache.wire.section import Section

__all__ = ["Families", "beginning_of", "prefix_of"]

_MOST_CALLS = 20_000
_BEGINNING = 200
_MOST_TOOLS = 64
_LENIENT = ("utf-8", "surrogatepass")


class Families:
    """Families of the latest calls, by the number of each. Bounded."""

    def __init__(self, *, most_calls: int = _MOST_CALLS) -> None:
        self._most = most_calls
        self._of: OrderedDict[int, str] = OrderedDict()

    def add(self, number: int, call: Call, parent: int | None) -> str:
        """The family of a call, which is remembered. Costs a look where there is a parent."""
        family = None if parent is None else self._of.get(parent)
        if family is None:
            family = beginning_of(call)
        self._of[number] = family
        if len(self._of) > self._most:
            self._of.popitem(last=False)
        return family


def beginning_of(call: Call) -> str:
    """A digest of what tells the makers of prompts apart; of a call without a body, its model."""
    said = [str(call.api), call.model or "", call.scope]
    if call.body is not None and call.api is not None:
        try:
            said += _head(prompt_of(call.body, call.api))
        except BadBodyError:
            said.append("unreadable")
    text = "\0".join(said).encode(*_LENIENT)
    return blake2b(text, digest_size=8).hexdigest()


def prefix_of(call: Call) -> str | None:
    """A digest of all ahead of the messages; None where no body can be read. Linear in it."""
    if call.body is None or call.api is None:
        return None
    try:
        prompt = prompt_of(call.body, call.api)
    except BadBodyError:
        return None
    digest = blake2b(digest_size=8)
    for span in prompt.spans:
        if span.section is not Section.MESSAGES:
            digest.update(f"{span.section}\0{len(span.text)}\0{span.text}\0".encode(*_LENIENT))
    return digest.hexdigest()


def _head(prompt: Prompt) -> list[str]:
    spans = prompt.spans
    tools = [one.text[:_BEGINNING] for one in spans if one.kind is SpanKind.TOOL]
    system = next((one.text for one in spans if one.section is Section.SYSTEM), "")
    return [_masked(system[:_BEGINNING]), *sorted(tools[:_MOST_TOOLS])]


def _masked(text: str) -> str:
    """The text without what is volatile in it, and without what a cut may have left of that."""
    kept: list[str] = []
    at = 0
    for token in tokens(text):
        kept.append(text[at : token.start])
        at = token.end
    return "\0".join([*kept, text[at:]])
