"""What one run of lint is asked: the provider, which rules speak, and from where on they warn."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

__all__ = ["Options"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Flags and settings, read and checked. Says nothing of how findings are shown."""

    today: date
    """Against which the age of prices and rules is told."""
    provider: str | None = None
    """Rule or provider that all calls are of; None: each call's host and model tell."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Model's name in the log to the name by which rule and price are looked up."""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """The user's rules and prices in the form of the shipped files, as `provider.book` takes it."""
    select: tuple[str, ...] = ()
    """Codes, beginnings of codes and names. Empty: all."""
    ignore: tuple[str, ...] = ()
    route_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What is ignored in calls of one route."""
    warning_share: float = 0.01
    """Share of the input spend from which a finding is a warning; of prompt tokens where there is
    no price."""
    overlap: float = 0.25
    """Share of its content that a request must have in common with another to be its child."""
    subscription: bool = False
    """Whether the caller pays a flat fee, so that tokens have no price."""
    bill_usd: float | None = None
    """What the provider's bill says for the log's time. Compared with the priced log by
    `stemcache.lint.bill`; the analysis does not look at it."""
