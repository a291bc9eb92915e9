"""Whether the beginning of a prompt stays, byte for byte, whatever happens around its builder.

```python
from stemcache.integrations.stability_check import assert_prefix_stable

def test_prefix() -> None:
    assert_prefix_stable(build_prompt, "a question")      # or the fixture of that name, with pytest
```
```
here      held ─ held again ─ all varied, `runs` times ─ variables that it reads, changed
apart     held ─ all varied, hash seed and encoding too, `runs` times      other processes
             │ differs                             │ differs
             └──────── halves, and halves of halves ──► the first byte, and whose it is
```
A builder is called about four times, and twice more for each of `runs`. What it keeps from call to
call it keeps from a world that was made up: where other tests read such a cache, clear it.
"""

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from stemcache.errors import UsageError, unknown_choice
from stemcache.integrations.stability_address import hidden
from stemcache.integrations.stability_compare import Difference
from stemcache.integrations.stability_find import OutOfTime, effect_of, findings
from stemcache.integrations.stability_process import Parcel, UnableError, parcel, run_apart
from stemcache.integrations.stability_prompt import Reading, Seen
from stemcache.integrations.stability_report import (
    BuilderRaisedError,
    Finding,
    PrefixUnstableError,
    StabilityReport,
)
from stemcache.integrations.stability_run import Builder, Outcome, Raised, run
from stemcache.integrations.stability_surroundings import installed_locale
from stemcache.integrations.stability_variables import changed_values
from stemcache.integrations.stability_world import (
    ANYWHERE,
    IN_A_PROCESS,
    Allowed,
    Perturbation,
    World,
    allowed,
)
from stemcache.wire.api import Api

__all__ = [
    "BuilderRaisedError",
    "PrefixUnstableError",
    "StabilityReport",
    "assert_prefix_stable",
    "check_prefix_stable",
]


def assert_prefix_stable(
    build_prompt: Callable[..., object],
    *args: object,
    keywords: Mapping[str, object] | None = None,
    allow: Iterable[str] = (),
    runs: int = 3,
    until: str | int = "marker",
    api: Api | str | None = None,
    own_process: bool | None = None,
    seed: int = 0,
    timeout_s: float = 60.0,
) -> StabilityReport:
    """Raise PrefixUnstableError where the prefix changes, BuilderRaisedError where that is worse.

    Else the report, which says what could not be checked. Options as in `check_prefix_stable`.
    """
    __tracebackhide__ = True
    report = check_prefix_stable(
        build_prompt,
        *args,
        keywords=keywords,
        allow=allow,
        runs=runs,
        until=until,
        api=api,
        own_process=own_process,
        seed=seed,
        timeout_s=timeout_s,
    )
    report.raise_if_found()
    return report


def check_prefix_stable(
    build_prompt: Callable[..., object],
    *args: object,
    keywords: Mapping[str, object] | None = None,
    allow: Iterable[str] = (),
    runs: int = 3,
    until: str | int = "marker",
    api: Api | str | None = None,
    own_process: bool | None = None,
    seed: int = 0,
    timeout_s: float = 60.0,
) -> StabilityReport:
    """Call a builder in many worlds, and tell where and why what it gives first differs.

    `allow`: perturbations that may change it (`clock`, `locale`, …), or `$NAME` of an environment
    variable. `runs`: variants of each. `until`: what has to stay, up to the last `marker` and
    without one up to the last user message; `last-user`; `all`; so many messages, or of a text
    characters; a JSON pointer to the first piece that may change. `own_process`: None is where it
    can be, True must, False not at all. `timeout_s`: no run is begun after it, and processes are
    ended; a run in this process is not.

    Raises UsageError for options that cannot be, for what is no prompt, and where time is over
    before all was tried; and whatever the builder raises by itself.
    """
    if not callable(build_prompt):
        raise UsageError(
            f"the builder is a {type(build_prompt).__name__}; give the function that builds the "
            "prompt, and its arguments behind it"
        )
    if runs < 1:
        raise UsageError(f"runs={runs}; a prompt is built under at least 1 variant of each")
    reading = Reading(until, _api(api))
    builder = Builder(build_prompt, args, dict(keywords or {}), reading)
    with tempfile.TemporaryDirectory(prefix="stemcache-") as place:
        check = _Check(
            builder=builder,
            allow=allowed(allow),
            runs=runs,
            seed=seed,
            scratch=Path(place).resolve(),
            ends_s=monotonic() + timeout_s,
        )
        try:
            check.here()
            check.apart(own_process=own_process)
        except OutOfTime:
            if not check.found:
                raise UsageError(
                    f"the builder was checked for {', '.join(check.checked) or 'nothing'} when "
                    f"timeout_s={timeout_s:g} was over; give it more time, or fewer runs"
                ) from None
            check.unchecked.append(f"the rest: timeout_s={timeout_s:g} is over")
    return check.report()


def _api(name: Api | str | None) -> Api | None:
    if name is None or name in set(Api):
        return None if name is None else Api(name)
    raise UsageError(unknown_choice("api", name, "api", Api))


