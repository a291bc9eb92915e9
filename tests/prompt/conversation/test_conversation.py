"""Conversations that grow, fork and tell their prefixes apart, beside plain lists of messages."""

import copy
import gc
import pickle
import sys
from collections.abc import Callable
from random import Random
from threading import Thread
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.conversation.conversation import Conversation
from stemcache.prompt.message import Message
from stemcache.prompt.part import Image, Native, Text, ToolCall, ToolResult
from stemcache.wire.api import Api
from tests.prompt.conversations import APIS, step


def call(id_: str, name: str = "search") -> ToolCall:
    """A call without arguments."""
    return ToolCall(id=id_, name=name, arguments="{}")


def result(id_: str, text: str = "found", name: str = "") -> ToolResult:
    """A result of one text."""
    return ToolResult(call_id=id_, parts=(Text(text),), name=name)


def asked(*calls: ToolCall) -> Conversation:
    """A conversation in which these calls wait."""
    return Conversation([Message("user", (Text("q"),)), Message("assistant", calls)])


def test_a_conversation_holds_what_was_appended_in_its_order() -> None:
    """Content may be plain strings, and is kept as parts."""
    conversation = Conversation()
    picture = Image(media_type="image/png", base64="aGk=")
    conversation.user("what is this?", picture)
    conversation.answer({"content": [{"type": "text", "text": "a dot"}]}, Api.MESSAGES)
    assert conversation.messages == (
        Message("user", (Text("what is this?"), picture)),
        Message("assistant", (Text("a dot"),)),
    )
    assert len(conversation) == 2
    conversation.check()


def test_the_tuple_of_messages_is_made_once_until_it_grows() -> None:
    """Rendering asks for it at each turn."""
    conversation = Conversation([Message("user", (Text("a"),))])
    assert conversation.messages is conversation.messages
    conversation.append(Message("assistant", (Text("b"),)))
    assert len(conversation.messages) == 2


def test_digests_are_the_same_in_every_release() -> None:
    """Files hold them: a change here is a new version of the form."""
    conversation = Conversation()
    assert conversation.digest == (
        "de0ed5b74881e90d0fbf6ad00197a0eb07d2baa62fd9e091bd19f940f03f4a54"
    )
    conversation.user("Where is order 7?")
    assert conversation.digest == (
        "c9e21ccec476322f8efb8ae7ab1dad435f07aa575c4ace16a2938f387415e8d4"
    )


def test_a_fork_shares_all_messages_and_goes_its_own_way() -> None:
    """The very same objects: nothing is copied."""
    conversation = Conversation([Message("user", (Text("q"),))])
    conversation.append(Message("assistant", (Text("a"),)))
    branch = conversation.fork()
    branch.user("left")
    conversation.user("right")
    assert branch.messages[:2] == conversation.messages[:2]
    assert branch.messages[0] is conversation.messages[0]
    assert branch.shared_with(conversation) == 2
    assert branch.digest_at(2) == conversation.digest_at(2)
    assert branch != conversation


def test_a_fork_can_go_on_from_an_earlier_message() -> None:
    """As where a turn is asked again."""
    conversation = Conversation([Message("user", (Text("q"),)), Message("assistant", (Text("a"),))])
    branch = conversation.fork(1)
    assert branch.messages == conversation.messages[:1]
    assert conversation.begins_with(branch)
    assert not branch.begins_with(conversation)
    assert conversation.since(1) == conversation.messages[1:]


def test_forking_and_appending_do_not_cost_the_length_of_the_conversation() -> None:
    """Counted in objects that are made, not in time."""
    conversation = Conversation(Message("user", (Text(str(i)),)) for i in range(3000))
    gc.collect()
    before = len(gc.get_objects())
    forks = [conversation.fork() for _ in range(50)]
    for fork in forks:
        fork.user("one more")
    gc.collect()
    made = len(gc.get_objects()) - before
    assert made < 50 * 12, f"{made} objects for 50 forks of 3000 messages"


def test_a_conversation_of_very_many_messages_is_freed_without_recursion() -> None:
    """A chain of links is freed link by link."""
    conversation = Conversation(Message("user", (Text(str(i)),)) for i in range(100_000))
    del conversation
    gc.collect()


def test_random_histories_agree_with_plain_lists() -> None:
    """Forks, appends and prefixes beside lists that are copied."""
    rng = Random(3)
    for _ in range(60):
        held = [(Conversation(), list[Message]())]
        for _ in range(30):
            conversation, twin = rng.choice(held)
            match rng.randrange(4):
                case 0 | 1:
                    message = Message(rng.choice(("user", "assistant")), (Text(rng.choice("ab")),))
                    conversation.append(message)
                    twin.append(message)
                case 2:
                    count = rng.randrange(len(twin) + 1)
                    held.append((conversation.fork(count), twin[:count]))
                case 3:
                    held.append((conversation.fork(), twin.copy()))
        for one, twin in held:
            one.check()
            assert list(one.messages) == twin
            for other, second in held:
                common = 0
                for left, right in zip(twin, second, strict=False):
                    if left != right:
                        break
                    common += 1
                assert one.shared_with(other) == common
                assert one.begins_with(other) == (twin[: len(second)] == second)
                assert (one == other) == (twin == second)


