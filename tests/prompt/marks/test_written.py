"""What is told to be written is what the simulated cache finds, also where turns are large."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import pytest

from benchmarks.placement.marks import shaped
from stemcache.prompt.conversation.conversation import Conversation
from stemcache.prompt.marks.breakpoints import endings
from stemcache.prompt.marks.memory import Memory
from stemcache.prompt.marks.placement import Placed, Placement
from stemcache.prompt.marks.written import written_by
from stemcache.prompt.message import Message
from stemcache.prompt.part import Text
from stemcache.prompt.request import Layout
from stemcache.prompt.segment import static, turn
from stemcache.prompt.stability import Stability
from stemcache.provider.book import load_book
from stemcache.provider.cache.simulate import PromptCache
from stemcache.trace.spans.sketch import TextMemo
from tests.prompt.placing import laid_of, piece

BOOK = load_book()
ANTHROPIC = BOOK.rule("anthropic", "claude-sonnet-5-5")
OPENAI = BOOK.rule("openai-5.6", "gpt-5.6")


def _placement(*marks: Placed, implicit: bool = True) -> Placement:
    return Placement(
        marks=marks,
        expected_usd=None,
        expected_read_tokens=0.0,
        expected_written_tokens=0.0,
        implicit=implicit,
    )


CHAT = laid_of(
    piece(),
    piece(),
    piece(stability=Stability.SESSION),
    piece(history=True),
    piece(history=True, speaker="assistant"),
    piece(history=True),
    piece(9, Stability.TURN),
)


def test_marks_write_for_the_lifetimes_that_they_ask_for() -> None:
    """The promised end of each; the default where a mark names none, or one that there is not."""
    marks = (Placed(2, "1h"), Placed(3, "9h"), Placed(6))
    assert written_by(CHAT, _placement(*marks), ANTHROPIC) == {2: 3_600.0, 3: 300.0, 6: 300.0}
    assert written_by(CHAT, _placement(), ANTHROPIC) == {}


def test_the_providers_own_mark_writes_too() -> None:
    """OpenAI's at the latest ending, unless it is off."""
    assert endings(CHAT)[-1] == 7
    assert written_by(CHAT, _placement(Placed(3, "12h")), OPENAI) == {3: 43_200.0, 7: 1_800.0}
    off = _placement(Placed(3), implicit=False)
    assert written_by(CHAT, off, OPENAI) == {3: 1_800.0}


@pytest.mark.parametrize("name", ["openai-pre-5.6", "deepseek", "vllm"])
def test_caches_without_marks_keep_what_another_prompt_may_share(name: str) -> None:
    """Behind each stability: who cuts the history shares all before it."""
    assert set(written_by(CHAT, _placement(), BOOK.rule(name))) == {2, 3 + 3}


def test_rules_without_lifetimes_keep_for_ever() -> None:
    """As their placements count."""
    rule = BOOK.rule("minimax-explicit")
    assert not rule.ttls
    assert written_by(CHAT, _placement(Placed(3)), rule) == {3: inf}


@pytest.mark.parametrize(
    ("provider", "model", "options"),
    [("anthropic", "claude-sonnet-5-5", {"max_tokens": 9}), ("openai", "gpt-5.6", {})],
)
def test_an_agent_with_large_turns_reads_what_it_has_written(
    provider: str, model: str, options: Mapping[str, Any]
) -> None:
    """Thirty blocks a turn: the simulated cache finds all but the last one, at a lower price."""
    whole = _played(provider, model, options, Memory())
    alone = _played(provider, model, options, None)
    assert whole.written_tokens < alone.written_tokens / 2
    # Of the last prompt, all but what its own turn has brought.
    assert whole.last_read > 0.85 * whole.last_tokens
    assert whole.expected == pytest.approx(whole.read_tokens, rel=0.01)


@dataclass
class _Played:
    read_tokens: int = 0
    written_tokens: int = 0
    expected: float = 0.0
    last_read: int = 0
    last_tokens: int = 0


def _played(
    provider: str,
    model: str,
    options: Mapping[str, Any],
    memory: Memory | None,
) -> _Played:
    layout = Layout([static("rules", "Be brief. " * 2_000)])
    talk = Conversation()
    found, cache, memo = _Played(), None, TextMemo()
    for number in range(12):
        now_s = number * 100.0
        texts = [Text(f"Line {line} of page {number}. " * 8) for line in range(30)]
        if provider == "openai":
            for text in texts:
                talk.append(Message("assistant", (text,)))
                talk.append(Message("user", (Text("Go on."),)))
        else:
            talk.user(*texts)
        plan = layout.plan(
            provider,
            model,
            talk,
            [turn("now", f"At {number}.")],
            memory=Memory() if memory is None else memory,  # an empty one: nothing is there
            now_s=None if memory is None else now_s,
            options=options,
        )
        if memory is not None:
            plan.sent(memory, now_s=now_s)
        assert plan.rule is not None
        cache = cache or PromptCache(plan.rule)
        _, shape = shaped(plan.body(), plan.api, plan.rule, memo)
        outcome = cache.look(shape, now_s=now_s, scope="")
        cache.keep(shape, outcome, now_s=now_s, readable_s=None, scope="")
        found.read_tokens += outcome.read_tokens
        found.written_tokens += outcome.written_tokens
        if number:  # of the first nothing is known
            found.expected += plan.placement.expected_read_tokens
        found.last_read, found.last_tokens = outcome.read_tokens, shape.tokens
        talk.append(Message("assistant", (Text("Noted."),)))
    return found
