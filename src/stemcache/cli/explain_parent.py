"""A call of a log and the earlier one that lint compares it with."""

from collections import OrderedDict
from dataclasses import dataclass, replace

from stemcache.cli.explain_requests import ReadAs, Reference, missing, read_requests, with_text
from stemcache.errors import UsageError
from stemcache.lint.analyse import Analysis
from stemcache.lint.explain.request import Request
from stemcache.lint.log import Row
from stemcache.lint.options import Options
from stemcache.lint.time_order import in_time_order
from stemcache.provider.book import Book
from stemcache.trace.calls.call import Call, Place
from stemcache.trace.calls.open import CallLog

__all__ = ["Paired", "read_with_parent"]

_MOST_KEPT = 20_000
"""Calls, without their bodies, whose usage and times are still known when one is a parent."""


@dataclass(frozen=True, slots=True)
class Paired:
    """A call, its parent, and what the analysis of the log up to it says of it."""

    parent: Request
    child: Request
    row: Row


def read_with_parent(
    reference: Reference, read_as: ReadAs, *, options: Options, book: Book
) -> Paired:
    """Read a log up to a call. Raises UsageError where there is no such call or it has no parent.

    Memory is bounded as it is for lint.
    """
    name = reference.name
    with read_as.open(reference.logs) as log:
        rows: list[Row] = []
        analysis = Analysis(options, book, log.reread.body)
        analysis.on_row = lambda row: rows.__setitem__(slice(None), [row])
        kept: OrderedDict[Place, Call] = OrderedDict()
        target: Call | None = None
        lines: list[int] = []
        for call in in_time_order(log):
            rows.clear()
            analysis.add(call)
            if reference.names(call):
                target = call
                break
            kept[call.place] = replace(call, body=None, raw=None, answer=None)
            if len(kept) > _MOST_KEPT:
                kept.popitem(last=False)
            lines = [lines[0] if lines else call.place.line, call.place.line]
        if target is None:
            if reference.id is None or "-" in reference.logs:
                missing(reference, log, lines)
            # Its record may have the id where its answer has not.
            (found,) = read_requests([reference], read_as)
            place = found.call.place
            return read_with_parent(
                Reference(name=name, logs=reference.logs, file=place.file, line=place.line),
                read_as,
                options=options,
                book=book,
            )
        row = rows[0] if rows else None
        return _paired(name, target, row, log, kept)


def _paired(
    name: str, target: Call, row: Row | None, log: CallLog, kept: OrderedDict[Place, Call]
) -> Paired:
    if row is None:
        why = "failed" if target.failed else "has no prompt that can be compared"
        raise UsageError(
            f"{name} {why}, so it is compared with no other; name both requests to compare them"
        )
    if row.parent is None:
        raise UsageError(
            f"no earlier request in the log shares enough with {name} to be what it goes on from, "
            "so nothing that it holds could have been cached; name the request to compare it with: "
            "stemcache explain A B"
        )
    light = kept.get(row.parent)
    body = log.reread.body(row.parent)
    if light is None or body is None:
        raise UsageError(
            f"{name} goes on from {row.parent}, which is too far back to be read again; name both"
        )
    parent = replace(light, body=body)
    return Paired(with_text(str(parent.place), parent), with_text(name, target), row)
