"""What a policy is told by the simulator."""

import numpy as np
import pytest

from stemcache.lab.policy_cache import PolicyCache
from stemcache.lab.visit import Visit
from stemcache.policy import evict
from stemcache.policy.evict.odds import Odds, OddsState


def visit(ids: list[int], now_s: float, output_tokens: int | None) -> Visit:
    """A prompt of full blocks."""
    return Visit(
        "",
        np.array(ids, np.int64),
        512,
        512 * len(ids),
        now_s,
        len(ids),
        output_tokens=output_tokens,
    )


def test_a_policy_is_told_how_long_answers_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a request, when its lease lets go; None where the trace does not say."""
    told: list[tuple[int, float, int | None]] = []
    ended = Odds.ended

    def listen(self: Odds, state: OddsState, output_tokens: int | None) -> None:
        ended(self, state, output_tokens)
        told.append((state.turn.blocks, state.turn.now_s, output_tokens))

    monkeypatch.setattr(Odds, "ended", listen)
    cache = PolicyCache(evict.make("odds"), 8)
    hits = [
        cache.feed(visit([1, 2, 3], 0.0, 40)),
        cache.feed(visit([1, 2, 3, 4], 5.0, None)),
        cache.feed(visit([9, *range(10, 20)], 6.0, 0)),
    ]

    assert [0, 3, 0] == hits
    assert [(3, 0.0, 40), (4, 5.0, None), (8, 6.0, 0)] == told
