"""Whole lists of messages beside what is kept: what is new, a replay, or rewritten."""

import copy
import json
from random import Random
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.conversation.conversation import Conversation, Extended, RewrittenError
from stemcache.prompt.message import Message
from stemcache.prompt.part import Document, Native, Text, Thinking, ToolCall, ToolResult
from stemcache.wire.api import Api
from tests.prompt.conversations import APIS, LISTS, body, step

MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Where is order 7?"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s=="},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "t1", "name": "search", "input": {"b": 1, "a": 2}},
            {"type": "tool_use", "id": "t2", "name": "fetch", "input": {}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "one"},
            {"type": "tool_result", "tool_use_id": "t2", "content": "two", "is_error": True},
        ],
    },
    {"role": "assistant", "content": "On its way."},
]
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Where is order 7?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
            {"id": "c2", "type": "function", "function": {"name": "g", "arguments": ""}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "one"},
    {"role": "tool", "tool_call_id": "c2", "content": ""},
    {"role": "assistant", "content": "On its way.", "refusal": None, "annotations": []},
]


def kept(api: Api = Api.MESSAGES, given: object = MESSAGES) -> Conversation:
    """A conversation made of a list."""
    conversation = Conversation()
    conversation.extend_from(api, given)
    return conversation


def changed(path: str, value: Any = None, *, drop: bool = False) -> list[dict[str, Any]]:
    """MESSAGES with one place changed."""
    given: Any = copy.deepcopy(MESSAGES)
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    at = given
    for step_ in way:
        at = at[step_]
    if drop:
        del at[last]
    else:
        at[last] = value
    return given  # type: ignore[no-any-return]


def refused(given: object, conversation: Conversation | None = None) -> RewrittenError:
    """The error; and nothing was appended."""
    one = kept() if conversation is None else conversation
    before = one.digest
    with pytest.raises(RewrittenError) as error:
        one.extend_from(Api.MESSAGES, given)
    assert one.digest == before
    return error.value


@pytest.mark.parametrize("parts", range(1, len(MESSAGES) + 1))
def test_only_what_is_new_is_appended(parts: int) -> None:
    """A framework gives its whole list at each turn."""
    conversation = Conversation()
    first = conversation.extend_from(Api.MESSAGES, MESSAGES[:parts])
    assert first == Extended(appended=parts, covered=parts)
    second = conversation.extend_from(Api.MESSAGES, MESSAGES)
    assert second == Extended(appended=4 - parts, covered=4)
    assert conversation == kept()
    assert second.replay == (parts == 4)


def test_messages_are_kept_as_parts() -> None:
    """Results get the names of their tools."""
    conversation = kept()
    assert conversation.messages[1].parts[2] == ToolCall(
        id="t1", name="search", arguments='{"b":1,"a":2}'
    )
    assert conversation.messages[2] == Message(
        "user",
        (
            ToolResult(call_id="t1", parts=(Text("one"),), name="search"),
            ToolResult(call_id="t2", parts=(Text("two"),), name="fetch", failed=True),
        ),
    )


def test_an_answer_that_was_taken_already_is_found_in_the_list() -> None:
    """Answers come from `answer`, and again with the next list."""
    conversation = kept(given=MESSAGES[:1])
    conversation.answer(MESSAGES[1] | {"id": "msg_1"}, Api.MESSAGES)
    assert conversation.extend_from(Api.MESSAGES, MESSAGES) == Extended(appended=2, covered=4)
    assert conversation == kept()


def test_a_list_that_ends_earlier_is_a_replay_and_tells_where() -> None:
    """A turn is asked again: its new answer belongs behind a fork."""
    conversation = kept()
    found = conversation.extend_from(Api.MESSAGES, MESSAGES[:3], allow_shorter=True)
    assert found == Extended(appended=0, covered=3)
    assert found.replay
    branch = conversation.fork(found.covered)
    branch.answer({"content": [{"type": "text", "text": "Elsewhere."}]}, Api.MESSAGES)
    assert branch.shared_with(conversation) == 3
    assert conversation == kept()


