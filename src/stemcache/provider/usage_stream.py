"""The usage of a streamed answer, put together from its events.

```
message_start   input 9, read 4000, output 1 ┐
message_delta   output 40                    ├─► input 9, read 4000, output 52
message_delta   output 52                    ┘    figures are cumulative and never fall
```
OpenAI, Gemini and Converse state the whole in their last event, some servers in every one.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from stemcache.wire.api import Api

__all__ = ["StreamUsage"]

_MOST_KEYS = 64
_METRICS = "amazon-bedrock-invocationMetrics"


class StreamUsage:
    """Takes the events of one stream in order. Keeps only what is usage, bounded in size."""

    def __init__(self, api: Api | None) -> None:
        self._api = api
        self._found: dict[str, Any] = {}
        self._fallback: dict[str, Any] = {}

    @property
    def reported(self) -> Mapping[str, Any] | None:
        """The merged usage so far, as the provider spells it; None where there was none."""
        return self._found or self._fallback or None

    def add(self, event: Mapping[str, Any]) -> None:
        """Take one decoded event. One without usage is passed over."""
        metrics = event.get(_METRICS)
        if isinstance(metrics, Mapping):
            self._fallback = _bounded(metrics)
        for usage in _usages(event):
            self._merge(usage)

    def _merge(self, usage: Mapping[str, Any]) -> None:
        cumulative = self._api in {Api.MESSAGES, None}
        for key, value in _bounded(usage).items():
            known = self._found.get(key)
            if value is None and known is not None:
                continue
            if cumulative and _is_count(known) and _is_count(value):
                self._found[key] = max(known, value)
            elif isinstance(known, Mapping) and isinstance(value, Mapping):
                self._found[key] = {**known, **{k: v for k, v in value.items() if v is not None}}
            elif known is not None or len(self._found) < _MOST_KEYS:
                self._found[key] = value


def _usages(event: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Where each API's events keep it: at the top, or one step down."""
    places = [event.get("usage"), event.get("usageMetadata"), event.get("usage_metadata")]
    for holder in ("message", "response", "metadata", "x_groq"):
        inner = event.get(holder)
        if isinstance(inner, Mapping):
            places += [inner.get("usage"), inner.get("usageMetadata")]
    choices = event.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        places.append(choices[0].get("usage"))  # Moonshot
    return [place for place in places if isinstance(place, Mapping)]


def _bounded(usage: Mapping[str, Any]) -> dict[str, Any]:
    return dict(islice(usage.items(), _MOST_KEYS))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
