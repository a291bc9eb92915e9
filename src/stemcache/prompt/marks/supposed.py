"""What a conversation's earlier requests are likely to have left, told by its history alone.

```
pieces       rules │ q1 │ call │ 25 results │ call │ 25 results │ now
earlier            └ 1  └──────── 2 ────────┘                        ends of the prompts before
supposed         ▲ .99               2 ▲ .99                         and what all of them share
```
Whoever keeps no `Memory` still sends the history, and an answer in it was asked for with all that
stands before it. So those places are likely marked, and this request may have to mark one again:
where a turn adds more than a look-back, and wherever a cache is read at marks alone.

A history that ends with an answer has its question in the turn, and so had the requests before:
their prompts ended, but for the turn, behind the answers before. Where nobody would have marked,
because the forecast says that it does not pay, nothing is supposed.

Supposed wrongly (answers that nobody asked for, another model before) a mark writes what the marks
behind it write anyway. A `Memory` knows, and knows when.
"""

from math import inf

from stemcache.prompt.marks.breakpoints import is_answer, without_answers
from stemcache.prompt.marks.forecast import Forecast
from stemcache.prompt.marks.ground import before
from stemcache.prompt.marks.placement import Held
from stemcache.prompt.marks.terms import Terms, terms_of
from stemcache.prompt.marks.why import ends_of_stabilities
from stemcache.prompt.message import Message
from stemcache.prompt.piece import Laid
from stemcache.prompt.stability import Stability
from stemcache.provider.price import Price
from stemcache.provider.rule import Rule

__all__ = ["supposed"]

_MOST_PROMPTS = 3
"""Earlier prompts that are looked for. The latest decides, unless it was too short to be kept."""
_LEAVES_ENTRIES = frozenset({"breakpoints", "markers", "persisted-units", "units"})
"""Kinds of rules. An object is made by the caller, who knows what it holds."""


def supposed(
    laid: Laid,
    *,
    rule: Rule,
    price: Price | None,
    forecast: Forecast,
    most: int | None = None,
) -> tuple[Held, ...]:
    """For `place`, ascending; nothing where the history has no answer. Linear; changes nothing.

    The request before left its end with the chance that a conversation which goes on does so within
    the default lifetime, the one before that with this chance twice, and so on. What stands before
    the history was left with the chance that the forecast has for it. `most` is that of `place`:
    with one mark a request cannot both read what is held and write its own end, so that the one
    before it may have done either, and nothing is supposed.
    """
    terms = terms_of(rule, price, prompt_tokens=laid.tokens()[-1])
    marked = rule.kind in {"breakpoints", "markers"}
    if rule.kind not in _LEAVES_ENTRIES or terms is None:
        return ()
    if marked and any(one is not None and one < 2 for one in (rule.most_markers, most)):
        return ()
    if rule.kind == "breakpoints":
        laid = without_answers(laid)
    ends = _ends(laid)
    if ends is None:
        return ()
    lasts_s = rule.ttls[0].low_s if rule.ttls else inf
    chances: dict[int, float] = {}
    for back, end in enumerate(ends[:_MOST_PROMPTS], 1):
        at = _bearing(laid, end) if marked else end
        if at and _pays(terms, forecast, at):
            chances.setdefault(at, _goes_on(forecast, at, lasts_s) ** back)
    shared = before(laid, lambda piece: isinstance(piece.source, Message))
    for end in ends_of_stabilities(laid):
        at = _bearing(laid, end) if marked else end
        if end <= shared and at and _pays(terms, forecast, at):
            chances.setdefault(at, _goes_on(forecast, at, lasts_s))
    return tuple(Held(at, chance) for at, chance in sorted(chances.items()))


def _ends(laid: Laid) -> list[int] | None:
    """Where what earlier prompts share with this one ended, the latest first; None before any."""
    stable = before(laid, lambda piece: piece.stability is Stability.TURN)
    starts = [at for at in range(stable) if _answers(laid, at) and not _answers(laid, at - 1)]
    if not starts:
        return None
    if not _answers(laid, stable - 1):
        return starts[::-1]
    behind = [at + 1 for at in range(stable) if _answers(laid, at) and not _answers(laid, at + 1)]
    return behind[-2::-1]


def _answers(laid: Laid, at: int) -> bool:
    """Whether piece `at` is there, and of an answer."""
    return 0 <= at < len(laid.pieces) and is_answer(laid.pieces[at])


def _bearing(laid: Laid, end: int) -> int:
    """The last boundary up to there that can bear a mark; 0 for none."""
    return next((at for at in range(end, 0, -1) if laid.pieces[at - 1].markable), 0)


def _goes_on(forecast: Forecast, at: int, lasts_s: float) -> float:
    """The chance that this request, since it has come, comes in time."""
    ever = forecast.alive(at, inf)
    return min(forecast.alive(at, lasts_s) / ever, 1.0) if ever > 0 else 0.0


def _pays(terms: Terms, forecast: Forecast, at: int) -> bool:
    """Whether an average request is cheaper with a mark there."""
    for one in terms.lifetimes:
        alive = forecast.alive(at, one.lasts_s)
        if alive * terms.read + (1 - alive) * one.write < terms.input:
            return True
    return False
