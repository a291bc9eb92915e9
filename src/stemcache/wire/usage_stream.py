"""The usage of a streamed answer, put together from its events.

```
message_start   input 9, read 4000, output 1 ┐
message_delta   output 40                    ├─► input 9, read 4000, output 52
message_delta   output 52                    ┘    figures are cumulative and never fall
```
OpenAI, Gemini and Converse state the whole in their last event, some servers in every one. Nothing
is added up.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any

__all__ = ["StreamUsage"]

_MOST_KEYS = 64
_METRICS = "amazon-bedrock-invocationMetrics"
_PLACES = ("usage", "usageMetadata", "usage_metadata")
_HOLDERS = ("message", "response", "metadata", "x_groq")


class StreamUsage:
    """Takes the events of one stream in order. Keeps only what is usage, bounded in size."""

    def __init__(self) -> None:
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
        places: list[Any] = [event, *(event.get(holder) for holder in _HOLDERS)]
        choices = event.get("choices")
        if isinstance(choices, list) and choices:
            places.append(choices[0])  # Moonshot
        for place in places:
            for name in _PLACES if isinstance(place, Mapping) else ():
                usage = place.get(name)
                if isinstance(usage, Mapping):
                    self._merge(usage, may_fall=name != "usage")

    def _merge(self, usage: Mapping[str, Any], *, may_fall: bool) -> None:
        """Gateways end a stream with zeros, so counts do not fall, but for those of Gemini."""
        for key, value in _bounded(usage).items():
            known = self._found.get(key)
            if value is None and known is not None:
                continue
            if _is_count(known) and _is_count(value):
                self._found[key] = value if may_fall else max(known, value)
            elif isinstance(known, Mapping) and isinstance(value, Mapping):
                said = {k: v for k, v in _bounded(value).items() if v is not None}
                self._found[key] = _bounded({**known, **said})
            elif known is not None or len(self._found) < _MOST_KEYS:
                self._found[key] = _bounded(value) if isinstance(value, Mapping) else value


def _bounded(usage: Mapping[str, Any]) -> dict[str, Any]:
    return dict(islice(usage.items(), _MOST_KEYS))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
