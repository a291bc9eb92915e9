"""What lint says: findings, and a summary of the log that they are from.

One finding a cause: what repeats is counted, and the three costliest places are kept. Tokens and
money of all findings add up to no more than the log's, since a token is lost to one cause only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["Example", "Finding", "Location", "Reconciliation", "Report", "Severity", "Total"]


class Severity(StrEnum):
    """`ERROR`: the API refuses. `WARNING`: it costs a noticeable share. `NOTE`: the rest."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Location:
    """Where in a log."""

    file: str
    line: int
    pointer: str = ""
    """JSON pointer into the request body; empty where the finding is about the call as a whole."""
    char: int | None = None
    """Character of the string at `pointer`."""


@dataclass(frozen=True, slots=True)
class Example:
    """One occurrence."""

    location: Location
    parent: Location | None
    """The request that it was compared with."""
    lost_tokens: int
    cost_usd: float | None
    old: str = ""
    """What the parent has there: its class and shape (`ISO time, 20 chars`), or with show_text the
    text."""
    new: str = ""
    old_text: str = field(default="", repr=False)
    """The text itself, for `--show-text` only."""
    new_text: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One cause."""

    code: str
    """`STM101`."""
    name: str
    """`clock-in-prefix`."""
    kind: str
    """The cause in one word, e.g. `clock`, `tool-order`, `parameter:tool_choice`."""
    severity: Severity
    message: str
    """One narrow line: what, where, of which class."""
    location: Location
    """The costliest example's."""
    count: int
    """How many requests it was found in."""
    lost_tokens: int
    cost_usd: float | None
    """None where no price is known."""
    help: str
    """What to change, in a sentence or two."""
    examples: tuple[Example, ...] = ()
    """At most three, costliest first."""
    route: str | None = None
    rule: str | None = None
    """Name of the provider's rule by which tokens were lost."""
    needs: tuple[str, ...] = ()
    """Codes of the causes that have to be mended as well before the tokens come back. All that is
    lost jointly is charged to the first of them in the prompt."""
    share: float | None = None
    """Of the log's input spend (of its prompt tokens where there is no price)."""
    fingerprint: str = ""
    """Equal for the same cause in another log: for baselines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """Predicted against reported reads, over calls that reported them."""

    calls: int = 0
    exact: int = 0
    """Calls where both agree to within the tolerance."""
    predicted_tokens: int = 0
    reported_tokens: int = 0
    remainder: Mapping[str, int] = field(default_factory=dict)
    """Predicted minus reported tokens by label: `expired`, `raced`, `routed`, `unseen-traffic`
    (negative), `rounding`, `unexplained`. Their sum is predicted minus reported."""
    calls_by_label: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """The log in numbers."""

    calls: int = 0
    failed: int = 0
    repeated: int = 0
    """Records of a response id that was there before."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Lines that could not be used, by reason."""
    cold: int = 0
    """Calls without a parent."""
    prompt_tokens: int = 0
    prompt_tokens_reported: int = 0
    """Of those, what providers reported; the rest is estimated from characters."""
    read_tokens: int | None = None
    """Reported, or predicted where nothing was reported; None where neither can be had."""
    written_tokens: int | None = None
    attainable_tokens: int = 0
    """What would have been read had nothing been lost."""
    lost_tokens: int = 0
    cost_usd: float | None = None
    """Input and output at list prices, over calls with price and usage."""
    input_cost_usd: float | None = None
    unpriced_calls: int = 0
    priced_calls: int = 0
    output_tokens: int = 0
    span_s: float | None = None
    """From the first call to the last, where there are times."""
    routes: tuple[str, ...] = ()
    rules: Mapping[str, int] = field(default_factory=dict)
    """Calls by provider rule; `` for unresolved ones."""
    fidelities: Mapping[str, int] = field(default_factory=dict)
    lost_cost_usd: float | None = None
    """Of the findings with a price; None where no loss has one."""
    unpriced_models: tuple[str, ...] = ()
    """Names of models that no price is known for, the most frequent first: not all, if many."""

    @property
    def hit_rate(self) -> float | None:
        """Read over prompt tokens."""
        if self.read_tokens is None or not self.prompt_tokens:
            return None
        return self.read_tokens / self.prompt_tokens

    @property
    def attainable_hit_rate(self) -> float | None:
        """The hit rate had nothing been lost."""
        return self.attainable_tokens / self.prompt_tokens if self.prompt_tokens else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that one run says."""

    findings: tuple[Finding, ...]
    """Errors first, then by cost, then by tokens."""
    total: Total
    reconciliation: Reconciliation
    remarks: tuple[str, ...] = ()
    """What a reader must know about this result, a sentence each: an unresolved provider, rules
    that stayed silent for want of fidelity, prices that are old, contested figures."""
    baselined: int = 0
    """Findings left out because a baseline has them."""
