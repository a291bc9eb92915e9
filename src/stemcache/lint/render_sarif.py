"""SARIF 2.1.0, for code scanning.

```
runs[0].tool.driver.rules[i]    ◄─ ruleIndex ─   runs[0].results[j]
  help.markdown: the rule's page                   physicalLocation: file, line of the log
                                                   logicalLocations: JSON pointer in the request
                                                   partialFingerprints: the same cause, run to run
```
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from stemcache import __version__
from stemcache.lint.baseline import fingerprint_of
from stemcache.lint.catalogue import rules as all_rules
from stemcache.lint.finding import Example, Finding, Location, Report, Severity
from stemcache.lint.render_concise import weight
from stemcache.lint.report_json import as_json
from stemcache.lint.rule import LintRule
from stemcache.lint.visible import encodable, visible

__all__ = ["render"]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_FINGERPRINT = "stemcacheCause/v1"


def render(
    report: Report, *, show_text: bool = False, rules: Iterable[LintRule] | None = None
) -> Iterator[str]:
    """The log file of one run, in lines. `rules` are those that could speak, by default all."""
    known = {rule.code: rule for rule in (all_rules() if rules is None else rules)}
    codes = sorted({*known, *(finding.code for finding in report.findings)})
    index = {code: number for number, code in enumerate(codes)}
    names = {finding.code: finding.name for finding in report.findings}
    told = as_json(report, show_text=show_text)
    run = {
        "tool": {
            "driver": {
                "name": "stemcache",
                "semanticVersion": __version__,
                "rules": [_rule(code, names.get(code, code), known.get(code)) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [
            _result(finding, index[finding.code], told["findings"][number])
            for number, finding in enumerate(report.findings)
        ],
        "properties": {
            "total": told["total"],
            "reconciliation": told["reconciliation"],
            "remarks": told["remarks"],
        },
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    yield from json.dumps(log, indent=2, allow_nan=False).splitlines()


def _rule(code: str, name: str, rule: LintRule | None) -> dict[str, Any]:
    if rule is None:
        return {"id": code, "name": name}
    return {
        "id": code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.page.strip().partition("\n")[0] or rule.summary},
        "help": {"text": rule.page.strip(), "markdown": rule.page.strip()},
        "defaultConfiguration": {"level": _LEVELS[rule.worst]},
        "properties": {"tags": ["prompt-caching", rule.kind]},
    }


def _result(finding: Finding, rule_index: int, told: Mapping[str, Any]) -> dict[str, Any]:
    message = f"{visible(finding.message)} ({', '.join(weight(finding))})"
    if finding.help:
        message += f"\n{visible(finding.help, most_characters=2000)}"
    names = ("kind", "count", "lost_tokens", "cost_usd", "share", "route", "rule", "examples")
    return {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": _LEVELS[finding.severity],
        "message": {"text": message},
        "locations": [_location(finding.location)],
        "relatedLocations": [
            {"id": number, **_location(example.location), "message": {"text": _shapes(example)}}
            for number, example in enumerate(finding.examples, start=1)
        ],
        "occurrenceCount": max(1, finding.count),
        "partialFingerprints": {_FINGERPRINT: encodable(fingerprint_of(finding))},
        "properties": {name: told[name] for name in names},
    }


def _shapes(example: Example) -> str:
    shapes = [visible(shape) for shape in (example.old, example.new) if shape]
    return " → ".join(shapes) or "here too"


def _location(location: Location) -> dict[str, Any]:
    told: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(location.file)},
            "region": {"startLine": max(1, location.line)},
        }
    }
    if location.pointer:
        spot: dict[str, Any] = {
            "fullyQualifiedName": encodable(location.pointer),
            "kind": "value",
        }
        if location.char is not None:
            spot["properties"] = {"char": location.char}
        told["logicalLocations"] = [spot]
    return told


def _uri(file: str) -> str:
    """Relative paths stay relative, so that they are found in a repository."""
    data = os.fsencode(file) if _is_path(file) else encodable(file).encode()
    path = quote(data, safe="/")
    return f"file://{path}" if PurePath(file).is_absolute() else path


def _is_path(file: str) -> bool:
    try:
        os.fsencode(file)
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        return False
    return True