@pytest.mark.parametrize("api", APIS)
def test_random_conversations_of_each_api_hold_their_invariants(api: Api) -> None:
    """Answers, results and messages in turn."""
    rng = Random(f"invariants {api}")
    for _ in range(20):
        conversation = Conversation()
        for _ in range(10):
            step(rng, conversation, api)
            conversation.check()
        assert Conversation(conversation.messages) == conversation


def test_results_are_kept_in_the_order_of_their_calls_with_the_names_of_their_tools() -> None:
    """Parallel tools end in any order."""
    one, two = asked(call("a"), call("b", "fetch")), asked(call("a"), call("b", "fetch"))
    one.results(result("a", "1"), result("b", "2"))
    two.results(result("b", "2"), result("a", "1"))
    assert one == two
    assert one.messages[-1].parts == (
        ToolResult(call_id="a", parts=(Text("1"),), name="search"),
        ToolResult(call_id="b", parts=(Text("2"),), name="fetch"),
    )
    assert one.pending == ()


def test_calls_without_ids_are_answered_by_their_names_in_order() -> None:
    """Gemini gives no ids where it need not."""
    conversation = asked(call("", "a"), call("", "b"), call("", "a"))
    conversation.results(
        result("", "b1", name="b"), result("", "a1", name="a"), result("", "a2", name="a")
    )
    texts = [part.parts[0].text for part in conversation.messages[-1].parts]  # type: ignore[union-attr]
    assert texts == ["a1", "b1", "a2"]


def test_results_without_ids_and_names_are_taken_in_the_order_given() -> None:
    """Nothing tells them apart but their order."""
    conversation = asked(call("", "a"), call("", "b"))
    conversation.results(result("", "1"), result("", "2"))
    assert [part.name for part in conversation.messages[-1].parts] == ["a", "b"]  # type: ignore[union-attr]


def test_a_result_that_a_block_of_the_api_gives_answers_its_call() -> None:
    """Results that no part has fields for are native."""
    conversation = asked(call("a"))
    block = '{"type":"tool_result","tool_use_id":"a","content":[{"type":"search_result"}]}'
    assert [one.id for one in conversation.pending] == ["a"]
    conversation.append(Message("user", (Native(api=Api.MESSAGES, json=block),)))
    assert conversation.pending == ()


def test_blocks_that_are_no_results_answer_nothing() -> None:
    """Nor does JSON that is none."""
    conversation = asked(call("a"))
    for json in ('{"type":"x"}', "[]", "{", '{"tool_use_id":5}'):
        conversation.append(Message("user", (Native(api=Api.MESSAGES, json=json),)))
    conversation.append(Message("user", (Native(api=Api.CHAT, json='{"tool_use_id":"a"}'),)))
    assert [one.id for one in conversation.pending] == ["a"]


def test_calls_of_earlier_answers_do_not_wait() -> None:
    """Only what was asked last can be answered."""
    conversation = asked(call("a"))
    conversation.append(Message("user", (Text("never mind"),)))
    conversation.append(Message("assistant", (Text("fine"),)))
    assert conversation.pending == ()
    conversation.user("next")


def test_a_result_of_a_call_that_does_not_wait_is_refused() -> None:
    """The error lists those that do."""
    conversation = asked(call("a"), call("b", "fetch"))
    with pytest.raises(UsageError) as error:
        conversation.results(result("a"), result("c"))
    assert str(error.value) == (
        "a result of call 'c' answers no call that waits; waiting: 'a' (search), 'b' (fetch)"
    )
    assert len(conversation) == 2


def test_a_result_that_is_given_twice_is_refused() -> None:
    """One of them would be dropped, or sent twice."""
    with pytest.raises(UsageError, match="a result of call 'a' is given twice; waiting: 'a'"):
        asked(call("a")).results(result("a"), result("a"))


def test_a_call_without_a_result_is_refused() -> None:
    """APIs answer 400 to it, at the next turn."""
    with pytest.raises(UsageError) as error:
        asked(call("a"), call("b", "fetch")).results(result("a"))
    assert str(error.value) == (
        "calls have no result: 'b' (fetch); give all results of an answer at once, a failed one "
        "with failed=True"
    )


def test_a_result_where_nothing_waits_is_refused() -> None:
    """And so is none at all."""
    with pytest.raises(UsageError, match="answers no call that waits; waiting: none"):
        Conversation([Message("user", (Text("q"),))]).results(result("a"))
    with pytest.raises(UsageError, match="has 0 parts"):
        Conversation().results()


def test_many_calls_are_listed_in_part_and_long_ids_cut() -> None:
    """An error fits a screen."""
    calls = [call("x" * 100 + str(i)) for i in range(9)]
    with pytest.raises(UsageError) as error:
        asked(*calls).results()
    assert "and 4 more" in str(error.value)
    assert "x" * 62 not in str(error.value)


