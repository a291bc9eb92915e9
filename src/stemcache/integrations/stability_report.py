"""What a check found, and the message that a test fails with.

```
the prefix of the prompt changes with the clock

  where    system, /system/0/text, byte 27 (byte 1,310 of the prefix)
  held     …You are an agent. It is 2026-03-14 09:26:53. Answer brief…
  clock    …You are an agent. It is 2031-10-08 22:41:05. Answer brief…
                                       ^
  what     an ISO time with seconds
  changed  the clock: time.time(), time.monotonic(), datetime.now(), date.today()
  fix      say the time in the last user message, behind the last marker, …
```
"""

from dataclasses import dataclass

from stemcache.errors import StemcacheError
from stemcache.integrations.stability_compare import Difference
from stemcache.integrations.stability_run import Raised
from stemcache.integrations.stability_words import advice, changed
from stemcache.integrations.stability_world import Perturbation

__all__ = ["BuilderRaisedError", "Finding", "PrefixUnstableError", "StabilityReport"]


class PrefixUnstableError(StemcacheError, AssertionError):
    """A prefix changes with what it must not depend on. `report` has all that was found."""

    def __init__(self, report: "StabilityReport") -> None:
        super().__init__(str(report))
        self.report = report


class BuilderRaisedError(StemcacheError, AssertionError):
    """A builder that gives a prompt otherwise raises under some perturbation."""

    def __init__(self, report: "StabilityReport") -> None:
        super().__init__(str(report))
        self.report = report


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause, or several that only together have an effect."""

    causes: tuple[Perturbation | str, ...]
    """A text is the name of an environment variable."""
    effect: Difference | Raised
    alone: bool = True
    """False where time ran out before it was known which of the causes it is."""

    @property
    def name(self) -> str:
        """`clock`, `$STAGE`, `clock and locale`."""
        names = [one if isinstance(one, Perturbation) else f"${one}" for one in self.causes]
        return " and ".join(names)

    def __str__(self) -> str:
        effect = self.effect
        if isinstance(effect, Raised):
            return _raised(self, effect)
        return _differs(self, effect)


@dataclass(frozen=True, slots=True, kw_only=True)
class StabilityReport:
    """What was found, what was looked at, and what could not be. True where nothing was found."""

    findings: tuple[Finding, ...]
    """What differs first of all stands first; builders that raised stand behind."""
    checked: tuple[str, ...]
    """Names of perturbations and environment variables."""
    unchecked: tuple[str, ...] = ()
    """What could not be tried, each with its reason."""

    def __bool__(self) -> bool:
        return not self.findings

    def __str__(self) -> str:
        lines = [str(self.findings[0])] if self.findings else ["the prefix of the prompt is stable"]
        if len(self.findings) > 1:
            lines += ["also:"]
            lines += [f"  {_short(one)}" for one in self.findings[1:]]
        lines += [f"checked: {', '.join(self.checked)}"]
        lines += [f"not checked: {one}" for one in self.unchecked]
        return "\n".join(lines)

    def raise_if_found(self) -> None:
        """Raise PrefixUnstableError, or BuilderRaisedError where that is all that was found."""
        if not self.findings:
            return
        first = self.findings[0].effect
        if isinstance(first, Raised):
            raise BuilderRaisedError(self) from first.error
        raise PrefixUnstableError(self)


def _differs(finding: Finding, effect: Difference) -> str:
    if finding.causes == (Perturbation.AGAIN,):
        title = "the prefix of the prompt changes when it is built again"
    elif finding.causes == (Perturbation.PROCESS,):
        title = "the prefix of the prompt changes when another process builds it"
    else:
        title = f"the prefix of the prompt changes with {_causes(finding)}"
    label = finding.name if len(finding.name) <= 15 else "other"
    width = max(len(label), len("changed")) + 2
    before, old = _shown(effect.old, effect.before_chars)
    _, new = _shown(effect.new, effect.before_chars)
    rows = [
        ("where", _where(effect)),
        ("held", old),
        (label, new),
        ("", " " * before + "^"),
        ("what", effect.kind),
        *(("changed", changed(cause)) for cause in finding.causes),
        ("fix", advice(finding.causes[0], effect.kind)),
    ]
    return "\n".join([title, "", *(f"  {name:<{width}}{text}" for name, text in rows), ""])


def _causes(finding: Finding) -> str:
    """In words: `the clock`, or where time ran out before it was known, `one of: …`."""
    if not finding.alone:
        return f"one of: {finding.name.replace(' and ', ', ')}"
    return " and ".join(changed(cause).partition(":")[0] for cause in finding.causes)


def _raised(finding: Finding, effect: Raised) -> str:
    lines = [f"the builder raises with a change of {_causes(finding)}, and not without", ""]
    lines += [f"  changed  {changed(cause)}" for cause in finding.causes]
    lines += ["", *(f"  {line}" for line in effect.trace.rstrip().splitlines()), ""]
    return "\n".join(lines)


def _short(finding: Finding) -> str:
    effect = finding.effect
    if isinstance(effect, Raised):
        return f"{finding.name}: the builder raises {effect.said}"
    return f"{finding.name}: {_where(effect)}: {effect.kind}"


def _where(effect: Difference) -> str:
    place = f"{effect.section}, {effect.pointer}" if effect.pointer else effect.section
    return f"{place}, byte {effect.offset_bytes:,} (byte {effect.prefix_bytes:,} of the prefix)"


def _shown(text: str, before_chars: int) -> tuple[int, str]:
    """The text in one line, and the column of the place."""
    head = "…" + _escaped(text[:before_chars])
    return len(head), head + _escaped(text[before_chars:]) + "…"


def _escaped(text: str) -> str:
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )
