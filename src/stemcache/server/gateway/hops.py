"""Through which gateways a request has come, so that none gets it twice. Pure.

```
client ─► gateway a ──"x-stemcache-hops: a"──► gateway b ──"x-stemcache-hops: a, b"──► replica
             ▲ 508 ◄──────────── a is in it ─────────────┘
```
A gateway's id is random, made at its start: no client can name it. Whoever sends a header of their
own makes their own request fail, at the most.
"""

from http import HTTPStatus

from stemcache.server.gateway.refusals import Refusal

__all__ = ["HEADER", "MOST_HOPS", "hops_on", "looped"]

HEADER = b"x-stemcache-hops"
MOST_HOPS = 8
"""Gateways in a row."""
_LONGEST = 512


def hops_on(came: bytes | None, own: bytes) -> bytes:
    """The header's value for who gets the request next."""
    return own if not came else b"%b, %b" % (came, own)


def looped(came: bytes, own: bytes) -> Refusal | None:
    """Why a request that came with this header is not sent on, if it is not."""
    if own in came:
        return _refusal("the request has come back to this gateway: one of its replicas is itself")
    if came.count(b",") + 1 >= MOST_HOPS or len(came) > _LONGEST:
        return _refusal(f"the request has come through {MOST_HOPS} gateways, the most there may be")
    return None


def _refusal(why: str) -> Refusal:
    return Refusal(
        status=HTTPStatus.LOOP_DETECTED,
        message=f"{why}; whoever runs it has to mend the replicas' addresses",
        code="loop_detected",
    )