def test_a_user_cannot_speak_while_calls_wait() -> None:
    """The order would be one that no API takes."""
    conversation = asked(call("a"))
    with pytest.raises(UsageError) as error:
        conversation.user("hello?")
    assert str(error.value) == (
        "1 calls wait for their results: 'a' (search); give them by results() before the user's "
        "message"
    )


def test_messages_without_parts_speakers_or_the_right_types_are_refused() -> None:
    """Whatever a caller without a type checker passes."""
    conversation = Conversation()
    with pytest.raises(UsageError, match="a message of speaker 'user' has 0 parts; give one"):
        conversation.user()
    with pytest.raises(UsageError, match="the speaker of Message is 'system'; give 'user'"):
        conversation.append(Message("system", (Text("x"),)))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a dict is no Message; make one, or use extend_from"):
        conversation.append({"role": "user"})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"the parts of Message\[0\] is of type bytes; give"):
        conversation.user(b"x")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"the parts of ToolResult\[0\] is of type ToolCall"):
        ToolResult(call_id="c", parts=(call("d"),))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"the text of Text is of type int; give a str"):
        conversation.user(Text(5))  # type: ignore[arg-type]
    assert len(conversation) == 0


def test_numbers_of_messages_outside_of_the_conversation_are_refused() -> None:
    """Negative ones too, which a slice would take."""
    conversation = Conversation([Message("user", (Text("q"),))])
    for number in (-1, 2):
        for verb in (conversation.fork, conversation.digest_at, conversation.since):
            with pytest.raises(UsageError, match=f"has 1 messages, not {number}; give a number"):
                verb(number)


def test_an_empty_answer_appends_nothing() -> None:
    """No API takes an assistant without content back."""
    conversation = Conversation([Message("user", (Text("q"),))])
    assert conversation.answer({"content": [{"type": "text", "text": ""}]}, Api.MESSAGES) == ()
    assert len(conversation) == 1


def test_a_conversation_is_no_key_of_a_dictionary_and_equals_no_other_thing() -> None:
    """It grows."""
    with pytest.raises(TypeError):
        hash(Conversation())
    assert Conversation() != ()
    assert repr(Conversation()).startswith("<Conversation of 0 messages, digest ")


def test_threads_that_append_at_once_lose_nothing() -> None:
    """However often they are changed over, each message is there once, in its thread's order."""
    conversation = Conversation()
    switch_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [Thread(target=_say, args=(conversation, one)) for one in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switch_s)
    said = [part.text for message in conversation.messages for part in message.parts]  # type: ignore[union-attr]
    assert len(conversation) == 400
    assert [[text for text in said if text.startswith(f"{one} ")] for one in range(8)] == [
        [f"{one} {number}" for number in range(50)] for one in range(8)
    ]
    conversation.check()


def _say(conversation: Conversation, one: int) -> None:
    for number in range(50):
        conversation.user(f"{one} {number}")
        assert len(conversation.messages) > number


def test_results_of_two_threads_are_taken_once() -> None:
    """The second finds no call that waits."""
    conversation = asked(call("a"))
    told: list[str] = []

    def give() -> None:
        try:
            conversation.results(result("a"))
        except UsageError as error:
            told.append(str(error))

    threads = [Thread(target=give) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(conversation) == 3
    assert len(told) == 1
    assert "answers no call that waits" in told[0]


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))]
)
def test_a_copy_is_equal_and_goes_on_alone(copied: Callable[[Conversation], Conversation]) -> None:
    """Also of a long one, and from process to process."""
    conversation = Conversation(Message("user", (Text(str(one)),)) for one in range(3_000))
    other = copied(conversation)
    assert other == conversation
    other.user("more")
    assert len(conversation) == 3_000


@pytest.mark.parametrize("taken", ["answer", "append", "extend_from"])
def test_two_calls_of_one_id_are_refused(taken: str) -> None:
    """Their results could not be told apart; nothing is appended."""
    tools = [
        {"id": "a", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for name in ("f", "g")
    ]
    given: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": tools}
    conversation = Conversation()
    conversation.user("q")
    takes: dict[str, Callable[[], object]] = {
        "answer": lambda: conversation.answer(given, Api.CHAT),
        "append": lambda: conversation.append(Message("assistant", (call("a"), call("a", "g")))),
        "extend_from": lambda: conversation.extend_from(
            Api.CHAT, [{"role": "user", "content": "q"}, given]
        ),
    }
    with pytest.raises(
        UsageError, match="two calls of message 1 have the id 'a', so nothing could"
    ):
        takes[taken]()
    assert len(conversation) == 1


def test_calls_without_ids_are_told_by_their_names() -> None:
    """As Gemini's are."""
    conversation = asked(call("", "f"), call("", "g"))
    conversation.results(result("", name="g"), result("", name="f"))
    assert conversation.pending == ()