def test_an_empty_list_is_a_replay_of_nothing() -> None:
    """As before the first message."""
    found = kept().extend_from(Api.MESSAGES, [], allow_shorter=True)
    assert found == Extended(appended=0, covered=0)


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ([], "message 0, part 0, is missing at the end of an empty list; the list ends 4 messages"),
        (
            MESSAGES[:1],
            r"message 1, part 0, is missing at the end of messages\[0\]; the list ends 3",
        ),
        (
            MESSAGES[:3],
            r"message 3, part 0, is missing at the end of messages\[2\]; the list ends 1",
        ),
    ],
)
def test_a_list_that_lost_messages_from_its_end_is_refused(
    given: list[dict[str, Any]], place: str
) -> None:
    """Else the conversation would send what its list has no longer; nothing is appended."""
    conversation = kept()
    with pytest.raises(RewrittenError, match=place) as caught:
        conversation.extend_from(Api.MESSAGES, given)
    assert caught.value.message == len(given)
    assert "allow_shorter=True takes one where an earlier turn is sent again" in str(caught.value)
    assert conversation == kept()


def test_results_in_another_order_are_the_same() -> None:
    """Parallel tools end in any order; kept is that of the calls."""
    given = copy.deepcopy(MESSAGES)
    given[2]["content"].reverse()
    assert kept(given=given) == kept()
    assert kept().extend_from(Api.MESSAGES, given).replay
    raw = Conversation(kept().messages[:2])
    raw.append(Message("user", tuple(reversed(kept().messages[2].parts))))
    assert raw.extend_from(Api.MESSAGES, MESSAGES[:3]).replay


def test_only_results_move_and_what_stands_beside_them_stays() -> None:
    """A text behind the results stays behind them."""
    given = copy.deepcopy(MESSAGES[:3])
    given[2]["content"] = [*reversed(given[2]["content"]), {"type": "text", "text": "and?"}]
    kinds = [getattr(part, "call_id", "text") for part in kept(given=given).messages[2].parts]
    assert kinds == ["t1", "t2", "text"]


def test_results_that_answer_no_call_stay_behind_those_that_do() -> None:
    """A list that was cut begins with them."""
    given = copy.deepcopy(MESSAGES[:3])
    stray = {"type": "tool_result", "tool_use_id": "t0", "content": "zero"}
    given[2]["content"] = [stray, *reversed(given[2]["content"])]
    assert [part.call_id for part in kept(given=given).messages[2].parts] == ["t1", "t2", "t0"]  # type: ignore[union-attr]


def test_markers_are_no_content() -> None:
    """They move on with every turn."""
    given = copy.deepcopy(MESSAGES)
    mark = {"type": "ephemeral"}
    given[0]["content"] = [{"type": "text", "text": "Where is order 7?", "cache_control": mark}]
    given[1]["content"][3]["cache_control"] = mark
    given[2]["content"][0]["cache_control"] = mark
    given[2]["content"][1]["content"] = [{"type": "text", "text": "two", "cache_control": mark}]
    assert kept().extend_from(Api.MESSAGES, given).replay
    assert kept(given=given) == kept()


def test_members_in_another_order_and_nulls_change_nothing() -> None:
    """Clients' objects have the order of their declarations, and all members."""
    given = copy.deepcopy(MESSAGES)
    given[1]["content"][0] = {"signature": "s==", "thinking": "hm", "type": "thinking", "x": None}
    given[1]["content"][1] = {"citations": None, "text": "Let me look.", "type": "text"}
    assert kept().extend_from(Api.MESSAGES, given).replay
    assert kept(given=given) == kept()


def test_a_message_that_grew_at_the_end_is_taken_as_more() -> None:
    """What was there before is still a prefix."""
    given = copy.deepcopy(MESSAGES[:3])
    given[2]["content"].append({"type": "text", "text": "hurry"})
    conversation = kept(given=MESSAGES[:3])
    assert conversation.extend_from(Api.MESSAGES, given) == Extended(appended=1, covered=4)
    assert conversation.messages[-1] == Message("user", (Text("hurry"),))
    assert conversation.extend_from(Api.MESSAGES, given).replay


def test_a_changed_character_is_told_with_its_place_and_a_short_excerpt() -> None:
    """Message, part, field, offset, and at most 16 characters of each side."""
    conversation = Conversation()
    conversation.user("It is 12:00:01 and the secret number is 4711 4711 4711")
    given = [{"role": "user", "content": "It is 12:00:05 and the secret number is 4711 4711 4711"}]
    error = refused(given, conversation)
    assert (error.message, error.part, error.field, error.offset) == (0, 0, "text", 13)
    assert error.given == "messages[0], part 0"
    assert str(error) == (
        "message 0, part 0, differs in text from character 13 on at messages[0], part 0 (kept "
        "'1 and the secret', given '5 and the secret'); what was sent once stays: give it as it "
        "was, or go on from conversation.fork(0)"
    )


