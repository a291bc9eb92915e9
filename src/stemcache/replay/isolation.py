"""How a run is kept from hitting what an earlier one left in the target's cache. Pure.

A benchmark that sends the same prompts twice measures the second time how well the first warmed the
cache. So every run says which of these it did:

| kind | what it does | what it needs |
|---|---|---|
| `salted` | every block's tokens depend on a salt of the run | nothing |
| `reset` | the target forgets all prefixes before the run | an endpoint for it |
| `cache-salt` | every request carries the run's `cache_salt` | a target that knows the field |
| `kept-warm` | nothing, on purpose | |
"""

from dataclasses import dataclass
from typing import Literal, assert_never

__all__ = ["Isolation", "IsolationKind", "in_words"]

IsolationKind = Literal["salted", "reset", "cache-salt", "kept-warm"]


@dataclass(frozen=True, slots=True)
class Isolation:
    """What was chosen. `salt` is drawn once a run, or given to repeat one."""

    kind: IsolationKind
    salt: str
    repeatable: bool = False
    """Whether the user gave the salt, so that an earlier run may have had it too."""

    @property
    def prompt_salt(self) -> str:
        """What the prompts depend on; the same for all runs unless they are salted."""
        return self.salt if self.kind == "salted" else ""

    @property
    def cache_salt(self) -> str | None:
        """The body's field, if it has one."""
        return self.salt if self.kind == "cache-salt" else None


def in_words(isolation: Isolation, reset_path: str | None) -> str:
    """What the report says of it. `reset_path` is the endpoint that took the reset."""
    match isolation.kind:
        case "salted":
            return (
                f"prompts salted with {isolation.salt!r} from their first token on: "
                f"{_whom_it_hits(isolation)}"
            )
        case "reset":
            return f"the target's prefix cache was emptied before the run (POST {reset_path})"
        case "cache-salt":
            return (
                f"every request carried cache_salt {isolation.salt!r}: {_whom_it_hits(isolation)}"
            )
        case "kept-warm":
            return "none: what earlier runs left in the cache may have been hit (--keep-warm)"
        case _:
            assert_never(isolation.kind)


def _whom_it_hits(isolation: Isolation) -> str:
    if isolation.repeatable:
        return "what earlier runs with this salt left in the cache may have been hit (--salt)"
    return "nothing cached by an earlier run matches"
