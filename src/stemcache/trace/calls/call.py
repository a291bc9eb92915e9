"""One recorded call: where it stands, what was asked, what came back.

```
  file, line, offset          request body ── key order as sent        usage, as reported
  ───────────────────┐               │                                       │
                     ▼               ▼                                       ▼
                   Call(place, api, model, body, time_s … ended_s, status, scope, usage, fidelity)
```
A missing figure is None, never zero. Nothing here is interpreted: what a usage field means, and
what a model costs, is for `provider`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from stemcache.wire.api import Api

__all__ = ["Call", "Fidelity", "Place"]


class Fidelity(StrEnum):
    """How near a recorded body is to the bytes that were sent, best first.

    `WIRE`: the bytes. `RESERIALISED`: the same values in the same order, spelt anew.
    `UNORDERED`: the same values, but the keys of objects were sorted or went through a store that
    does not keep their order. `RECONSTRUCTED`: put together from parts that were logged, such as a
    transcript; tools, system prompt, markers and parameters may be missing. `TRUNCATED`: strings
    were cut off. `REDACTED`: contents were replaced. `USAGE_ONLY`: there is no body.
    """

    WIRE = "wire"
    RESERIALISED = "reserialised"
    UNORDERED = "unordered"
    RECONSTRUCTED = "reconstructed"
    TRUNCATED = "truncated"
    REDACTED = "redacted"
    USAGE_ONLY = "usage-only"

    @property
    def keeps_key_order(self) -> bool:
        """Whether the order of an object's keys is the one that was sent."""
        return self in {Fidelity.WIRE, Fidelity.RESERIALISED}

    @property
    def keeps_parameters(self) -> bool:
        """Whether what is absent from the body was absent from the request."""
        return self in {Fidelity.WIRE, Fidelity.RESERIALISED, Fidelity.UNORDERED}

    @property
    def keeps_text(self) -> bool:
        """Whether texts can be compared."""
        return self not in {Fidelity.TRUNCATED, Fidelity.REDACTED, Fidelity.USAGE_ONLY}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a call was recorded."""

    file: str
    """As the user named it; `-` is standard input."""
    line: int
    """Counted from 1. For a format that is one document, the number of the call in it."""
    inner: str = ""
    """JSON pointer to the request body within the line, empty where the line is the body."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request and what is known of its answer. Bodies are not to be changed."""

    place: Place
    api: Api | None
    """None only where there is no body that tells."""
    body: Mapping[str, Any] | None
    """The request, decoded with its key order; None where the log has usage only."""
    fidelity: Fidelity
    size_bytes: int = 0
    """About what the body takes in memory: the length of its JSON."""
    raw: bytes | None = None
    """The request's bytes, where the log has them and they are not simply the line."""
    model: str | None = None
    id: str | None = None
    """The response's id. Records of one id are one call where body, moment or usage agree."""
    previous_id: str | None = None
    """Id of the response that this request says it goes on from."""
    session: str | None = None
    """Name of the conversation, where the log has one. Only breaks ties; never a content."""
    scope: str = ""
    """Whose cache it is: credential, workspace, account or tenant, as a digest or a name. Calls of
    different scopes never share."""
    host: str | None = None
    """Host name that was called, or the name of the provider that the log states."""
    path: str | None = None
    route: str | None = None
    """What the log calls the code that asked: a feature, a generation name, a virtual key."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Request headers that bear on caching, names in lower case. Never a credential."""
    time_s: float | None = None
    """Start of the request, Unix seconds."""
    answered_s: float | None = None
    """When the first byte of the answer came, or None."""
    ended_s: float | None = None
    status: int | None = None
    """HTTP status; None where the log does not say."""
    failed: bool = False
    """Whether the call was refused or broke before an answer began. It never wrote a cache."""
    usage: Mapping[str, Any] | None = None
    """As reported, the provider's own fields; of a stream, the final figures."""
    answer: Sequence[Any] | None = None
    """Content blocks of the answer where recorded."""
    diagnostics: Mapping[str, Any] | None = None
    """The provider's own word on a miss: Anthropic's `diagnostics`, OpenAI's
    `prompt_cache_diagnostics`."""
    tier: str | None = None
    """`batch`, `priority`, `flex`, … where recorded in request or answer; None is standard."""
    region: str | None = None
    """Inference geography where recorded, e.g. `us`."""
    subscription: bool = False
    """Whether the caller pays a flat fee, so that tokens have no price."""
    billed_usd: float | None = None
    """What the log says that the call cost."""

    @property
    def timed(self) -> bool:
        """Whether it can be said when the call was made."""
        return self.time_s is not None
