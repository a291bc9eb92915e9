"""The log in a few lines: calls, tokens, hit rate, money, predicted against reported, remarks."""

from collections.abc import Iterator

from stemcache.lint.figures import count_of, money, percent, tokens
from stemcache.lint.finding import Reconciliation, Report, Severity, Total
from stemcache.lint.visible import listed, visible

__all__ = ["headline", "summary"]

_DAY_S = 86_400.0
_MONTH_DAYS = 30
_LITTLE = 0.05
"""Attainable hit rate below which a cache is not worth a thought."""


def headline(report: Report) -> str:
    """One or two sentences: the hit rate, what it could be, what that costs."""
    total = report.total
    if not total.calls:
        return "No calls to judge: the log holds none that could be read."
    rate = _rate(report)
    lost = _lost(total)
    if not report.findings:
        tail = f" {rate}." if rate else ""
        if report.baselined:
            known = count_of(report.baselined, "finding")
            return f"Nothing found beyond the {known} of the baseline.{tail}"
        if lost:
            return f"Nothing found by the rules that are selected.{tail} {lost}, to other causes."
        return f"{_nothing(total)}{tail}"
    causes = count_of(len(report.findings), "finding")
    first = f"{rate}; {lost}" if rate and lost else rate or lost
    return f"{first}. {causes}." if first else f"{causes}."


def _nothing(total: Total) -> str:
    """What it means that nothing was found."""
    unseen = total.fidelities.get("usage-only", 0) + total.fidelities.get("redacted", 0)
    if unseen >= total.calls or total.rules.get("", 0) >= total.calls:
        return "Nothing found, but little could be judged: the remarks below say why."
    possible = total.attainable_hit_rate
    if possible is not None and possible < _LITTLE:
        return "Nothing found: these prompts share too little for any cache to matter."
    return "Nothing found: no prompt loses a prefix that it could have kept."


def _rate(report: Report) -> str:
    total = report.total
    known, possible = total.hit_rate, total.attainable_hit_rate
    if known is None:
        if not total.attainable_tokens:
            return ""
        return f"Hit rate unknown, {percent(possible)} attainable"
    how = "reported" if report.reconciliation.calls else "predicted"
    text = f"Hit rate {percent(known)} {how}"
    return f"{text}, {percent(possible)} attainable" if total.attainable_tokens else text


def _lost(total: Total) -> str:
    if not total.lost_tokens:
        return ""
    share = total.lost_tokens / total.prompt_tokens if total.prompt_tokens else None
    told = f"{tokens(total.lost_tokens)} of {tokens(total.prompt_tokens)} prompt tokens lost"
    if share is None:
        told = f"{tokens(total.lost_tokens)} tokens lost"
    cost = money(total.lost_cost_usd) if total.lost_cost_usd else ""
    return f"{told}, {cost}" if cost else told


def summary(report: Report) -> Iterator[tuple[str, list[str]]]:
    """A label and its lines each; what is not known is left out or said to be unknown."""
    total = report.total
    yield "calls", list(_calls(total))
    if total.prompt_tokens:
        yield "prompt", [_prompt(total)]
        unknown = "unknown: no usage was reported, and no rule applies"
        yield "hit rate", [_rate(report).removeprefix("Hit rate ") or unknown]
    yield "money", list(_money(total))
    if report.reconciliation.calls:
        yield "predicted", list(_reconciled(report.reconciliation))
    if report.findings or report.baselined:
        yield "findings", list(_counts(report))
    if report.remarks:
        yield "remarks", [f"- {visible(remark, most_characters=2000)}" for remark in report.remarks]


def _calls(total: Total) -> Iterator[str]:
    parts = [count_of(total.calls, "call")]
    if total.cold:
        parts.append(f"{total.cold:,} without an earlier one to share with")
    if total.failed:
        parts.append(f"{total.failed:,} failed")
    if total.repeated:
        parts.append(f"{count_of(total.repeated, 'repeated record')} counted once")
    yield ", ".join(parts)
    if total.rules:
        ordered = sorted(total.rules.items(), key=lambda item: (-item[1], item[0]))
        yield "rules: " + ", ".join(
            f"{visible(name, most_characters=60) or 'unresolved'} ({calls:,})"
            for name, calls in ordered
        )
    for reason, lines in sorted(total.skipped.items(), key=lambda item: (-item[1], item[0])):
        yield f"{count_of(lines, 'line')} skipped: {visible(reason)}"


def _prompt(total: Total) -> str:
    text = f"{tokens(total.prompt_tokens)} tokens"
    estimated = total.prompt_tokens - total.prompt_tokens_reported
    if estimated <= 0:
        return f"{text}, as reported"
    if not total.prompt_tokens_reported:
        return f"{text}, estimated from characters"
    return f"{text}, of which {tokens(estimated)} estimated from characters"


def _money(total: Total) -> Iterator[str]:
    if total.cost_usd is None:
        yield _unpriced(total)
    else:
        spent = f"{money(total.cost_usd)} at list prices"
        if total.input_cost_usd is not None:
            spent += f", {money(total.input_cost_usd)} of it input"
        if total.unpriced_calls:
            spent += f"; {count_of(total.unpriced_calls, 'call')} without a price left out"
        yield spent
    lost = total.lost_cost_usd
    if not lost:
        return
    text = f"{money(lost)} lost"
    if total.input_cost_usd:
        text += f", {percent(lost / total.input_cost_usd)} of input"
    span = total.span_s
    if span is not None and span >= _DAY_S:  # less of a log says nothing of a month
        a_day = lost / (span / _DAY_S)
        text += f"; {money(a_day)} a day, {money(a_day * _MONTH_DAYS)} in {_MONTH_DAYS} days"
    yield text


def _unpriced(total: Total) -> str:
    if not total.unpriced_models:
        return "unknown: no call has both usage and a price"
    return (
        f"unknown: no price for {listed(total.unpriced_models)}; give one under prices in "
        "stemcache.toml, or an alias to a model that has one"
    )


def _reconciled(found: Reconciliation) -> Iterator[str]:
    difference = found.predicted_tokens - found.reported_tokens
    yield (
        f"{tokens(found.predicted_tokens)} tokens read, reported {tokens(found.reported_tokens)}; "
        f"equal in {found.exact:,} of {count_of(found.calls, 'call')}"
    )
    labels = sorted(found.remainder, key=lambda label: -abs(found.remainder[label]))
    rows = [
        (
            visible(label, most_characters=40),
            f"{found.remainder[label]:+,}",
            found.calls_by_label.get(label),
        )
        for label in labels
        if found.remainder[label] or found.calls_by_label.get(label)
    ]
    if not rows:
        return
    rows.append(("difference", f"{difference:+,}", None))
    names = max(len(row[0]) for row in rows)
    figures = max(len(row[1]) for row in rows)
    for name, figure, calls in rows:
        behind = f"  in {count_of(calls, 'call')}" if calls else ""
        yield f"{name:<{names}}  {figure:>{figures}} tokens{behind}"


def _counts(report: Report) -> Iterator[str]:
    parts = [
        count_of(number, severity.value)
        for severity in Severity
        if (number := sum(each.severity is severity for each in report.findings))
    ]
    if report.baselined:
        parts.append(f"{report.baselined:,} more in the baseline")
    yield ", ".join(parts)
    losing = [each for each in report.findings if each.lost_tokens]
    if len(report.findings) > 1 and losing:
        worst = max(losing, key=lambda each: (each.cost_usd or 0, each.lost_tokens))
        yield f"first to mend: {worst.code} {worst.name}; `stemcache rule {worst.code}` says more"
