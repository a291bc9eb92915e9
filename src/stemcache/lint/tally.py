"""Sums over a log: calls, tokens, money, and predicted against reported reads."""

from collections import Counter
from collections.abc import Iterable, Mapping

from stemcache.lint.finding import Reconciliation, Total
from stemcache.lint.spend import Spend
from stemcache.lint.timing import Label
from stemcache.provider.usage import Usage
from stemcache.trace.calls.call import Call

__all__ = ["Tally"]

_MOST_ROUTES = 1_000
_MOST_MODELS = 1_000
_LONGEST_MODEL = 200
_MOST_TOLD = 100


class Tally:
    """Adds up; everything is O(1) a call."""

    def __init__(self) -> None:
        self.calls = 0
        self.failed = 0
        self.cold = 0
        self.estimated = 0
        """Calls whose prompt tokens were not reported."""
        self.predicted = 0
        """Calls whose read tokens were not reported."""
        self.skipped: Counter[str] = Counter()
        self.rules: Counter[str] = Counter()
        self.billed_usd = 0.0
        """What the log itself says of the cost of calls, and what the same calls come to."""
        self.listed_usd = 0.0
        self.shortest: dict[str, int] = {}
        """Tokens of the shortest prompt under each rule."""
        self.fidelities: Counter[str] = Counter()
        self.prompt_tokens = 0
        self.input_cost_usd = 0.0
        self._routes: set[str] = set()
        self._prompt_reported = 0
        self._read = 0
        self._written = 0
        self._output = 0
        self._lost = 0
        self._cost_usd = 0.0
        self._priced = 0
        self._unpriced = 0
        self._unpriced_models: Counter[str] = Counter()
        self._first_s: float | None = None
        self._last_s: float | None = None
        self._agree = 0
        self._compared = 0
        self._predicted_tokens = 0
        self._reported_tokens = 0
        self._remainder: Counter[str] = Counter()
        self._by_label: Counter[str] = Counter()

    def seen(self, call: Call) -> None:
        """A call of any outcome."""
        self.calls += 1
        self.fidelities[str(call.fidelity)] += 1
        if call.route is not None and len(self._routes) < _MOST_ROUTES:
            self._routes.add(call.route)
        if call.time_s is not None:
            first_s, last_s = self._first_s, self._last_s
            self._first_s = call.time_s if first_s is None else min(call.time_s, first_s)
            self._last_s = call.time_s if last_s is None else max(call.time_s, last_s)

    def used(self, usage: Usage, *, read_tokens: int, prompt_tokens: int, lost_tokens: int) -> None:
        """What one call's prompt came to. `usage` is as reported."""
        self.prompt_tokens += prompt_tokens
        if usage.prompt_tokens is None:
            self.estimated += 1
        else:
            self._prompt_reported += usage.prompt_tokens
        if usage.read_tokens is None:
            self.predicted += 1
        self._read += read_tokens
        self._written += usage.written_tokens or 0
        self._output += usage.output_tokens or 0
        self._lost += lost_tokens

    def near(self, rule: str, prompt_tokens: int) -> None:
        """How short prompts are under a rule: a minimum that sources contest may matter."""
        self.shortest[rule] = min(prompt_tokens, self.shortest.get(rule, prompt_tokens))

    def paid(
        self, spent: Spend, billed_usd: float | None = None, *, unpriced: str | None = None
    ) -> None:
        """What one call cost, and what the log says that it did.

        `unpriced` is the model's name, where no price is known for it.
        """
        name = (unpriced or "")[:_LONGEST_MODEL]
        if name and (name in self._unpriced_models or len(self._unpriced_models) < _MOST_MODELS):
            self._unpriced_models[name] += 1
        if billed_usd is not None and spent.cost is not None and spent.cost.output_usd is not None:
            self.billed_usd += billed_usd
            self.listed_usd += spent.cost.input_usd + spent.cost.output_usd
        if spent.cost is None:
            self._unpriced += 1
            return
        self._priced += 1
        self.input_cost_usd += spent.cost.input_usd
        self._cost_usd += spent.cost.input_usd + (spent.cost.output_usd or 0.0)

    def compared(
        self, predicted: int, reported: int, parts: Iterable[tuple[Label, int]], *, unseen: bool
    ) -> None:
        """One call's prediction beside its report.

        `parts` add up to what was predicted but not read. `unseen`: more was read than the log
        explains.
        """
        self._compared += 1
        self._predicted_tokens += predicted
        self._reported_tokens += reported
        labels: list[tuple[str, int]] = [(label, tokens) for label, tokens in parts]
        if reported > predicted:
            labels.append(("unseen-traffic" if unseen else "rounding", predicted - reported))
        if all(label == "rounding" for label, _ in labels):
            self._agree += 1
        for label, tokens in labels:
            self._remainder[label] += tokens
            self._by_label[label] += 1

    def total(self, *, repeated: int, skipped: Mapping[str, int]) -> Total:
        """All sums."""
        priced = self._priced > 0
        return Total(
            calls=self.calls,
            failed=self.failed,
            repeated=repeated,
            skipped=dict(self.skipped + Counter(skipped)),
            cold=self.cold,
            prompt_tokens=self.prompt_tokens,
            prompt_tokens_reported=self._prompt_reported,
            read_tokens=self._read if self.prompt_tokens else None,
            written_tokens=self._written,
            attainable_tokens=min(self.prompt_tokens, self._read + self._lost),
            lost_tokens=self._lost,
            cost_usd=self._cost_usd if priced else None,
            input_cost_usd=self.input_cost_usd if priced else None,
            unpriced_calls=self._unpriced,
            priced_calls=self._priced,
            output_tokens=self._output,
            span_s=None
            if self._first_s is None or self._last_s is None
            else self._last_s - self._first_s,
            routes=tuple(sorted(self._routes)),
            rules=dict(self.rules),
            fidelities=dict(self.fidelities),
            unpriced_models=tuple(
                name for name, _ in self._unpriced_models.most_common(_MOST_TOLD)
            ),
        )

    def reconciliation(self) -> Reconciliation:
        """Of the calls that reported what they read."""
        return Reconciliation(
            calls=self._compared,
            exact=self._agree,
            predicted_tokens=self._predicted_tokens,
            reported_tokens=self._reported_tokens,
            remainder=dict(self._remainder),
            calls_by_label=dict(self._by_label),
        )
