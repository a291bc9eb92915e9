"""Requests with a memory: what the conversation's earlier requests have written is found again."""

from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.conversation.conversation import Conversation
from stemcache.prompt.marks.memory import Memory
from stemcache.prompt.marks.placement import Held
from stemcache.prompt.message import Message
from stemcache.prompt.part import Text
from stemcache.prompt.request import Layout
from stemcache.prompt.segment import session, static, turn
from stemcache.prompt.tool import Tool
from stemcache.provider.usage import Usage

TOOL = Tool(name="find", description="Finds.", schema={"type": "object", "properties": {}})
LAYOUT = Layout([static("rules", "Be brief. " * 4_000), session("who", "Ann " * 2_000)], [TOOL])
NOW = turn("now", "It is 05:14:01.")
CLAUDE, GPT = "claude-opus-5-5", "gpt-6-sol"


def _grown(turns: int, blocks: int = 30) -> Conversation:
    """A conversation whose turns add more blocks than a look-back has."""
    conversation = Conversation()
    for number in range(turns):
        if number:
            conversation.append(Message("assistant", (Text("Noted."),)))
        conversation.user(*(f"Line {line} of page {number}. " * 9 for line in range(blocks)))
    return conversation


def _body(memory: Memory | None, talk: Conversation, now_s: float | None = None) -> dict[str, Any]:
    return LAYOUT.request(
        "anthropic", CLAUDE, talk, [NOW], options={"max_tokens": 9}, memory=memory, now_s=now_s
    )


def _marked_blocks(body: dict[str, Any]) -> list[int]:
    """Numbers of the marked blocks of the history."""
    blocks = [block for message in body["messages"] for block in message["content"]]
    return [at for at, block in enumerate(blocks) if "cache_control" in block]


def test_with_a_memory_the_next_request_marks_what_the_one_before_wrote() -> None:
    """Thirty blocks came in between; with nothing held nobody would look so far back."""
    memory = Memory()
    assert _marked_blocks(_body(memory, _grown(1), 0.0)) == [29]
    assert _marked_blocks(_body(memory, _grown(2), 60.0)) == [29, 60]
    assert _marked_blocks(_body(memory, _grown(3), 120.0)) == [60, 91]
    body = LAYOUT.request(
        "anthropic", CLAUDE, _grown(3), [NOW], options={"max_tokens": 9}, memory=Memory()
    )
    assert _marked_blocks(body) == [91]
    assert _marked_blocks(_body(None, _grown(3))) == [60, 91]


def test_a_memory_works_without_a_clock() -> None:
    """Then the forecast tells how likely it is that the request before was in time."""
    memory = Memory()
    _body(memory, _grown(1))
    assert _marked_blocks(_body(memory, _grown(2))) == [29, 60]


@pytest.mark.parametrize(
    ("then", "gap_s"),
    [
        (_grown(2), 3_601.0),
        (Conversation(_grown(3).messages[2:]), 60.0),
        (Conversation([Message("user", (Text("Summary."),)), *_grown(3).messages[-2:]]), 60.0),
    ],
)
def test_what_is_gone_or_was_cut_is_not_marked_again(then: Conversation, gap_s: float) -> None:
    """The lifetime is over, or the history is another one."""
    memory = Memory()
    _body(memory, _grown(1), 0.0)
    assert len(_marked_blocks(_body(memory, then, gap_s))) == 1


def test_a_request_that_reads_nothing_says_that_its_memory_was_wrong() -> None:
    """What it wrote itself is held; what others before it wrote is not, also for a branch there."""
    memory = Memory()
    for turns in (1, 2, 3):
        _body(memory, _grown(turns), turns * 60.0)
    told = memory.fork()
    told.reported(Usage(prompt_tokens=9_000, read_tokens=0))
    branch = Conversation([*_grown(2).messages[:2], _grown(3).messages[4]])
    assert _marked_blocks(_body(memory.fork(), branch, 240.0)) == [29, 60]
    assert _marked_blocks(_body(told.fork(), branch, 240.0)) == [60]
    assert _marked_blocks(_body(told, _grown(4), 240.0)) == [91, 122]


def test_a_parameter_that_keys_the_cache_is_remembered() -> None:
    """With another choice of tools the history is written anew."""
    memory = Memory()
    _body(memory, _grown(1), 0.0)
    body = LAYOUT.request(
        "anthropic",
        CLAUDE,
        _grown(2),
        options={"max_tokens": 9, "tool_choice": {"type": "any"}},
        memory=memory,
        now_s=60.0,
    )
    assert _marked_blocks(body) == [60]


def test_planning_is_not_sending() -> None:
    """Until the memory is told; then the same body is as good as one by `request`."""
    memory, other = Memory(), Memory()
    options = {"max_tokens": 9}
    plan = LAYOUT.plan(
        "anthropic", CLAUDE, _grown(1), [NOW], options=options, memory=memory, now_s=0.0
    )
    assert len(memory) == 0
    plan.sent(memory, now_s=0.0)
    assert plan.body() == _body(other, _grown(1), 0.0)
    assert memory.saved() == other.saved()


def test_a_request_that_cannot_be_made_is_not_remembered() -> None:
    """The memory is as it was."""
    memory = Memory()
    with pytest.raises(UsageError, match="options have no max_tokens"):
        LAYOUT.request("anthropic", CLAUDE, _grown(1), memory=memory)
    assert len(memory) == 0


def test_without_a_rule_there_is_nothing_to_remember() -> None:
    """The request is made all the same."""
    memory = Memory()
    assert LAYOUT.request("openai", "gpt-99", _grown(1), memory=memory, now_s=1.0)["messages"]
    assert len(memory) == 0


def test_a_placement_that_is_given_is_remembered() -> None:
    """What was marked was written, whoever chose it."""
    memory = Memory()
    given = LAYOUT.plan("anthropic", CLAUDE, _grown(1)).placement
    LAYOUT.request(
        "anthropic",
        CLAUDE,
        _grown(1),
        placement=given,
        memory=memory,
        now_s=0.0,
        options={"max_tokens": 9},
    )
    assert len(memory) == len(given.marks)


def test_what_is_held_is_said_once() -> None:
    """By a memory, or by boundaries; and a time is of use to a memory only."""
    with pytest.raises(UsageError, match="held and memory are both given; give a memory, or"):
        LAYOUT.plan("anthropic", CLAUDE, memory=Memory(), held=[Held(1, 1.0)])
    with pytest.raises(UsageError, match=r"now_s is 5\.0 and no memory is given; give the memory"):
        LAYOUT.request("anthropic", CLAUDE, now_s=5.0)


@pytest.mark.parametrize("model", ["gpt-5.5", GPT])
def test_caches_that_need_no_marks_are_remembered_too(model: str) -> None:
    """What is expected to be read is what the request before had, and no average."""
    memory = Memory()
    LAYOUT.request("openai", model, _grown(1), [NOW], memory=memory, now_s=0.0)
    total = LAYOUT.plan("openai", model, _grown(1)).laid.tokens()[-1]
    soon = LAYOUT.plan("openai", model, _grown(2), [NOW], memory=memory, now_s=60.0)
    late = LAYOUT.plan("openai", model, _grown(2), [NOW], memory=memory, now_s=86_401.0)
    assert total - 128 <= soon.placement.expected_read_tokens <= total
    assert late.placement.expected_read_tokens < total
