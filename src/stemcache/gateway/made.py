"""Which replica made which response, and for whom. Bounded; the oldest is forgotten first.

```
POST /v1/responses ─► replica b answers "resp_1" for tenant t ─► resp_1: (b, t)
"previous_response_id": "resp_1", GET or DELETE /v1/responses/resp_1 ─► t: b   others: nothing
```
Replicas keep responses to themselves: another knows nothing of it. Who made an id keeps it: nobody
comes by another's by making a response of the same id.
"""

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Maker", "Responses"]

_MOST = 65_536
_LONGEST = 128
"""Characters of an id; engines' have 37."""


@dataclass(frozen=True, slots=True)
class Maker:
    """Who made a response."""

    replica: str
    """Its name."""
    tenant: str | None
    """Whose key asked; None where there were no keys."""


class Responses:
    """A table of responses' ids; some 300 bytes each."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._made: dict[str, Maker] = {}

    def __len__(self) -> int:
        return len(self._made)

    def __iter__(self) -> Iterator[str]:
        """Oldest first."""
        return iter(self._made)

    def add(self, response: str, replica: str, tenant: str | None) -> None:
        """Remember it, as the youngest. An id that another tenant has stays that tenant's."""
        if len(response) > _LONGEST:
            return
        known = self._made.get(response)
        if known is not None and known.tenant != tenant:
            return
        self._made.pop(response, None)
        self._made[response] = Maker(replica, tenant)
        if len(self._made) > self._most:
            del self._made[next(iter(self._made))]

    def replica_of(self, response: str, tenant: str | None) -> str | None:
        """Name of the replica that made it for this tenant; None where none is known to have."""
        known = self._made.get(response)
        return known.replica if known is not None and known.tenant == tenant else None
