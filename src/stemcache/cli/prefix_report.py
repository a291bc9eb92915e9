"""What `stemcache prefix` prints: findings, differences and costs, for people and for programs.

No text of a prompt is in either unless it is asked for.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from stemcache.cli.prefix_costs import Costed
from stemcache.cli.prefix_run import Run
from stemcache.cli.prefix_told import Told
from stemcache.cli.printable import printable
from stemcache.errors import StemcacheError
from stemcache.lint.change_class import class_of
from stemcache.lint.figures import count_of, money, tokens
from stemcache.lint.place import exact
from stemcache.lint.text_class import shape_of
from stemcache.prompt.lock.check import Finding
from stemcache.prompt.lock.diff import Changed
from stemcache.prompt.lock.portions import Pinned
from stemcache.trace.divergence.change import Change, ChangeKind
from stemcache.trace.divergence.window import MOST_CHARS

__all__ = ["VERSION", "Report", "as_json", "as_text", "error_json", "report_of", "summary"]

VERSION = 1
_MOST_SHOWN = 5
"""What is lost is behind the first; the others say what kind of edit it was."""
_MOST_TEXT = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Of one run."""

    lock: str
    findings: tuple[Finding, ...] = ()
    prefixes: tuple[Told, ...] = ()
    """That differ."""
    remarks: tuple[str, ...] = ()
    checked: int = 0
    """How many prefixes were looked at."""


def report_of(
    run: Run, findings: Sequence[Finding], told: tuple[Told, ...], remarks: tuple[str, ...] = ()
) -> Report:
    """What a run found."""
    return Report(
        lock=run.project.lock.name,
        findings=tuple(findings),
        prefixes=told,
        remarks=remarks,
        checked=len(run.prefixes),
    )


def as_text(report: Report, *, show_text: bool) -> Iterator[str]:
    """Lines: findings with what to do, then each prefix that differs."""
    told = {one.name: one for one in report.prefixes}
    for finding in report.findings:
        yield f"{finding.prefix}: {finding.kind}: {printable(finding.message, most_characters=400)}"
        if finding.prefix in told:
            yield from _body(told.pop(finding.prefix), show_text=show_text)
        yield f"  help: {printable(finding.help, most_characters=400)}"
    for one in told.values():
        yield _head(one)
        yield from _body(one, show_text=show_text)
    for remark in report.remarks:
        yield f"remark: {printable(remark, most_characters=600)}"


def as_json(report: Report, *, show_text: bool) -> Iterator[str]:
    """One object, in lines; what is not known is null."""
    told = {
        "version": VERSION,
        "lock": report.lock,
        "checked": report.checked,
        "findings": [asdict(one) for one in report.findings],
        "prefixes": [_prefix(one, show_text=show_text) for one in report.prefixes],
        "remarks": list(report.remarks),
    }
    yield from json.dumps(told, indent=2, allow_nan=False).splitlines()


def error_json(error: StemcacheError) -> str:
    """In place of a report: why there is none. A report has no such name."""
    return json.dumps({"version": VERSION, "error": str(error)}, indent=2)


def _head(one: Told) -> str:
    if one.before is None:
        assert one.now is not None, "it is on one side at least"
        return f"{one.name}: new, {_tokens(one.now.tokens)}"
    if one.now is None:
        return f"{one.name}: gone, it had {_tokens(one.before.tokens)}"
    versions = _moved(_version(one.before), _version(one.now))
    was, size = tokens(one.before.tokens), _tokens(one.now.tokens)
    sizes = size if one.before.tokens == one.now.tokens else _moved(was, size)
    return f"{one.name}: version {printable(versions)}, {sizes}"


def _tokens(number: int) -> str:
    """With their unit: `1 token`, `4.21k tokens`."""
    return f"{tokens(number)} token{'' if number == 1 else 's'}"


def _moved(before: str, now: str) -> str:
    return now if before == now else f"{before} → {now}"


def _version(one: Pinned) -> str:
    return "none" if one.version is None else one.version


def _body(one: Told, *, show_text: bool) -> Iterator[str]:
    difference = one.difference
    if difference is None:
        return
    if not difference.changes:
        yield "  the same bytes"
        return
    for change in difference.changes[:_MOST_SHOWN]:
        yield from _changed(change, show_text=show_text)
    more = len(difference.changes) - _MOST_SHOWN
    if more > 0:
        yield f"  and {count_of(more, 'more change')}"
    low, high = difference.kept_low, difference.kept_high
    kept = tokens(low) if low == high else f"{tokens(low)} to {tokens(high)}"
    yield (
        f"  {kept} of {_tokens(difference.before_tokens)} stand before the first change; "
        f"{tokens(difference.lost_tokens)} are lost, {tokens(difference.written_tokens)} are new"
    )
    for costed in one.costs:
        yield from _cost(costed)


