"""Values of lint's flags: what they may be, and how a shell completes them."""

import math
import re
from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from stemcache.errors import UsageError, unknown_choice
from stemcache.lint.catalogue import rules
from stemcache.lint.fail_on import FIGURES

__all__ = [
    "LOG_FORMATS",
    "USD",
    "check_format",
    "complete_formats",
    "complete_rules",
    "complete_thresholds",
    "field_pointers",
    "format_option",
]

LOG_FORMATS = (
    "stemcache",
    "claude-code",
    "codex",
    "batch",
    "bedrock",
    "har",
    "litellm",
    "langfuse",
    "otel",
    "bodies",
    "sglang",
    "vllm",
)
"""Spelt out, so that --help does not wait for the readers; they check the name."""

_MOST_USD = 1e12
_NEXT_FIELD = re.compile(r",(?=\w+=)")
"""A comma in a pointer is none of these."""


def check_format(name: str | None, *, source: str) -> None:
    """Raise UsageError, with the nearest name, for a format that there is not."""
    if name is not None and name not in LOG_FORMATS:
        raise UsageError(unknown_choice("format", name, source, LOG_FORMATS))


def complete_rules(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Codes and names that go on as begun, behind the last comma."""
    before, comma, begun = incomplete.rpartition(",")
    return [
        CompletionItem(f"{before}{comma}{value}", help=rule.summary)
        for rule in rules()
        for value in (rule.code, rule.name)
        if value.lower().startswith(begun.lower())
    ]


def complete_thresholds(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Figures that go on as begun."""
    return [CompletionItem(name) for name in sorted(FIGURES) if name.startswith(incomplete)]


def complete_formats(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Formats of logs that go on as begun."""
    return [CompletionItem(name) for name in LOG_FORMATS if name.startswith(incomplete)]


format_option = click.option(
    "--format",
    "log_format",
    metavar="NAME",
    shell_complete=complete_formats,
    help="What the log is: " + ", ".join(LOG_FORMATS) + ".  [default: told by its content]",
)
"""For commands that read logs."""


class _Usd(click.ParamType[float]):
    """A sum of dollars, at least nothing."""

    name = "usd"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The sum; a dollar sign before it is allowed."""
        if isinstance(value, float):
            return value
        try:
            usd = float(str(value).strip().removeprefix("$").replace(",", ""))
        except ValueError:
            usd = math.nan
        if not 0 <= usd <= _MOST_USD:
            self.fail(f"{value!r} is no sum of dollars; write a number such as 12.50", param, ctx)
        return usd


USD = _Usd()


def field_pointers(fields: Iterable[str]) -> dict[str, str]:
    """What `--map` says: field to JSON pointer. Raises UsageError."""
    found: dict[str, str] = {}
    for text in (part for given in fields for part in _NEXT_FIELD.split(given)):
        name, sign, pointer = text.partition("=")
        if not sign or not name.strip() or (pointer and not pointer.startswith("/")):
            raise UsageError(
                f"{text!r} from --map is no FIELD=POINTER; write a field and a JSON pointer, such "
                "as request=/payload/body"
            )
        if name.strip() in found:
            raise UsageError(f"--map gives {name.strip()!r} twice; leave one out")
        found[name.strip()] = pointer
    return found
