"""Findings that are known and accepted, by fingerprint, in a file beside the code.

```json
{"version": 1,
 "findings": [{"fingerprint": "6f0c…", "code": "STM101", "name": "clock-in-prefix"}]}
```
Code and name are there for who reads the file; only the fingerprint counts. No text of a prompt
and no path of a log is in it.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from stemcache.errors import UsageError
from stemcache.lint.finding import Finding, Report
from stemcache.lint.visible import encodable, visible

__all__ = ["baseline_text", "fingerprint_of", "read_baseline", "without"]

_VERSION = 1
_MOST_BYTES = 2**24
_NUMBERS = re.compile(r"\d+")


def fingerprint_of(finding: Finding) -> str:
    """The finding's own; where it has none, one of cause and place with numbers left out."""
    if finding.fingerprint:
        return finding.fingerprint
    parts = (
        finding.code,
        finding.kind,
        finding.route or "",
        _NUMBERS.sub("0", finding.location.pointer),
    )
    return hashlib.sha256("\0".join(map(encodable, parts)).encode()).hexdigest()[:32]


def baseline_text(findings: Iterable[Finding]) -> str:
    """The file that accepts these findings: sorted, a finding a line, so that diffs are small."""
    rows = {
        fingerprint_of(finding): {
            "fingerprint": encodable(fingerprint_of(finding)),
            "code": finding.code,
            "name": finding.name,
        }
        for finding in findings
    }
    ordered = sorted(rows.values(), key=lambda row: (row["code"], row["fingerprint"]))
    lines = ",\n".join(f"    {json.dumps(row)}" for row in ordered)
    inside = f"[\n{lines}\n  ]" if ordered else "[]"
    return f'{{\n  "version": {_VERSION},\n  "findings": {inside}\n}}\n'


def read_baseline(path: Path, *, source: str = "--baseline") -> frozenset[str]:
    """Fingerprints of a file that `baseline_text` made. Raises UsageError where it is no such."""
    shown = visible(str(path))
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        raise UsageError(
            f"no file {shown} from {source}; make it with --write-baseline {shown}"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read {shown} from {source}: {reason}; check the path") from None
    broken = UsageError(
        f"{shown} from {source} is no baseline; make one with --write-baseline {shown}"
    )
    if len(data) > _MOST_BYTES:
        raise broken
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        raise broken from None
    if not isinstance(told, dict) or not isinstance(told.get("findings"), list):
        raise broken
    if told.get("version") != _VERSION:
        raise UsageError(
            f"{shown} from {source} is of version {visible(repr(told.get('version')))}, which is "
            f"not {_VERSION}; make it anew with --write-baseline {shown}"
        )
    rows = told["findings"]
    found = [row.get("fingerprint") if isinstance(row, dict) else None for row in rows]
    if not all(isinstance(each, str) and each for each in found):
        raise broken
    return frozenset(each for each in found if isinstance(each, str))


def without(report: Report, known: Collection[str]) -> Report:
    """The report less the findings that are known; how many those are is in `baselined`."""
    kept = tuple(each for each in report.findings if fingerprint_of(each) not in known)
    hidden = len(report.findings) - len(kept)
    return replace(report, findings=kept, baselined=report.baselined + hidden)