@pytest.mark.parametrize(
    ("path", "value", "message", "part", "field", "offset"),
    [
        ("0.content", "Where is order 8?", 0, 0, "text", 15),
        ("0.content", "Where is order 7", 0, 0, "text", 16),
        ("0.role", "assistant", 0, 0, "speaker", 0),
        ("1.content.0.thinking", "ha", 1, 0, "json.thinking", 1),
        ("1.content.0.signature", "s=", 1, 0, "json.signature", 2),
        ("1.content.1.text", "Let me look. ", 1, 1, "text", 12),
        ("1.content.2.id", "t9", 1, 2, "id", 1),
        ("1.content.2.name", "sea", 1, 2, "name", 3),
        ("1.content.2.input", {"b": 1, "a": 3}, 1, 2, "arguments", 11),
        ("2.content.0.content", "two", 2, 0, "parts[0].text", 0),
        ("2.content.0.content", "", 2, 0, "parts[0]", 0),
        ("2.content.1.is_error", False, 2, 1, "failed", 0),
        ("2.content.0.tool_use_id", "t3", 2, 0, "call_id", 1),
        ("1.content.1", {"type": "custom_block"}, 1, 1, "type", 0),
        ("3.content", "On it's way.", 3, 0, "text", 5),
    ],
)
def test_each_kind_of_rewrite_is_told_with_its_place(
    path: str, value: Any, message: int, part: int, field: str, offset: int
) -> None:
    """Texts, thoughts and their seals, ids, names, arguments, results."""
    error = refused(changed(path, value))
    assert (error.message, error.part, error.field, error.offset) == (message, part, field, offset)


def test_arguments_whose_members_moved_are_told_to_be_the_same_values() -> None:
    """The commonest way to lose a cache: parsed, and written again in another order."""
    error = refused(changed("1.content.2.input", {"a": 2, "b": 1}))
    assert error.field == "arguments"
    assert "the same values in another order or with other blanks: pass on the string" in str(error)


def test_a_thought_that_was_dropped_is_told() -> None:
    """The place is where the thought stood."""
    error = refused(changed("1.content.0", drop=True))
    assert (error.message, error.part, error.field) == (1, 0, "type")
    assert "kept 'Thinking', given 'Text'" in str(error)


def test_a_message_that_lost_its_last_part_is_told() -> None:
    """At the end of the list, where nothing else differs."""
    given = copy.deepcopy(MESSAGES[:2])
    del given[1]["content"][3]
    error = refused(given)
    assert (error.message, error.part, error.field) == (1, 3, "part")
    assert "message 1, part 3, is missing at the end of messages[1]; what was" in str(error)


@pytest.mark.parametrize(("cut", "words"), [(1, "message 0 is"), (2, "messages 0 to 1 are")])
def test_a_list_that_was_cut_at_its_beginning_is_told_to_be_so(cut: int, words: str) -> None:
    """Frameworks drop old turns when a window is full."""
    error = refused(MESSAGES[cut:])
    assert f"{words} missing from the list: drop old turns by a compaction" in str(error)


def test_a_message_that_came_in_between_is_told_to_be_so() -> None:
    """Such as a reminder."""
    given = [MESSAGES[0], {"role": "user", "content": "Be quick."}, *MESSAGES[1:]]
    assert "something stands before messages[2] that was not there" in str(refused(given))


def test_images_are_compared_by_their_bytes_and_not_shown() -> None:
    """A pointer in place of an image is a rewrite like any other."""

    def picture(data: str) -> list[dict[str, Any]]:
        source = {"type": "base64", "media_type": "image/png", "data": data}
        return [{"role": "user", "content": [{"type": "image", "source": source}]}]

    conversation = kept(given=picture("aGVsbG8="))
    assert conversation.extend_from(Api.MESSAGES, picture("aGVsbG8=")).replay
    error = refused(picture("aGVsbG9="), conversation)
    assert (error.field, error.offset) == ("base64", 6)
    assert "aGV" not in str(error)


def test_members_beside_a_text_or_call_are_compared_where_both_sides_have_them() -> None:
    """Clients leave out what they do not know; what is kept is what will be sent."""
    item = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    conversation = kept(Api.RESPONSES, [item | {"id": "fc_1", "status": "completed"}])
    assert conversation.extend_from(Api.RESPONSES, [item]).replay
    assert conversation.extend_from(Api.RESPONSES, [item | {"id": "fc_1"}]).replay
    with pytest.raises(RewrittenError) as error:
        conversation.extend_from(Api.RESPONSES, [item | {"id": "fc_2"}])
    assert error.value.field == "beside.id"


