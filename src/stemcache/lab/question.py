"""What to find out about a trace."""

from dataclasses import dataclass
from typing import NamedTuple

from stemcache.errors import UsageError, unknown_choice
from stemcache.lab.flat import FLAT
from stemcache.policy import evict

__all__ = ["OPTIMA", "POLICIES", "Capacity", "Question"]

OPTIMA = ("min", "min-bypass")
"""Offline: they know the future."""

POLICIES = (*OPTIMA, *sorted({*evict.NAMES, *FLAT}))
"""What `--policy` takes."""


class Capacity(NamedTuple):
    """A number of blocks, of tokens or of bytes; none of them is a cache without a bound."""

    blocks: int | None = None
    tokens: int | None = None
    memory_bytes: int | None = None

    def in_blocks(self, block_tokens: int, bytes_per_token: int | None = None) -> int | None:
        """Whole blocks of that many tokens; None without a bound. Raises UsageError for none."""
        tokens = self.tokens
        if self.memory_bytes is not None:
            if bytes_per_token is None:
                raise UsageError(
                    "a --capacity in bytes needs --kv-bytes-per-token, such as 128KiB for Llama "
                    "3.1 8B in 16 bits; `stemcache serve` shows it as `one token`"
                )
            tokens = self.memory_bytes // bytes_per_token
        if tokens is None:
            return self.blocks
        if tokens < block_tokens:
            raise UsageError(
                f"a capacity of {tokens} tokens holds no block of {block_tokens}; give more"
            )
        return tokens // block_tokens


@dataclass(frozen=True, slots=True)
class Question:
    """What to find out about a trace."""

    capacities: tuple[Capacity, ...] | None = (Capacity(),)
    """None: a few that show where the curve of `lru` bends."""
    policies: tuple[str, ...] = ("lru",)
    ttls_s: tuple[float | None, ...] = (None,)
    refresh: bool = True
    """A hit renews a block's time to live; else it counts from when the block was computed."""
    keep_alive: int = 0
    """Requests that renew the time to live after each prompt's last use."""
    second_tier: Capacity | None = None
    """Capacity of a slower tier that takes what the first one evicts."""
    regroup: int = 1
    """So many blocks of the trace make one block of the cache."""
    split: int = 1
    """One block of the trace makes so many of the cache."""
    engine_rules: bool = False
    """No partial blocks, and never a whole prompt: what an engine reports."""
    bytes_per_token: int | None = None
    """Memory of one token's KV, for capacities in bytes."""
    warmup_requests: int = 0
    """So many fill the cache first and are not scored."""
    isolate_tenants: bool = False
    """Tenants do not share, as with a salt for each."""

    def check(self) -> None:
        """Raise UsageError if parts of the question do not go together."""
        for policy in self.policies:
            if policy not in POLICIES:
                raise UsageError(unknown_choice("policy", policy, "--policy", POLICIES))
        if any(ttl is not None and ttl <= 0 for ttl in self.ttls_s):
            raise UsageError("--ttl has a time of 0; use more, or inf for no bound")
        if self.regroup > 1 and self.split > 1:
            raise UsageError("--merge-blocks and --split-blocks do not go together; leave one out")
        others = [policy for policy in self.policies if policy != "lru"]
        timed = any(ttl is not None for ttl in self.ttls_s)
        bounded = self.capacities is None or any(map(any, self.capacities))
        if not self.refresh and not timed:
            raise UsageError("--no-refresh needs a --ttl")
        if self.keep_alive and not (timed and self.refresh):
            raise UsageError("--keep-alive needs a --ttl that uses renew")
        if self.keep_alive and bounded:
            raise UsageError(
                "--keep-alive and --capacity do not go together: what is kept alive is simulated "
                "without a bound; leave one out"
            )
        if self.engine_rules and "min-bypass" in self.policies:
            raise UsageError(
                "--engine-rules and --policy min-bypass do not go together: it would keep blocks "
                "for uses that engines do not count; use min"
            )
        played = [policy for policy in others if policy not in OPTIMA]
        if self.capacities is None and (played or timed or self.second_tier is not None):
            what = f"--policy {played[0]}" if played else "--ttl" if timed else "--second-tier"
            raise UsageError(f"{what} needs a --capacity; give one, such as 10k, 4Mtok or inf")
        if timed and others:
            raise UsageError(
                f"--ttl and --policy {others[0]} do not go together: times to live are simulated "
                "with lru; leave one out"
            )
        if self.second_tier and others:
            raise UsageError(
                f"--second-tier and --policy {others[0]} do not go together: two tiers are "
                "simulated with lru; leave one out"
            )
        if self.second_tier and not bounded:
            raise UsageError("--second-tier needs a --capacity for the first tier")
        if self.second_tier and timed:
            raise UsageError("--second-tier and --ttl do not go together; leave one out")
        if not self.refresh and bounded:
            raise UsageError(
                "--no-refresh and --capacity do not go together: lives that no use renews are "
                "simulated without a bound; leave one out"
            )
