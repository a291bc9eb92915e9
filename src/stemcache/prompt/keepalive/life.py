"""How long an entry surely lives, and when it is surely gone.

```
start of request      safe_s                  gone_s
      ├── there ────────┼── nobody says ────────┼── gone
```
The clock runs from the START of the request that wrote or last read the entry. A ping must start
before `safe_s`; what it saves is counted only where the entry would have been gone without it.
Where a provider states a minimum and no end, nothing is known to be saved, so no ping pays; who has
seen entries go tells by `gone_after_s`.
"""

from dataclasses import dataclass

from stemcache.errors import UsageError
from stemcache.prompt.given import check_number, check_type
from stemcache.provider.rule import Rule

__all__ = ["Life", "life"]


@dataclass(frozen=True, slots=True)
class Life:
    """`0 < safe_s <= gone_s`; the latter may be infinite."""

    safe_s: float
    gone_s: float

    def __post_init__(self) -> None:
        if not 0 < self.safe_s <= self.gone_s:
            raise UsageError(
                f"an entry lives {self.safe_s!r} s and is gone after {self.gone_s!r} s; "
                "give more than 0 s, and no end before that"
            )


def life(rule: Rule, *, ttl: str | None = None, gone_after_s: float | None = None) -> Life | None:
    """The life of entries written for `ttl`, the default one where it is None.

    None where pings do nothing: the provider states no lifetime, reads do not renew it, or the
    entries are objects whose end the caller sets. Raises UsageError for a lifetime that the rule
    does not have.
    """
    check_type(rule, Rule, "rule", "give the provider's Rule, as load_book().rule(...) has it")
    if gone_after_s is not None:
        check_number(gone_after_s, "gone_after_s", low=0)
    if ttl is not None and all(one.name != ttl for one in rule.ttls):
        names = ", ".join(one.name for one in rule.ttls)
        raise UsageError(
            f"rule {rule.name} has no lifetime {ttl!r}; take one of: {names or 'none'}"
        )
    if not rule.ttls or not rule.refreshed_by_reads or rule.kind in {"objects", "usage-only"}:
        return None
    found = next((one for one in rule.ttls if one.name == ttl), rule.ttls[0])
    if gone_after_s is None:
        return Life(found.low_s, found.high_s)
    return Life(min(found.low_s, gone_after_s), gone_after_s)