def test_chat_messages_of_tools_are_one_message_and_leading_system_ones_none() -> None:
    """The layout has the system's texts."""
    conversation = kept(Api.CHAT, CHAT)
    assert [len(message.parts) for message in conversation.messages] == [1, 2, 2, 1]
    assert conversation.messages[2].parts[1] == ToolResult(call_id="c2", parts=(), name="g")
    assert conversation.extend_from(Api.CHAT, CHAT[1:]).replay


def test_chat_results_that_come_one_by_one_are_taken_as_they_come() -> None:
    """The list grows within what would be one message."""
    conversation = kept(Api.CHAT, CHAT[:4])
    assert conversation.extend_from(Api.CHAT, CHAT).appended == 2
    assert conversation.extend_from(Api.CHAT, CHAT).replay
    assert conversation.pending == ()


def test_chat_results_that_come_one_by_one_in_another_order_are_taken_as_they_come() -> None:
    """What was appended stays where it is."""
    late = [*CHAT[:3], CHAT[4]]
    conversation = kept(Api.CHAT, late)
    given = [*late, CHAT[3], CHAT[5]]
    assert conversation.extend_from(Api.CHAT, given).appended == 2
    assert conversation.extend_from(Api.CHAT, given).replay
    assert [part.call_id for part in conversation.messages[3].parts] == ["c1"]  # type: ignore[union-attr]


def test_a_thought_of_chat_may_be_missing_from_the_list_and_is_kept() -> None:
    """Chat's clients drop what vendors add to it."""
    conversation = kept(Api.CHAT, CHAT[:2])
    thought = CHAT[2] | {"reasoning_content": "hm"}
    conversation.answer({"choices": [{"message": thought}]}, Api.CHAT)
    assert conversation.messages[1].parts[0] == Thinking(
        api=Api.CHAT, json='{"reasoning_content":"hm"}'
    )
    assert conversation.extend_from(Api.CHAT, CHAT).appended == 2
    assert conversation.extend_from(Api.CHAT, [*CHAT[:2], thought, *CHAT[3:]]).replay
    with pytest.raises(RewrittenError):
        conversation.extend_from(Api.CHAT, [*CHAT[:2], thought | {"reasoning_content": "ha"}])


def test_arguments_of_chat_are_strings_and_compared_as_such() -> None:
    """Blanks are bytes."""
    conversation = kept(Api.CHAT, CHAT)
    given = copy.deepcopy(CHAT)
    given[2]["tool_calls"][0]["function"]["arguments"] = '{"a":1}'
    with pytest.raises(RewrittenError, match="other blanks"):
        conversation.extend_from(Api.CHAT, given)


def test_thoughts_and_blocks_of_another_api_are_passed_over() -> None:
    """A conversation may go on with another API, which cannot say them."""
    conversation = Conversation([Message("user", (Text("q"),))])
    thought = Thinking(api=Api.MESSAGES, json='{"type":"thinking"}')
    block = Native(api=Api.MESSAGES, json='{"type":"server_tool_use"}')
    conversation.append(Message("assistant", (thought, Text("a"), block)))
    given = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    found = conversation.extend_from(Api.CHAT, [*given, {"role": "user", "content": "r"}])
    assert found == Extended(appended=1, covered=3)


def test_where_messages_of_one_speaker_end_is_not_compared() -> None:
    """Some APIs join them, and items of Responses have no messages around them."""
    conversation = Conversation()
    conversation.user("a")
    conversation.user("b")
    given = [{"role": "user", "content": [{"type": "text", "text": one} for one in "ab"]}]
    assert conversation.extend_from(Api.MESSAGES, given).replay


def test_texts_that_are_not_sent_are_not_compared() -> None:
    """Anthropic's API refuses blanks, so renderers drop them."""
    conversation = Conversation([Message("user", (Text(" \n"), Text("q")))])
    assert conversation.extend_from(Api.MESSAGES, [{"role": "user", "content": "q"}]).replay
    with pytest.raises(RewrittenError):
        conversation.extend_from(Api.CHAT, [{"role": "user", "content": "q"}])


