"""Without a memory: what the history tells is enough to read what was written."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import pytest

from benchmarks.placement.marks import shaped
from stemcache.prompt.conversation.conversation import Conversation
from stemcache.prompt.marks.breakpoints import is_answer
from stemcache.prompt.marks.forecasts import Poisson, a_request_a_minute
from stemcache.prompt.marks.memory import Memory
from stemcache.prompt.marks.placement import Held
from stemcache.prompt.marks.supposed import supposed
from stemcache.prompt.message import Message
from stemcache.prompt.part import Text, ToolCall, ToolResult
from stemcache.prompt.piece import Laid
from stemcache.prompt.remark.marked import marked
from stemcache.prompt.request import Layout, Plan
from stemcache.prompt.segment import Segment, session, static, turn
from stemcache.prompt.stability import Stability
from stemcache.prompt.tool import Tool
from stemcache.provider.book import load_book
from stemcache.provider.cache.simulate import PromptCache
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Shape
from stemcache.trace.spans.sketch import TextMemo
from stemcache.wire.api import Api

BOOK = load_book()
STEPS = 20
OPTIONS = {Api.MESSAGES: {"max_tokens": 9}}
LAYOUT = Layout(
    [static("rules", "Be brief. " * 1_000), session("who", "Ann. " * 100)],
    [Tool(name="find", description="Finds.", schema={"type": "object", "properties": {}})],
)
TARGETS = [
    ("anthropic", "claude-sonnet-5", Api.MESSAGES),
    ("bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0", Api.CONVERSE),
    ("openai", "gpt-5.6", Api.CHAT),
    ("openai", "gpt-5.6", Api.RESPONSES),
]

_INNER = ("content", "output")
_MARKS = ("cache_control", "prompt_cache_breakpoint")


@dataclass
class Played:
    prompt_tokens: int = 0
    read_tokens: int = 0
    written: list[tuple[str | None, int]] = field(default_factory=list)
    """Lifetimes and tokens, one after another."""
    attainable_tokens: int = 0
    """What each prompt has in common with the one before, in whole blocks."""
    plans: list[Plan] = field(default_factory=list)


def play(
    target: tuple[str, str, Api],
    prompts: Sequence[tuple[Conversation, Sequence[Segment]]],
    memory: Memory | None = None,
    *,
    cache: PromptCache | None = None,
    forgets: bool = False,
    most: int | None = None,
) -> Played:
    """One conversation's requests, 20 seconds apart, against the simulated cache."""
    provider, model, api = target
    played, memo = Played(), TextMemo()
    earlier: Shape | None = None
    for number, (talk, behind) in enumerate(prompts):
        now_s = number * 20.0
        plan = LAYOUT.plan(
            provider,
            model,
            talk,
            behind,
            api=api,
            options=OPTIONS.get(api, {}),
            memory=Memory() if forgets else memory,
            now_s=None if memory is None else now_s,
            most=most,
        )
        if memory is not None:
            plan.sent(memory, now_s=now_s)
        assert plan.rule is not None
        cache = cache or PromptCache(plan.rule)
        _, shape = shaped(plan.body(), plan.api, plan.rule, memo)
        outcome = cache.look(shape, now_s=now_s, scope="")
        cache.keep(shape, outcome, now_s=now_s, readable_s=None, scope="")
        played.prompt_tokens += shape.tokens
        played.read_tokens += outcome.read_tokens
        played.written += outcome.written_by_ttl
        if earlier is not None:
            played.attainable_tokens += _common_tokens(earlier, shape)
        earlier = shape
        played.plans.append(plan)
    return played


def _common_tokens(one: Shape, other: Shape) -> int:
    chains = {place.chain for place in one.positions}
    return max((at.end_tokens for at in other.positions if at.chain in chains), default=0)


