"""A replica as configured or discovered: where it is and what it can do."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Engine", "ReplicaSpec"]


class Engine(StrEnum):
    """What runs there; decides how events, metrics and ranks are asked for."""

    AUTO = "auto"
    """Found out by asking."""
    VLLM = "vllm"
    SGLANG = "sglang"
    LLAMA_CPP = "llama.cpp"
    STEMCACHE = "stemcache"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaSpec:
    """Equal specs are the same replica: a reload that changes none keeps what was learned."""

    name: str
    """Unique; by default host:port, so that all gateways hash alike."""
    url: str
    """http(s)://host:port[/path]"""
    engine: Engine = Engine.AUTO
    weight: float = 1.0
    ranks: int = 1
    """Data-parallel ranks behind the address; more than one: each is a seat of its own, asked for
    with X-Data-Parallel-Rank."""
    events: str | None = None
    """ZeroMQ endpoint of its KV events (tcp://host:5557); rank r is at port + r."""
    replay: str | None = None
    """Endpoint that sends past events again, if there is one."""
    topic: str = ""
    kv_tokens: int | None = None
    """Tokens its KV cache holds, where it is known."""
    api_key: str | None = None
    """Sent as the replica's credential in place of the client's. Never shown or logged."""
    models: tuple[str, ...] = ()
    """What it serves; empty: found out by asking, or anything."""

    def __repr__(self) -> str:
        return f"ReplicaSpec({self.name!r}, {self.url!r})"
