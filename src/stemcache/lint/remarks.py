"""What a reader must know about a result before believing it, a sentence each."""

from collections.abc import Iterable

from stemcache.lint.collect import Found
from stemcache.lint.figures import count_of
from stemcache.lint.finding import Total
from stemcache.lint.tally import Tally
from stemcache.lint.visible import listed
from stemcache.provider.rule import Rule
from stemcache.trace.calls.call import Fidelity

__all__ = ["remarks"]

_BILLED_GAP = 0.02
_SILENT = {
    Fidelity.UNORDERED: "the order of keys is not what was sent: rules on key order stay silent",
    Fidelity.RECONSTRUCTED: "requests are put together from a transcript: rules on tools, system "
    "prompt, markers and parameters stay silent",
    Fidelity.TRUNCATED: "texts were cut off: rules on content stay silent",
    Fidelity.REDACTED: "contents were replaced: rules on content stay silent",
    Fidelity.USAGE_ONLY: "there are no request bodies: only usage is judged",
}


def remarks(
    total: Total, tally: Tally, found: Found, *, rules: Iterable[Rule], stale: Iterable[str]
) -> tuple[str, ...]:
    """Most important first."""
    said: list[str] = []
    unresolved = total.rules.get("", 0)
    if unresolved:
        said.append(
            f"{unresolved:,} of {total.calls:,} calls name no provider or model that is known: no "
            "minimum and no money for them, and markers are not judged; name one with --provider, "
            "or an alias in stemcache.toml"
        )
    for fidelity, sentence in _SILENT.items():
        count = total.fidelities.get(str(fidelity), 0)
        if count:
            verb = "is" if count == 1 else "are"
            said.append(f"{count_of(count, 'call')} {verb} {fidelity}: {sentence}")
    judged = total.calls - total.failed
    if judged and tally.predicted:
        said.append(
            f"no cached tokens are reported by {count_of(tally.predicted, 'call')}: what they read "
            "is predicted by rule"
        )
    if judged and tally.estimated:
        said.append(
            f"no prompt tokens are reported by {count_of(tally.estimated, 'call')}: they are "
            "estimated from the text"
        )
    if total.unpriced_calls and total.priced_calls:
        unpriced = count_of(total.unpriced_calls, "call")
        of = f" of {listed(total.unpriced_models)}" if total.unpriced_models else ""
        said.append(f"no price is known for {unpriced}{of}, which no sum of money counts")
    if abs(tally.billed_usd - tally.listed_usd) > _BILLED_GAP * max(tally.billed_usd, 0.01):
        said.append(
            f"the log's own figures of cost come to ${tally.billed_usd:,.2f}, the same calls at "
            f"list prices to ${tally.listed_usd:,.2f}: one of the two counts cached tokens "
            "otherwise, or prices differ"
        )
    if found.trifles:
        said.append(
            f"{count_of(found.trifles, 'cause')} of less than 0.1% of the spend left out: "
            f"{found.trifling_tokens:,} tokens"
        )
    for rule in rules:
        low, high = rule.minimum_tokens.low, rule.minimum_tokens.high
        if low < high and tally.shortest.get(rule.name, high) < high:
            said.append(
                f"{rule.name}: sources give {low:,} to {high:,} tokens as the minimum; "
                f"{rule.minimum_tokens.likely:,} is used"
            )
    said.extend(stale)
    return tuple(said)