def agent(
    calls: int, *, timed: bool, steps: int = STEPS
) -> list[tuple[Conversation, Sequence[Segment]]]:
    """A question, and then so many parallel calls a step."""
    prompts: list[tuple[Conversation, Sequence[Segment]]] = []
    talk = Conversation()
    talk.user("Which of the boats are free? " * 20)
    for step in range(steps):
        prompts.append((talk.fork(), [turn("now", f"At step {step}. " * 9)] if timed else []))
        made = [
            ToolCall(id=f"c{step}x{at}", name="find", arguments=json.dumps({"n": at}))
            for at in range(calls)
        ]
        talk.append(Message("assistant", (Text("I look. " * 9), *made)))
        talk.results(
            *(ToolResult(call_id=one.id, parts=(Text(f"Found {one.id}. " * 20),)) for one in made)
        )
    return prompts


@pytest.mark.parametrize("target", TARGETS, ids=lambda one: f"{one[0]}-{one[2]}")
@pytest.mark.parametrize("timed", [True, False], ids=["timed", "bare"])
@pytest.mark.parametrize("calls", [1, 2, 10, 25, 40])
def test_an_agent_without_a_memory_reads_what_one_with_it_does(
    target: tuple[str, str, Api], *, timed: bool, calls: int
) -> None:
    """However many calls a step has, and whether or not something stands behind the history."""
    prompts = agent(calls, timed=timed)
    alone, whole = play(target, prompts), play(target, prompts, Memory())
    assert alone.read_tokens >= 0.95 * whole.read_tokens
    assert alone.read_tokens >= 0.95 * alone.attainable_tokens
    assert alone.attainable_tokens > 0.8 * alone.prompt_tokens


@pytest.mark.parametrize("target", TARGETS, ids=lambda one: f"{one[0]}-{one[2]}")
def test_what_it_would_be_without_supposing_anything(target: tuple[str, str, Api]) -> None:
    """The history is lost, but for an API that counts a run of results as one."""
    prompts = agent(25, timed=True, steps=8)
    alone, nothing = play(target, prompts), play(target, prompts, forgets=True)
    if target[0] == "anthropic":
        assert nothing.read_tokens == alone.read_tokens
    else:
        assert nothing.read_tokens < 0.5 * alone.read_tokens


@pytest.mark.parametrize("target", TARGETS[:2], ids=lambda one: one[0])
@pytest.mark.parametrize("calls", [9, 10, 11, 25])
def test_a_free_mark_makes_the_look_back_no_matter_of_a_position(
    target: tuple[str, str, Api], calls: int
) -> None:
    """Where runs are counted block by block, and the look-back is one shorter, all is read."""
    rule = LAYOUT.plan(*target[:2]).rule
    assert rule is not None
    assert rule.look_back is not None
    narrow = replace(rule, look_back=rule.look_back - 1, runs_collapse=False)
    prompts = agent(calls, timed=True, steps=8)
    played = play(target, prompts, cache=PromptCache(narrow))
    assert played.read_tokens >= 0.95 * played.attainable_tokens


@pytest.mark.parametrize("target", TARGETS, ids=lambda one: f"{one[0]}-{one[2]}")
def test_questions_in_the_turn_are_found_too(target: tuple[str, str, Api]) -> None:
    """The history ends with an answer each time; many blocks come with each question."""
    prompts, talk = [], Conversation()
    for step in range(10):
        question = [Text(f"Line {line} of {step}. " * 9) for line in range(30)]
        prompts.append((talk.fork(), [turn("question", *question)]))
        talk.user(*question)
        talk.append(Message("assistant", (Text(f"Noted, {step}. " * 9),)))
    alone, whole = play(target, prompts), play(target, prompts, Memory())
    assert alone.read_tokens >= 0.95 * whole.read_tokens
    ends = [plan.placement.marks[-1].boundary for plan in alone.plans[1:]]
    spoken = [_speaker(plan, end) for plan, end in zip(alone.plans[1:], ends, strict=True)]
    assert set(spoken) == ({"user"} if target[0] == "openai" else {"assistant"})


def _speaker(plan: Plan, boundary: int) -> str:
    source = plan.laid.pieces[boundary - 1].source
    assert isinstance(source, Message)
    return source.speaker