@dataclass(slots=True, kw_only=True)
class _Check:
    builder: Builder
    allow: Allowed
    runs: int
    seed: int
    scratch: Path
    ends_s: float
    found: list[Finding] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)

    def here(self) -> None:
        """In this process."""
        read: set[str] = set()
        base = World(seed=self.seed)
        held = run(self.builder, base, self.scratch, noting=read)
        if isinstance(held, Raised):
            assert held.error is not None, "it was raised here"
            held.error.add_note(
                "raised while assert_prefix_stable built the prompt for the first time, with "
                "clocks, ids and chance held still and directories sorted"
            )
            raise held.error
        built = self._attempt(base)
        again = self._effect(held, built)
        if isinstance(again, Difference) and again.of_an_address:
            self.found.append(Finding((Perturbation.ADDRESS,), again))
            again = self._effect(held, built)
        self.checked.append(Perturbation.AGAIN)
        if again is not None:
            self.found.append(Finding((Perturbation.AGAIN,), again))
            return  # nothing that is changed could be told from nothing
        which = self.allow.without(ANYWHERE)
        self._find(held, which, self._attempt, unchanged=Perturbation.AGAIN)
        self.checked += which
        self._variables(held, read)
        if Perturbation.LOCALE in which and installed_locale(1) is None:
            self.unchecked.append(
                "formats of the C library (f'{n:n}', names of months): no other locale is "
                "installed; locale.format_string was checked"
            )

    def _variables(self, held: Seen, read: set[str]) -> None:
        """Those that the builder asked for. What raises with another value says nothing."""
        values = changed_values(read, self.allow.variables)
        if not values or Perturbation.ENVIRONMENT in self.allow.perturbations:
            return
        together = self._attempt(World(seed=self.seed, variables=values))
        self.checked += [f"${name}" for name in values]
        if self._effect(held, together) is None:
            return
        for name, value in values.items():
            outcome = self._attempt(World(seed=self.seed, variables={name: value}))
            effect = self._effect(held, outcome)
            if effect is not None and not isinstance(effect, Raised):
                self.found.append(Finding((name,), effect))

    def _find(
        self,
        held: Seen,
        which: Sequence[Perturbation],
        attempt: Callable[[World], Outcome],
        *,
        unchanged: Perturbation,
    ) -> None:
        """All causes. Where it is addresses, also what else there is when those are hidden."""
        for hiding in (self._hiding(), True):

            def attempted(world: World, hiding: bool = hiding) -> Outcome:  # noqa: FBT001 - of its round
                return _shown(attempt(world), hiding=hiding)

            found = findings(
                hidden(held) if hiding else held,
                [one for one in which if not self._is_known(one)],
                seed=self.seed,
                runs=self.runs,
                attempt=attempted,
                unchanged=unchanged,
            )
            self.found += found
            if hiding or not self._is_known(Perturbation.ADDRESS):
                return

    def _hiding(self) -> bool:
        """Whether addresses may differ, or are told already."""
        allowed_to = Perturbation.ADDRESS in self.allow.perturbations
        return allowed_to or self._is_known(Perturbation.ADDRESS)

    def _is_known(self, cause: Perturbation) -> bool:
        return any(cause in one.causes for one in self.found)

    def _effect(self, held: Seen, outcome: Outcome) -> Difference | Raised | None:
        hiding = self._hiding()
        return effect_of(hidden(held) if hiding else held, _shown(outcome, hiding=hiding))

    def _attempt(self, world: World) -> Outcome:
        if monotonic() >= self.ends_s:
            raise OutOfTime
        return run(self.builder, world, self.scratch)

    def apart(self, *, own_process: bool | None) -> None:
        """In processes of their own, without what was found here already."""
        if own_process is False:
            self.unchecked.append("hash seeds and other processes: own_process=False")
            return
        try:
            sent = parcel(self.builder)
            held = self._apart(sent, World(seed=self.seed))
        except UnableError as error:
            if own_process:
                raise UsageError(f"own_process=True, and {error}") from None
            self.unchecked.append(f"hash seeds and other processes: {error}")
            return
        if isinstance(held, Raised):
            if own_process:
                raise UsageError(f"own_process=True, and the builder raises there: {held.said}")
            self.unchecked.append(
                f"hash seeds and other processes: the builder raises there: {held.said}"
            )
            return
        which = [one for one in self.allow.without(IN_A_PROCESS) if not self._is_known(one)]

        def attempt(world: World) -> Outcome:
            try:
                return self._apart(sent, world)
            except UnableError as error:
                return Raised(str(error), str(error))

        self._find(held, which, attempt, unchanged=Perturbation.PROCESS)
        self.checked += [one for one in which if one not in self.checked]

    def _apart(self, sent: Parcel, world: World) -> Outcome:
        return run_apart(sent, world, self.scratch, left_s=self.ends_s - monotonic())

    def report(self) -> StabilityReport:
        return StabilityReport(
            findings=tuple(sorted(self.found, key=_place)),
            checked=tuple(map(str, self.checked)),
            unchecked=tuple(self.unchecked),
        )


def _shown(outcome: Outcome, *, hiding: bool) -> Outcome:
    return hidden(outcome) if hiding and isinstance(outcome, Seen) else outcome


def _place(finding: Finding) -> tuple[bool, int]:
    effect = finding.effect
    if isinstance(effect, Raised):
        return True, 0
    return False, effect.prefix_bytes
