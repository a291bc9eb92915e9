"""What a cache finds in the requests of a run, and what it could find at most.

```
attainable   the last agent's prompts · a cache that forgets nothing, has no minimum, needs no marks
any order    the same blocks in whichever order: of each request, what it has in common with the one
             earlier request that it has most in common with. No cache of prefixes can find more.
```
Both are shares of all prompt tokens; the first request of all can find nothing, so neither is 100%.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from examples.agent.loop import Sent
from stemcache.lint.analyse import Analysis
from stemcache.lint.options import Options
from stemcache.provider.book import load_book
from stemcache.trace.calls.open import open_calls
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.sketch import sketch
from stemcache.wire.api import Api

__all__ = ["Ruled", "any_order", "attainable", "longest_prefixes", "predicted", "write_log"]


@dataclass(frozen=True, slots=True)
class Ruled:
    """A run under a provider's rule, its tokens estimated at four bytes each."""

    prompt_tokens: int
    read_tokens: int
    input_usd: float

    @property
    def hit_rate(self) -> float:
        """Share of prompt tokens that were read."""
        return self.read_tokens / self.prompt_tokens


def write_log(sent: Iterable[Sent], path: Path) -> None:
    """A log that `stemcache lint` reads: a body a line, and when it was sent."""
    with path.open("w", encoding="utf-8") as file:
        for one in sent:
            record = {"time": one.at.now.isoformat(), "body": one.body}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def predicted(log: Path) -> Ruled:
    """What `stemcache lint` predicts of a log, by the rule and prices of the model it names."""
    with open_calls([str(log)]) as calls:
        options = Options(today=date(2026, 11, 30))
        analysis = Analysis(options, load_book(), calls.reread.body)
        for call in calls:
            analysis.add(call)
        total = analysis.report(repeated=0, skipped={}).total
    assert total.read_tokens is not None and total.input_cost_usd is not None, "both are known"
    return Ruled(total.prompt_tokens, total.read_tokens, total.input_cost_usd)


def attainable(bodies: Sequence[Mapping[str, Any]], api: Api) -> float:
    """See the module. Of whole blocks: a block that only begins alike counts as another."""
    seen: set[int] = set()
    found = 0
    total = 0
    for body in bodies:
        drawn = sketch(prompt_of(body, api))
        ends = drawn.span_bytes.cumsum().tolist()
        prefixes = dict(zip(drawn.span_chain.tolist(), ends, strict=True))
        found += max((end for chain, end in prefixes.items() if chain in seen), default=0)
        total += ends[-1]
        seen |= prefixes.keys()
    return found / total


def any_order(bodies: Sequence[Mapping[str, Any]], api: Api) -> float:
    """See the module."""
    earlier: list[Counter[tuple[str, str, str]]] = []
    found = 0
    total = 0
    for body in bodies:
        spans = prompt_of(body, api).spans
        blocks = Counter((span.role, span.label, span.text) for span in spans)
        found += max((_bytes(blocks & other) for other in earlier), default=0)
        total += _bytes(blocks)
        earlier.append(blocks)
    return found / total


def longest_prefixes(prompts: Sequence[Sequence[int]]) -> float:
    """The same as `attainable`, of tokens: each shares its longest prefix with any earlier one."""
    found = 0
    for number, tokens in enumerate(prompts):
        # One token is computed whatever is kept, for its logits are wanted.
        found += max((_shared(tokens[:-1], other) for other in prompts[:number]), default=0)
    return found / sum(map(len, prompts))


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    for at, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            return at
    return min(len(one), len(other))


def _bytes(blocks: Counter[tuple[str, str, str]]) -> int:
    return sum(len(text.encode()) * count for (_, _, text), count in blocks.items())