def _changed(one: Changed, *, show_text: bool) -> Iterator[str]:
    where = printable(one.name)
    if one.char is not None and one.char == one.char_high:
        where += f", character {one.char:,}"
        where += "" if one.line is None else f" (line {one.line:,})"
    elif one.char is not None and one.char_high is not None:
        where += f", between characters {one.char:,} and {one.char_high:,}"
    said = "" if one.change is None else _class(one.change)
    yield f"  {one.kind:<9}  {where}{f': {said}' if said else ''}"
    if one.change is None or one.kind in {ChangeKind.REORDERED, ChangeKind.KEY_ORDER}:
        return
    windows = (one.change.old, one.change.new)
    for sign, text, window in zip("-+", _windows(one.change), windows, strict=True):
        if text:
            shown = (
                printable(text, most_characters=_MOST_TEXT) if show_text else _shape(text, window)
            )
            yield f"    {sign} {shown}"


def _windows(change: Change) -> tuple[str, str]:
    old, new = exact(change.old, change.new)
    # Without what it was widened by, a window may be half a date; as it was given, it is a whole.
    return (change.old, change.new) if class_of(change) is not None else (old, new)


def _shape(text: str, window: str) -> str:
    """Class and length of a text out of a window; how long it is at least where that was cut."""
    return f"{shape_of(text)} or more" if len(window) >= MOST_CHARS else shape_of(text)


def _class(change: Change) -> str:
    """What kind of text differs."""
    told = class_of(change)
    if told is not None:
        return f"{told.phrase} differs"
    edited = change.kind is ChangeKind.EDITED and change.old != change.new
    if edited and change.old.split() == change.new.split():
        return "white space differs"
    return ""


def _cost(one: Costed) -> Iterator[str]:
    cold, payer = one.cold, one.payer
    if not cold.most_tokens:
        yield f"  {payer.name}: nothing{f', it is {cold.why}' if cold.why else ''}"
        return
    caches = f"each of {count_of(cold.caches, 'cache')}" if cold.caches != 1 else "a cache"
    line = f"  {payer.name}: {_tokens(cold.written_tokens)} written anew by {caches}"
    if cold.usd is None:
        line += ", price not known"
    else:
        line += f", {money(cold.usd)}"
        if cold.above_read_usd is not None:
            line += f" ({money(cold.above_read_usd)} above reading them)"
    if cold.most_tokens > cold.written_tokens:
        most = "" if cold.most_usd is None else f", {money(cold.most_usd)}"
        line += f"; at most {tokens(cold.most_tokens)}{most}"
    yield line
    if cold.why:
        yield f"    {cold.why}"
    if payer.conversations:
        what = count_of(payer.conversations, "conversation")
        behind = f"{_tokens(payer.history_tokens)} of history"
        spent = "" if one.histories_usd is None else f", {money(one.histories_usd)}"
        yield f"    {what} under way with {behind} behind it, also lost if they go on{spent}"


def _prefix(one: Told, *, show_text: bool) -> dict[str, Any]:
    difference = one.difference
    told: dict[str, Any] = {
        "name": one.name,
        "before": _pinned(one.before),
        "now": _pinned(one.now),
        "exact": one.exact,
        "changes": [],
        "kept_tokens": None,
        "lost_tokens": None,
        "written_tokens": None,
        "costs": [_costed(each) for each in one.costs],
    }
    if difference is not None:
        told["changes"] = [_change(each, show_text=show_text) for each in difference.changes]
        told["kept_tokens"] = {"low": difference.kept_low, "high": difference.kept_high}
        told["lost_tokens"] = difference.lost_tokens
        told["written_tokens"] = difference.written_tokens
    return told


def _pinned(one: Pinned | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {"version": one.version, "digest": one.digest, "tokens": one.tokens}


def _change(one: Changed, *, show_text: bool) -> dict[str, Any]:
    told: dict[str, Any] = {
        "kind": one.kind,
        "name": one.name,
        "section": one.section,
        "char": one.char,
        "char_high": one.char_high,
        "line": one.line,
        "class": None,
        "old": None,
        "new": None,
    }
    if one.change is not None:
        old, new = _windows(one.change)
        found = class_of(one.change)
        told["class"] = None if found is None else found.name
        told["old"] = _shape(old, one.change.old) if old else None
        told["new"] = _shape(new, one.change.new) if new else None
        if show_text:
            told["old_text"], told["new_text"] = old, new
    return told


def _costed(one: Costed) -> dict[str, Any]:
    return {
        "model": one.payer.name,
        **asdict(one.cold),
        "conversations": one.payer.conversations,
        "history_tokens": one.payer.history_tokens if one.payer.conversations is not None else None,
        "histories_usd": one.histories_usd if one.payer.conversations is not None else None,
    }


def summary(report: Report) -> str:
    """The line for people at the end of a check."""
    looked_at = count_of(report.checked, "prefix", "prefixes")
    if not report.findings:
        return f"{looked_at} as in {report.lock}"
    return f"{count_of(len(report.findings), 'finding')} in {looked_at}"