def test_names_of_files_are_compared_where_an_api_tells_them_as_they_are() -> None:
    """Converse wants them unlike each other, so that they are made anew; others make up missing."""

    def held(name: str) -> Conversation:
        file = Document(media_type="application/pdf", name=name, base64="aGk=")
        return Conversation([Message("user", (Text("q"), file, file))])

    for api, name in ((Api.CONVERSE, "terms.pdf"), (Api.CHAT, "terms.pdf"), (Api.CHAT, "")):
        conversation = held(name)
        assert conversation.extend_from(api, body(conversation, api)[LISTS[api]]).replay
    given = body(held("terms.pdf"), Api.CHAT)["messages"]
    with pytest.raises(RewrittenError, match="differs in name from character 0 on"):
        held("rules.pdf").extend_from(Api.CHAT, given)


def test_what_cannot_be_read_appends_nothing() -> None:
    """Not even the messages before it."""
    conversation = kept(given=MESSAGES[:1])
    with pytest.raises(UsageError, match=r"messages\[1\]\.content is missing, not a list; give"):
        conversation.extend_from(Api.MESSAGES, [MESSAGES[0], {"role": "assistant"}])
    with pytest.raises(UsageError, match="the messages are a dict; give the list that is sent"):
        conversation.extend_from(Api.MESSAGES, {"messages": MESSAGES})
    with pytest.raises(UsageError, match="of the API 'completions' cannot be kept; use one of"):
        conversation.extend_from(Api.COMPLETIONS, MESSAGES)
    assert len(conversation) == 1


def test_a_list_may_be_one_text_where_an_api_takes_that() -> None:
    """`input` of Responses, `contents` of Gemini."""
    for api in (Api.RESPONSES, Api.GENERATE):
        assert kept(api, "hello").messages == (Message("user", (Text("hello"),)),)


def test_many_parallel_calls_are_matched_in_linear_time() -> None:
    """Ten thousand results in the worst order, which a search each would take minutes for."""
    calls = [
        {"id": f"c{i}", "type": "function", "function": {"name": "f", "arguments": ""}}
        for i in range(10_000)
    ]
    said = [{"role": "user", "content": "q"}, {"role": "assistant", "tool_calls": calls}]
    results = [
        {"role": "tool", "tool_call_id": f"c{i}", "content": "x"} for i in reversed(range(10_000))
    ]
    conversation = kept(Api.CHAT, [*said, *results])
    assert [part.call_id for part in conversation.messages[2].parts] == [  # type: ignore[union-attr]
        one["id"] for one in calls
    ]


@pytest.mark.parametrize("api", APIS)
def test_any_change_to_a_rendered_list_is_found_at_its_place(api: Api) -> None:
    """One string of a random place is changed; the error names the message that it is part of.

    Which one that is, a list tells that ends before the change.
    """
    rng = Random(f"changes {api}")
    told = 0
    for _ in range(150):
        conversation = Conversation()
        for _ in range(rng.randrange(3, 10)):
            step(rng, conversation, api)
        while conversation.messages[-1].speaker != "user":
            step(rng, conversation, api)
        given = json.loads(json.dumps(body(conversation, api)[LISTS[api]], default=_text))
        first = sum(one.get("role") in {"system", "developer"} for one in given)
        place = rng.choice([one for one in _strings(given) if one[0] >= first])
        if place[-1] in _CLOSED or place[-2:] == ("document", "name"):
            continue
        try:
            message = conversation.extend_from(api, given[: place[0]]).covered
        except RewrittenError as within:  # it ends within a message
            message = within.message
        _change(given, place, rng)
        with pytest.raises(UsageError) as error:
            conversation.extend_from(api, given)
        if isinstance(error.value, RewrittenError):
            told += 1
            assert error.value.message == message, place
    assert told > 50


_CLOSED = {"role", "type", "format", "detail", "mimeType", "media_type"}
"""Members that take no other string. Names of files are no part of what Converse tells."""


def _change(given: Any, place: tuple[Any, ...], rng: Random) -> None:
    *way, last = place
    for name in way:
        given = given[name]
    cut = rng.randrange(len(given[last]) + 1)
    given[last] = given[last][:cut] + "#" + given[last][cut:]


def _text(value: Any) -> str:
    return value.hex()  # type: ignore[no-any-return]


def _strings(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [one for name, inner in value.items() for one in _strings(inner, (*place, name))]
    if isinstance(value, list):
        return [one for i, inner in enumerate(value) for one in _strings(inner, (*place, i))]
    return [place] if isinstance(value, str) else []
