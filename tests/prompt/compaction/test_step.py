"""A history made short: cut where it can be cut, and nowhere else."""

from random import Random

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.compaction.step import borders, compact
from stemcache.prompt.conversation.conversation import Conversation
from stemcache.prompt.message import Message
from stemcache.prompt.part import Part, Text, ToolCall, ToolResult


def user(text: str) -> Message:
    """A user's words."""
    return Message("user", (Text(text),))


def says(text: str) -> Message:
    """A model's words."""
    return Message("assistant", (Text(text),))


def calls(*ids: str) -> Message:
    """A model's calls."""
    return Message("assistant", tuple(ToolCall(id=one, name="f", arguments="{}") for one in ids))


def results(*ids: str) -> Message:
    """What the tools answered."""
    return Message("user", tuple(ToolResult(call_id=one, parts=(Text("r"),)) for one in ids))


TALK = (
    user("a"),
    says("b"),
    user("c"),
    calls("1", "2"),
    results("1", "2"),
    says("d"),
    user("e"),
    says("f"),
)


def test_a_history_is_cut_before_a_users_words_and_at_its_end() -> None:
    """Not before an answer, nor before results."""
    assert borders(TALK) == (2, 6, 8)


def test_calls_that_wait_hold_the_end_open() -> None:
    """Their results are still to come."""
    assert borders((*TALK, user("g"), calls("3"))) == (2, 6, 8)


def test_results_in_several_messages_are_kept_together() -> None:
    """Until the last of them is there."""
    talk = (user("a"), calls("1", "2"), results("1"), results("2"), says("b"), user("c"))
    assert borders(talk) == (5, 6)


def test_no_cut_parts_a_call_from_its_result() -> None:
    """Whatever the history: what is kept has no result without its call, and begins with a user."""
    random = Random(1)
    for _ in range(500):
        talk: list[Message] = []
        for number in range(random.randrange(1, 12)):
            parts: list[Part] = [Text("t")]
            parts += [
                ToolCall(id=f"{number}.{k}", name="f", arguments="{}")
                for k in range(random.choice([0, 0, 1, 2]))
            ]
            talk += [user("q"), Message("assistant", tuple(parts))]
            owed = [part.id for part in parts if isinstance(part, ToolCall)]
            random.shuffle(owed)
            if owed and random.random() < 0.9:
                split = random.randrange(len(owed) + 1)
                talk += [results(*ids) for ids in (owed[:split], owed[split:]) if ids]
        for drop in borders(talk):
            kept = talk[drop:]
            made = {p.id for m in kept for p in m.parts if isinstance(p, ToolCall)}
            got = {p.call_id for m in kept for p in m.parts if isinstance(p, ToolResult)}
            assert got <= made
            gone = {p.id for m in talk[:drop] for p in m.parts if isinstance(p, ToolCall)}
            answered = {
                p.call_id for m in talk[:drop] for p in m.parts if isinstance(p, ToolResult)
            }
            assert gone == answered
            assert not kept or kept[0].speaker == "user"


def test_the_summary_goes_into_the_first_message_that_is_kept() -> None:
    """So that speakers still take turns; the rest keeps its objects."""
    made = compact(TALK, "in short: a, b", drop=6)
    assert made[0] == Message("user", (Text("in short: a, b"), Text("e")))
    assert made[1] is TALK[7]
    assert len(made) == 2


def test_a_summary_of_all_is_a_message_of_its_own() -> None:
    """Nothing is kept."""
    assert compact(TALK, "all", drop=8) == (user("all"),)


def test_an_empty_summary_just_drops() -> None:
    """What is kept is as it was."""
    assert compact(TALK, "", drop=2) == TALK[2:]
    assert compact(TALK, "", drop=8) == ()


def test_the_history_that_was_is_not_changed() -> None:
    """The conversation goes on in another one, whose prefix is stable again."""
    before = Conversation(TALK)
    digest = before.digest
    after = Conversation(compact(before.messages, "short", drop=6))
    assert before.digest == digest
    grown = after.fork()
    grown.user("next")
    assert grown.begins_with(after)
    assert not grown.begins_with(before)


@pytest.mark.parametrize(("drop", "near"), [(0, 2), (1, 2), (4, 2), (5, 6), (7, 6), (99, 8)])
def test_other_places_are_refused_with_the_nearest(drop: int, near: int) -> None:
    """In numbers, with no word of the messages."""
    with pytest.raises(UsageError) as caught:
        compact(TALK, "short", drop=drop)
    assert str(caught.value) == (
        f"a history of 8 messages cannot be cut behind {drop} of them, which would part a call "
        f"from its result or begin with an answer; the nearest is {near}"
    )


def test_a_history_with_nowhere_to_cut_says_so() -> None:
    """As does an empty one."""
    for talk in ((), (user("a"), calls("1"))):
        with pytest.raises(UsageError, match="the history has no such place"):
            compact(talk, "short", drop=1)