@pytest.mark.parametrize("target", TARGETS, ids=lambda one: f"{one[0]}-{one[2]}")
def test_requests_are_the_same_again_and_leave_what_was_sent(target: tuple[str, str, Api]) -> None:
    """Equal input, equal body; all before a boundary that was marked stays as it was."""
    prompts = agent(25, timed=True, steps=5)
    one, other = play(target, prompts), play(target, prompts)
    options = OPTIONS.get(target[2], {})
    bodies = [plan.body(options) for plan in one.plans]
    assert bodies == [plan.body(options) for plan in other.plans]
    for plan, earlier, later in zip(one.plans, bodies, bodies[1:], strict=False):
        blocks, more = list(_blocks(earlier)), list(_blocks(later))
        kept = len(blocks) - sum(1 for at in plan.laid.pieces if at.stability is Stability.TURN)
        assert kept > 0
        assert more[:kept] == blocks[:kept]


def _blocks(body: dict[str, Any]) -> Iterator[Any]:
    """What the model is shown, marks left out."""
    for message in [*body.get("system", []), *body.get("messages", body.get("input", []))]:
        inner = message.get("content", message.get("output"))
        beside = {name: value for name, value in message.items() if name not in _INNER}
        for block in inner if isinstance(inner, list) else [inner or beside]:
            if isinstance(block, dict) and "cachePoint" in block:
                continue
            names = {} if not isinstance(block, dict) else block
            yield {name: value for name, value in names.items() if name not in _MARKS} or block


@pytest.mark.parametrize("target", TARGETS, ids=lambda one: f"{one[0]}-{one[2]}")
@pytest.mark.parametrize("timed", [True, False], ids=["timed", "bare"])
def test_what_is_supposed_wrongly_costs_nothing(
    target: tuple[str, str, Api], *, timed: bool
) -> None:
    """Answers that nobody asked for, as in examples: the same is written as without them."""
    first = agent(25, timed=timed, steps=5)[4:]
    alone, nothing = play(target, first), play(target, first, forgets=True)
    assert sum(tokens for _, tokens in alone.written) > 0.8 * alone.prompt_tokens
    assert _by_lifetime(alone) == _by_lifetime(nothing)


def _by_lifetime(played: Played) -> dict[str | None, int]:
    found: dict[str | None, int] = {}
    for name, tokens in played.written:
        found[name] = found.get(name, 0) + tokens
    return found


def test_nothing_is_supposed_before_an_answer() -> None:
    """The first request is an average one."""
    laid, rule, forecast = _laid(agent(2, timed=True, steps=1)[0][0])
    assert supposed(laid, rule=rule, price=None, forecast=forecast) == ()


def test_ends_of_earlier_prompts_are_held_the_latest_most_likely() -> None:
    """The forecast's chance for each request in between; what is shared as the forecast has it."""
    talk = agent(2, timed=True, steps=6)[5][0]
    laid, rule, forecast = _laid(talk)
    held = supposed(laid, rule=rule, price=None, forecast=forecast)
    starts = [
        at for at, one in enumerate(laid.pieces) if isinstance(one.part, Text) and is_answer(one)
    ]
    in_time = forecast.alive(starts[-1], 300) / forecast.alive(starts[-1], inf)
    found = {one.boundary: one.alive for one in held}
    assert list(found) == [2, *starts[-3:]]
    assert [found[at] for at in starts[-3:]] == pytest.approx([in_time**n for n in (3, 2, 1)])
    assert found[2] == forecast.alive(2, 300)


@pytest.mark.parametrize(
    ("rate", "kept"), [(1 / 60, True), (1 / 5_000, False), (0.0, False)], ids=str
)
def test_what_nobody_would_have_marked_is_not_supposed(rate: float, *, kept: bool) -> None:
    """Where the history comes too seldom, only what is shared is held."""
    laid, rule, _ = _laid(agent(2, timed=True, steps=3)[2][0])
    forecast = Poisson(laid, {Stability.STATIC: 1.0, Stability.SESSION: rate})
    held = supposed(laid, rule=rule, price=None, forecast=forecast)
    assert [one.boundary for one in held][:1] == [2]
    assert any(one.boundary > 3 for one in held) is kept


