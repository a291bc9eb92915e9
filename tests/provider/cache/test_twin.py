"""The simulator against its dumb twin, under random histories."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemcache.provider.cache.simulate import PromptCache
from stemcache.provider.rule import Rule, Ttl
from stemcache.provider.shape import Mark, Shape
from tests.provider.cache.prompts import a_rule, block, shape
from tests.provider.cache.twin import Twin

SHORT = Ttl(name="5m", low_s=3.0, high_s=6.0)
LONG = Ttl(name="1h", low_s=9.0, high_s=9.0)

RULES = {
    "markers": a_rule(
        "markers", minimum=6, ttls=(SHORT, LONG), most_markers=3, look_back=3, runs_collapse=True
    ),
    "markers-plain": a_rule("markers", ttls=(SHORT,), look_back=4, refreshed_by_reads=False),
    "markers-free": a_rule("markers", minimum=3),
    "breakpoints": a_rule("breakpoints", minimum=6, ttls=(SHORT, LONG), most_markers=4),
    "units": a_rule("units", minimum=6, unit_tokens=4, ttls=(SHORT,)),
    "units-answers": a_rule("units", unit_tokens=1, keeps_answer=True, ttls=(SHORT,)),
    "persisted": a_rule("persisted-units", minimum=4, unit_tokens=2, keeps_answer=True),
    "persisted-short": a_rule("persisted-units", ttls=(SHORT,), refreshed_by_reads=False),
}

MARKS = st.sampled_from([None, None, None, None, Mark(), Mark("5m"), Mark("1h"), Mark("7d")])
KINDS = st.sampled_from(
    [
        ("user", None),
        ("assistant", None),
        ("assistant", "tool_use"),
        ("user", "tool_result"),
        ("tool", None),
        ("system", None),
        ("developer", None),
        ("", None),
    ]
)


@st.composite
def blocks(draw: st.DrawFn) -> dict[str, Any]:
    """A block of one of few texts, so that prompts meet again."""
    role, run = draw(KINDS)
    text = draw(st.sampled_from(["a", "b", "a b", "a c", "b b c"]))
    return block(
        text,
        draw(st.sampled_from([2, 3, 6, 9])) if " " not in text else 6,
        role,
        mark=draw(MARKS),
        run=run,  # type: ignore[arg-type]
        ends=draw(st.booleans()) or role == "",
    )


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[Shape, float | None, float | None, str, str]]:
    """Prompts that grow, are cut off and changed, sent by few callers at growing times."""
    sent: list[tuple[Shape, float | None, float | None, str, str]] = []
    earlier: list[list[dict[str, Any]]] = [draw(st.lists(blocks(), min_size=1, max_size=6))]
    now_s = 0.0
    for _ in range(draw(st.integers(2, 9))):
        base = draw(st.sampled_from(earlier))
        cut = draw(st.sampled_from([len(base), len(base), *range(len(base))]))
        moved = [{**one, "mark": draw(MARKS)} for one in base[:cut]]
        one = moved + draw(st.lists(blocks(), min_size=0 if moved else 1, max_size=4))
        earlier.append(one)
        one = [
            {**here, "ends": here["ends"] or after is None or after["role"] != here["role"]}
            for here, after in zip(one, [*one[1:], None], strict=True)
        ]
        now_s += draw(st.sampled_from([0.0, 1.0, 2.0, 5.0, 10.0]))
        known = draw(st.sampled_from([True, True, True, True, False]))
        prompt = shape(
            *one,
            fine_tokens=1,
            automatic=draw(st.sampled_from([None, Mark(), Mark("1h")])),
            implicit=draw(st.sampled_from([True, True, False])),
            output_tokens=draw(st.sampled_from([None, 0, 5])),
        )
        sent.append(
            (
                prompt,
                now_s if known else None,
                now_s + draw(st.sampled_from([0.0, 1.5, 3.0])) if known else None,
                draw(st.sampled_from(["", "", "", "other"])),
                draw(st.sampled_from(["", "", "x"])),
            )
        )
    return sent


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("routes", ["one", "many"])
def test_the_simulator_agrees_with_its_twin(name: str, routes: str) -> None:
    """Reads, writes and what might have been read are the same, request by request."""
    rule: Rule = RULES[name]
    if routes == "many":
        rule = replace(rule, routing_fields=("/prompt_cache_key",))

    @given(histories())
    @settings(max_examples=10)
    def check(history: list[tuple[Shape, float | None, float | None, str, str]]) -> None:
        cache, twin = PromptCache(rule), Twin(rule)
        for prompt, now_s, readable_s, scope, routing in history:
            if not rule.routing_fields:
                routing = ""  # noqa: PLW2901 - the rule does not know it
            outcome = cache.look(prompt, now_s=now_s, scope=scope, routing=routing)
            cache.keep(
                prompt,
                outcome,
                now_s=now_s,
                readable_s=readable_s,
                scope=scope,
                routing=routing,
                answered_s=None,
            )
            told = twin.send(
                prompt, now_s=now_s, readable_s=readable_s, scope=scope, routing=routing
            )
            assert outcome.read_tokens == told.read
            assert outcome.written_tokens == told.written
            assert outcome.expired_tokens == told.expired
            assert outcome.raced_tokens == told.raced
            assert outcome.routed_tokens == told.routed
            assert outcome.doubtful_tokens == told.doubtful
            assert sum(tokens for _, tokens in outcome.written_by_ttl) == told.written

    check()
