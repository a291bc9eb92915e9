from dataclasses import replace

import pytest

from stemcache.lint.finding import Finding, Location, Severity
from stemcache.lint.render_github import render
from tests.lint.reports import CLEAN, SIMPLE, finding


def command(found: Finding) -> str:
    """What is printed of it."""
    (line,) = render(replace(CLEAN, findings=(found,)))
    return line


def test_a_finding_is_a_command() -> None:
    """With the file and line that GitHub shows it at."""
    assert list(render(SIMPLE)) == [
        (
            "::warning file=calls.jsonl,line=2,title=STM101 clock-in-prefix::a time with seconds "
            "stands at character 31 at /system/0/text:31 (1,999 requests, 200M tokens, $540.12)%0A"
            "help: Move the time behind what stays the same, or write it to the day."
        )
    ]
    assert list(render(CLEAN)) == []


@pytest.mark.parametrize(
    ("severity", "name"),
    [(Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.NOTE, "notice")],
)
def test_severities_have_githubs_names(severity: Severity, name: str) -> None:
    """A note is a notice there."""
    assert command(finding(severity=severity)).startswith(f"::{name} file=")


def test_what_ends_a_property_is_escaped_in_it() -> None:
    """Per cent signs, ends of lines, colons and commas; the path can be had back."""
    assert command(finding(location=Location("a%,b:c\r\nd e.jsonl", 3))).startswith(
        "::notice file=a%25%2Cb%3Ac%0D%0Ad e.jsonl,line=3,title=STM405 ttl-order::"
    )


def test_no_message_begins_another_command() -> None:
    """An end of a line in it is shown as one, a per cent sign stays one."""
    line = command(finding(message="100%\n::error::x", help="50%0A\n::stop-commands::y"))
    assert "\n" not in line
    assert "100%25\\n::error::x (1 request)%0Ahelp: 50%250A\\n::stop-commands::y" in line
