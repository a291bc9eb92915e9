"""Workflow commands, which GitHub shows beside the lines that they name.

```
::warning file=calls.jsonl,line=2,title=STM101 clock-in-prefix::a time with seconds …
```
In the text behind `::` per cent signs and ends of lines are escaped, in properties colons and
commas too, since they end a property.
"""

from collections.abc import Iterator

from stemcache.lint.finding import Finding, Report, Severity
from stemcache.lint.render_concise import place, weight
from stemcache.lint.visible import visible

__all__ = ["render"]

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_IN_TEXT = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})
_LONGEST_PATH = 4096


def render(report: Report) -> Iterator[str]:
    """A command a finding."""
    for finding in report.findings:
        properties = (
            ("file", finding.location.file),
            ("line", str(finding.location.line)),
            ("title", f"{finding.code} {finding.name}"),
        )
        listed = ",".join(f"{name}={_property(value)}" for name, value in properties)
        yield f"::{_COMMANDS[finding.severity]} {listed}::{_text(_message(finding))}"


def _message(finding: Finding) -> str:
    spot = place(finding.location)
    where = f" at {spot}" if spot else ""
    first = f"{visible(finding.message)}{where} ({', '.join(weight(finding))})"
    return (
        f"{first}\nhelp: {visible(finding.help, most_characters=2000)}" if finding.help else first
    )


def _text(text: str) -> str:
    return text.translate(_IN_TEXT)


def _property(text: str) -> str:
    # Escaped first, since a path is to be found again; then whatever else must not be printed.
    return visible(text.translate(_IN_PROPERTY), most_characters=_LONGEST_PATH)
