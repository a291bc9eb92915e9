"""The report for programs: one JSON object, whose names docs/lint.md lists.

What is not known is null. Everything but ASCII is escaped, so that no name of a log can move a
terminal's cursor; texts of prompts are there only when asked for.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from stemcache.lint.baseline import fingerprint_of
from stemcache.lint.finding import Example, Finding, Location, Report
from stemcache.lint.plain import plain

__all__ = ["VERSION", "as_json", "render"]

VERSION = 1


def render(report: Report, *, show_text: bool = False) -> Iterator[str]:
    """The object, in lines."""
    told = as_json(report, show_text=show_text)
    yield from json.dumps(told, indent=2, allow_nan=False).splitlines()


def as_json(report: Report, *, show_text: bool = False) -> dict[str, Any]:
    """The same as a value: only str, int, float, bool, None, list and dict, nothing not finite."""
    total = {
        **asdict(report.total),
        "hit_rate": report.total.hit_rate,
        "attainable_hit_rate": report.total.attainable_hit_rate,
        "baselined": report.baselined,
    }
    told = plain(
        {
            "version": VERSION,
            "findings": [_finding(each, show_text=show_text) for each in report.findings],
            "total": total,
            "reconciliation": asdict(report.reconciliation),
            "remarks": report.remarks,
        }
    )
    assert isinstance(told, dict)
    return told


def _finding(finding: Finding, *, show_text: bool) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "kind": finding.kind,
        "severity": finding.severity.value,
        "message": finding.message,
        "location": _location(finding.location),
        "count": finding.count,
        "lost_tokens": finding.lost_tokens,
        "cost_usd": finding.cost_usd,
        "help": finding.help,
        "share": finding.share,
        "route": finding.route,
        "rule": finding.rule,
        "needs": list(finding.needs),
        "fingerprint": fingerprint_of(finding),
        "examples": [_example(each, show_text=show_text) for each in finding.examples],
    }


def _location(location: Location) -> dict[str, Any]:
    return {
        "file": location.file,
        "line": location.line,
        "pointer": location.pointer,
        "char": location.char,
    }


def _example(example: Example, *, show_text: bool) -> dict[str, Any]:
    told = {
        "location": _location(example.location),
        "parent": None if example.parent is None else _location(example.parent),
        "lost_tokens": example.lost_tokens,
        "cost_usd": example.cost_usd,
        "old": example.old,
        "new": example.new,
    }
    if show_text:
        told |= {"old_text": example.old_text, "new_text": example.new_text}
    return told
