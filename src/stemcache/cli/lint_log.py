"""The log as the analysis wants it, on top of `trace.calls`."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from stemcache.lint.figures import count_of
from stemcache.lint.finding import Total
from stemcache.lint.visible import visible
from stemcache.trace.calls.call import Call, Place
from stemcache.trace.calls.open import CallLog

__all__ = ["LintLog"]

_MOST_IDS = 3
_MOST_REASONS = 3


class LintLog:
    """Calls to read once, and bodies to read again. The caller closes the log."""

    def __init__(self, calls: CallLog) -> None:
        self._calls = calls

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls)

    @property
    def repeated(self) -> int:
        """Records of an answer that was there before, so far."""
        return self._calls.repeated

    @property
    def skipped(self) -> Counter[str]:
        """Records that could not be read, by reason, so far."""
        return Counter(self._calls.problems.counts)

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing at all so far, neither calls nor anything else."""
        calls = self._calls
        return not (calls.lines or calls.problems.total or calls.left_out)

    def passed_over(self, total: Total) -> list[str]:
        """Why records gave no call to judge, the most frequent reasons first: three at most."""
        calls = self._calls
        skipped = Counter(total.skipped)
        silent = calls.lines - total.calls - self.repeated - sum(calls.left_out.values())
        silent -= calls.problems.total
        found = [
            (count, f"{count_of(count, 'line')} skipped because {visible(reason)}")
            for reason, count in skipped.items()
        ]
        found += [(count, f"{count:,} {what}") for what, count in calls.left_out.items()]
        if silent > 0:
            form = f"the format {calls.format}" if calls.format else "no format"
            found.append((silent, f"{count_of(silent, 'line')} in which {form} has no call"))
        found.sort(key=lambda one: (-one[0], one[1]))
        return [told for _, told in found[:_MOST_REASONS]]

    def again(self, place: Place) -> Mapping[str, Any] | None:
        """The body of a call that was read before; None where it cannot be had."""
        return self._calls.reread.body(place)

    def remarks(self) -> tuple[str, ...]:
        """A sentence on what is in the log besides calls, and on places that could not be read."""
        found = [
            f"{count_of(count, 'record')} left out as no call: {what}"
            for what, count in sorted(self._calls.left_out.items())
        ]
        found.extend(_reused(self._calls.reused_ids))
        problems = self._calls.problems
        if problems.total:
            first = "; ".join(map(str, problems.examples[:3]))
            more = problems.total - min(3, len(problems.examples))
            found.append(f"not read: {first}" + (f"; and {more:,} more" if more else ""))
        return tuple(found)


def _reused(ids: Mapping[str, int]) -> Iterator[str]:
    for name, count in sorted(ids.items(), key=lambda item: (-item[1], item[0]))[:_MOST_IDS]:
        verb, taken = ("repeats", "it is taken as a call of its own")
        if count > 1:
            verb, taken = ("repeat", "they are taken as calls of their own")
        shown = visible(name, most_characters=60)
        records = count_of(count, "record")
        yield f"{records} {verb} the response id {shown} with another body: {taken}"
    if len(ids) > _MOST_IDS:
        yield f"and so do records of {count_of(len(ids) - _MOST_IDS, 'other id')}"