@pytest.mark.parametrize("name", ["gemini-explicit", "mistral"])
def test_nothing_is_supposed_of_caches_that_cannot_tell(name: str) -> None:
    """An object is the caller's to know; of others nothing is known."""
    laid, _, forecast = _laid(agent(2, timed=True, steps=3)[2][0])
    assert supposed(laid, rule=BOOK.rule(name), price=None, forecast=forecast) == ()


def test_units_are_expected_to_be_read_up_to_the_prompt_before() -> None:
    """No mark is needed, and the question that is new is not expected to be there."""
    talk = agent(2, timed=True, steps=4)[3][0]
    plan = LAYOUT.plan("openai", "gpt-5.5", talk)
    before = LAYOUT.plan("openai", "gpt-5.5", Conversation(talk.messages[:-2]))
    end = before.laid.tokens()[-1]
    assert 0.95 * (end - 128) <= plan.placement.expected_read_tokens <= end


@pytest.mark.parametrize("target", TARGETS, ids=lambda one: f"{one[0]}-{one[2]}")
def test_two_marks_are_enough_and_one_is_not_asked_for_both(target: tuple[str, str, Api]) -> None:
    """One reads what the request before wrote, the other writes; one alone writes."""
    prompts = agent(25, timed=True, steps=8)
    two, one = play(target, prompts, most=2), play(target, prompts, most=1)
    assert two.read_tokens >= 0.95 * two.attainable_tokens
    last = one.plans[-1]
    end = max(at for at, piece in enumerate(last.laid.pieces, 1) if piece.markable)
    assert [mark.boundary for mark in last.placement.marks] == [end]


@pytest.mark.parametrize(("most", "why"), [(1, "all 1 marks earn more"), (0, "no mark may be set")])
def test_where_no_mark_is_left_to_read_it_why_says_so(most: int, why: str) -> None:
    """One mark at the end cannot read what 50 blocks are behind; two do."""
    talk = agent(25, timed=True, steps=4)[3][0]
    for left in (most, 2):
        plan = LAYOUT.plan(*TARGETS[1][:2], talk, most=left, held=[Held(3, 0.6)])
        unread = [one for one in plan.placement.why if "are not read from there" in one]
        assert len(unread) == (1 if left == most else 0)
        assert all(why in one and "boundary 3 (system)" in one for one in unread)


def test_a_body_of_a_framework_is_read_too() -> None:
    """Marks set on bodies alone bridge a step of 25 calls at Bedrock."""
    target = TARGETS[1]
    prompts = agent(25, timed=False, steps=6)
    cache: PromptCache | None = None
    read = common = 0
    memo = TextMemo()
    earlier: Shape | None = None
    for number, (talk, _) in enumerate(prompts):
        body = LAYOUT.request(*target[:2], talk, most=0)
        made = marked(body, target[2], provider="bedrock").body
        rule = BOOK.rule_for("bedrock", target[1], marked=True)
        assert rule is not None
        cache = cache or PromptCache(rule)
        _, shape = shaped(made, target[2], rule, memo)
        outcome = cache.look(shape, now_s=number * 20.0, scope="")
        cache.keep(shape, outcome, now_s=number * 20.0, readable_s=None, scope="")
        read += outcome.read_tokens
        common += 0 if earlier is None else _common_tokens(earlier, shape)
        earlier = shape
    assert read >= 0.95 * common


def _laid(talk: Conversation) -> tuple[Laid, Rule, Poisson]:
    plan = LAYOUT.plan("anthropic", "claude-sonnet-5", talk, [turn("now", "At one.")])
    assert plan.rule is not None
    return plan.laid, plan.rule, a_request_a_minute(plan.laid)
