"""A line a finding, for grep and for editors that jump to `file:line:`."""

from collections.abc import Iterator

from stemcache.lint.figures import count_of, money, tokens
from stemcache.lint.finding import Example, Finding, Location, Report
from stemcache.lint.visible import visible

__all__ = ["loss", "place", "render", "together", "weight"]


def render(report: Report) -> Iterator[str]:
    """`file:line: CODE name /pointer:char message (N requests, 1.2M tokens, $12.30)`."""
    for finding in report.findings:
        location = finding.location
        file = visible(location.file, most_characters=1024)
        spot = place(location)
        head = f"{file}:{location.line}: {finding.code} {finding.name}"
        middle = f"{spot} " if spot else ""
        yield f"{head} {middle}{visible(finding.message)} ({', '.join(weight(finding))})"


def place(location: Location) -> str:
    """`/system/0/text:31` within the request; empty where it is the request as a whole."""
    if location.char is None:
        return visible(location.pointer)
    return f"{visible(location.pointer)}:{location.char}"


def together(finding: Finding) -> str:
    """Which other causes stand before the same tokens."""
    codes = ", ".join(finding.needs)
    if finding.lost_tokens:
        return f"lost together with {codes}, which has to be mended as well"
    return f"mend it with {codes}, to which the loss is charged"


def weight(finding: Finding) -> Iterator[str]:
    """How many requests, tokens and dollars; what is not known or nothing is left out."""
    yield count_of(finding.count, "request")
    yield from loss(finding)
    if finding.needs:
        yield f"with {' and '.join(finding.needs)}"


def loss(of: Finding | Example) -> Iterator[str]:
    """Tokens and dollars; what is not known or nothing is left out."""
    if of.lost_tokens:
        yield f"{tokens(of.lost_tokens)} {'token' if of.lost_tokens == 1 else 'tokens'}"
    if of.cost_usd and (cost := money(of.cost_usd)):
        yield cost
