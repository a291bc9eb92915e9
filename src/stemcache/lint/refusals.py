"""What an API refuses: too many markers, a shorter time to live before a longer one."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from stemcache.provider.rule import Rule
from stemcache.trace.spans.span import Marker, Prompt
from stemcache.wire.api import Api

__all__ = ["Refusal", "ineffective", "refusals"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason for which a request is answered with a 400."""

    fault: Literal["too-many-markers", "ttl-order"]
    pointer: str
    detail: str


def refusals(rule: Rule, prompt: Prompt) -> Iterator[Refusal]:
    """All reasons that the markers of one request give. O(spans)."""
    if rule.kind != "markers":
        return
    markers = [span.marker for span in prompt.spans if span.marker is not None]
    if prompt.automatic is not None:
        markers.append(prompt.automatic)
    if rule.most_markers is not None and len(markers) > rule.most_markers:
        yield Refusal(
            "too-many-markers",
            markers[rule.most_markers].pointer,
            f"{len(markers)} markers, {rule.most_markers} are allowed",
        )
    if rule.ttl_order:
        yield from _order(rule, markers)


def ineffective(prompt: Prompt) -> Iterator[str]:
    """Pointers to cache points that have nothing to keep: first in their list, doubled, nested.

    Bedrock refuses the first kind, and takes no notice of one inside a tool's result.
    """
    if prompt.api is not Api.CONVERSE:
        return
    for pointer in prompt.parameters:
        if pointer.endswith("/cachePoint"):
            yield pointer


def _order(rule: Rule, markers: list[Marker]) -> Iterator[Refusal]:
    seconds = {ttl.name: ttl.high_s for ttl in rule.ttls}
    default = rule.ttls[0].name if rule.ttls else ""
    shortest: Marker | None = None
    for marker in markers:
        lasts = seconds.get(marker.ttl or default)
        if lasts is None:
            continue
        if shortest is None or lasts < seconds[shortest.ttl or default]:
            shortest = marker
        elif lasts > seconds[shortest.ttl or default]:
            yield Refusal(
                "ttl-order",
                marker.pointer,
                f"a marker of {marker.ttl or default} stands behind one of "
                f"{shortest.ttl or default}",
            )
            return
