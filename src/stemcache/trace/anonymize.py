"""Traces without content: what prompts share stays, and nothing that a prompt says.

```
root ──H(key, ·, id₀)──► d₀ ──H(key, ·, id₁)──► d₁ ──► …       H: keyed BLAKE2b, 256 bits
  └ H(key, scope)        └ 63 bits out          └ 63 bits out
```

Two requests share a prefix of n blocks after if and only if they did before: equal ids behind equal
digests give equal digests, and others do so with odds of 2⁻⁶³ a pair. Without the key an id tells
nothing, not even to somebody who holds the true prompts and tries them all. With it, traces stay
joinable; under another key they share nothing.

Kept beside the ids: arrival times, lengths, block sizes, the order of requests, and tenants as
keyed pseudonyms. A session is kept, as a pseudonym, where times count from its start, or if asked
for. Times, lengths and who shares with whom are a fingerprint that no hash takes away: whoever
knows those of a request from elsewhere may find it again.
"""

from dataclasses import replace
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from stemcache.core.namespace import fields_digestible
from stemcache.trace.recent import Recent, common_blocks
from stemcache.trace.record import BlockIds, TraceRequest

__all__ = ["KEY_BYTES", "Anonymizer"]

KEY_BYTES = 32
"""Fewest bytes of a key."""

_DIGEST_BYTES = 32
_ID_MASK = 2**63 - 1
_PSEUDONYM_BYTES = 8


class _Made(NamedTuple):
    digests: list[bytes]
    ids: BlockIds


class Anonymizer:
    """Anonymises the requests of any number of traces under one key."""

    def __init__(self, key: bytes, *, keep_sessions: bool = False) -> None:
        assert len(key) >= KEY_BYTES, f"a key of {len(key)} bytes"
        # A key file may be longer than what BLAKE2b takes.
        self._key = blake2b(key, digest_size=_DIGEST_BYTES, person=b"stemcache/key").digest()
        self._block = blake2b(digest_size=_DIGEST_BYTES, key=self._key, person=b"stemcache/block")
        self._keep_sessions = keep_sessions
        self._recent: Recent[_Made] = Recent()

    def __call__(self, request: TraceRequest) -> TraceRequest:
        """A request that says nothing of what the prompt holds. O(blocks not seen just before)."""
        keeps_session = self._keep_sessions or request.session_clock
        return replace(
            request,
            block_ids=self._ids(request),
            scope="",  # it is in every id
            session=self._pseudonym("session", request.session) if keeps_session else None,
            tenant=self._pseudonym("tenant", request.tenant),
        )

    def _pseudonym(self, kind: str, name: str | None) -> str | None:
        if name is None:
            return None
        digest = blake2b(
            _fields(kind, name),
            digest_size=_PSEUDONYM_BYTES,
            key=self._key,
            person=b"stemcache/name",
        )
        return digest.hexdigest()

    def _ids(self, request: TraceRequest) -> BlockIds:
        seen = self._recent.take(request)
        ids = request.block_ids
        shared = 0 if seen is None else common_blocks(ids, seen.ids)
        digests = [] if seen is None else seen.made.digests[:shared]
        chained = digests[-1] if digests else self._root(request)
        raw = ids[shared:].astype("<i8", copy=False).tobytes()
        start = self._block.copy
        for at in range(0, len(raw), 8):
            state = start()
            state.update(chained + raw[at : at + 8])
            chained = state.digest()
            digests.append(chained)
        made = [int.from_bytes(one[:8], "little") & _ID_MASK for one in digests[shared:]]
        out = np.array(made, np.int64)
        if seen is not None:
            out = np.concatenate([seen.made.ids[:shared], out])
        self._recent.put(request, _Made(digests, out))
        return out

    def _root(self, request: TraceRequest) -> bytes:
        fields = _fields(request.scope, str(request.block_tokens))
        return blake2b(
            fields, digest_size=_DIGEST_BYTES, key=self._key, person=b"stemcache/root"
        ).digest()


def _fields(*texts: str) -> bytes:
    return fields_digestible(*(text.encode("utf-8", "surrogatepass") for text in texts))
