"""What every renderer with marks begins with."""

import re

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.render.opened import opened
from stemcache.wire.api import Api
from tests.prompt.rendering import RULES, SEARCH, assistant, call, laid, marks, result, user

PROMPT = laid(
    user("a"), user("b"), assistant(call()), user(result()), tools=[SEARCH], system=[RULES]
)


def test_what_is_sent_is_told_by_the_numbers_of_its_pieces() -> None:
    """Messages of one speaker stay apart: it is for the API's renderer to join them."""
    tools, system, turns, _ = opened(PROMPT, marks(), Api.MESSAGES)
    assert tools == ((0, SEARCH),)
    assert system == ((1, "Be brief."),)
    assert [[block.place for block in turn.blocks] for turn in turns] == [[2], [3], [4], [5]]


def test_marks_are_taken_once_where_something_is_sent() -> None:
    """A mark behind what is dropped stands behind what is before it."""
    prompt = laid(user("a", " "), system=[RULES])
    taken = opened(prompt, marks(1, 3), Api.MESSAGES).marks
    assert [taken.take(place) is not None for place in (0, 1, 2, 0)] == [True, True, False, False]


def test_calls_are_checked_over_messages_of_one_speaker() -> None:
    """Results may come in several."""
    two = laid(user("q"), assistant(call("a"), call("b")), user(result("a")), user(result("b")))
    assert len(opened(two, marks(), Api.CHAT).turns) == 4
    with pytest.raises(UsageError, match="call 'b' has no result in message 2"):
        opened(
            laid(user("q"), assistant(call("a"), call("b")), user(result("a"))), marks(), Api.CHAT
        )


def test_a_server_may_take_fewer_names_than_its_api() -> None:
    """Its pattern is taken in place of the API's."""
    with pytest.raises(UsageError, match="a tool is called 'search'"):
        opened(PROMPT, marks(), Api.CHAT, re.compile("find"))
    assert opened(PROMPT, marks(), Api.CHAT, re.compile("[a-z]+")).tools
