from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.errors import UsageError
from stemcache.prompt.message import Message
from stemcache.prompt.part import Native, Text, ToolCall, ToolResult
from stemcache.prompt.render.calls import arguments_of, check_turns, names_of
from stemcache.prompt.render.messages import render as messages
from stemcache.prompt.render.turns import merged, turns_of
from stemcache.wire.api import Api
from tests.prompt.rendering import (
    THOUGHTS,
    UNMARKED,
    assistant,
    call,
    laid,
    native,
    result,
    thought,
    user,
)

APIS = list(THOUGHTS)


def check(*said: Message, api: Api = Api.MESSAGES) -> None:
    """As renderers do."""
    check_turns(merged(turns_of(laid(*said), api)), api)


@pytest.mark.parametrize("api", APIS)
def test_answered_calls_pass(api: Api) -> None:
    """In any order, in several messages, with text behind the results."""
    check(
        user("q"),
        assistant(thought(api), "a", call("a"), call("b")),
        user(result("b")),
        user(result("a"), "c"),
        assistant("d"),
        api=api,
    )


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("said", "message"),
    [
        ((user("q"), assistant(call())), "call 'a' has no result in message 1"),
        ((user("q"), assistant(call()), user("b")), "call 'a' has no result in message 2"),
        (
            (user("q"), assistant(call("a"), call("b")), user(result("a"))),
            "call 'b' has no result in message 2",
        ),
        ((user(result()),), "answers call 'a', which is not among the calls just before it"),
        (
            (user("q"), assistant(call()), user(result(), result())),
            "answers call 'a', which is not among",
        ),
        (
            (user("q"), assistant(call()), user(result()), assistant("a"), user(result())),
            "message 4 answers call 'a', which is not",
        ),
        ((user("q"), assistant(call()), user("b", result())), "behind other content"),
        ((user("q"), assistant(result())), "is an assistant's; results are a user's"),
        ((user(call()),), "is a user's; only an assistant has it"),
    ],
)
def test_broken_conversations_are_told_by_their_place(
    api: Api, said: tuple[Message, ...], message: str
) -> None:
    """Every API would answer 400."""
    with pytest.raises(UsageError, match=message):
        check(*said, api=api)


def test_a_users_thought_is_refused() -> None:
    """Only a model has them."""
    with pytest.raises(UsageError, match="only an assistant has it"):
        check(user(thought(Api.MESSAGES)))


@pytest.mark.parametrize("api", APIS)
def test_texts_behind_calls_are_refused_where_there_is_no_place(api: Api) -> None:
    """In a chat's message calls are last; Messages takes no result then."""
    said = (user("q"), assistant(call(), "a"), user(result()))
    if api in {Api.CHAT, Api.MESSAGES}:
        with pytest.raises(UsageError, match="the Text in message 1 stands behind a call"):
            check(*said, api=api)
    else:
        check(*said, api=api)


@pytest.mark.parametrize("api", APIS)
def test_who_may_begin(api: Api) -> None:
    """OpenAI's APIs let a model."""
    if api in {Api.CHAT, Api.RESPONSES}:
        check(assistant("a"), api=api)
    else:
        with pytest.raises(UsageError, match="the Text in message 0 begins the conversation"):
            check(assistant("a"), api=api)


@pytest.mark.parametrize(
    ("api", "block"),
    [
        (Api.MESSAGES, {"type": "tool_result", "tool_use_id": "a", "content": []}),
        (Api.RESPONSES, {"type": "function_call_output", "call_id": "a", "output": []}),
        (Api.CONVERSE, {"toolResult": {"toolUseId": "a", "content": []}}),
        (Api.GENERATE, {"functionResponse": {"id": "a", "name": "n", "response": {}}}),
    ],
)
def test_native_results_answer_calls_too(api: Api, block: dict[str, Any]) -> None:
    """They are results that a part has no fields for; others may answer calls that are native."""
    answer = native(api, **block)
    check(user("q"), assistant(call()), user(answer, "b"), api=api)
    check(user("q"), assistant("a"), user(answer), api=api)
    with pytest.raises(UsageError, match="behind other content"):
        check(user("q"), assistant(call()), user("b", answer), api=api)


def test_arguments_are_the_object_that_they_spell() -> None:
    """Members in their order, all digits of integers, nothing for no text."""
    piece = laid(user("q")).pieces[0]

    def read(text: str) -> dict[str, Any]:
        return arguments_of(ToolCall(id="a", name="n", arguments=text), piece)

    assert list(read('{"z": 1, "a": {"y": 2, "b": 3}}')["a"]) == ["y", "b"]
    assert read('{"n": 12345678901234567890123}') == {"n": 12345678901234567890123}
    assert read("") == read("  ") == read("{}") == {}
    for broken in ("{", "[]", "1", "null", '{"a": NaN}', "[" * 10_000):
        with pytest.raises(UsageError, match="the arguments of call 'a' in message 0 are no JSON"):
            read(broken)


def test_results_are_named_by_the_calls_before_them() -> None:
    """By the last one of their id, for ids may occur again; one that is named needs none."""
    prompt = laid(
        user("q"),
        assistant(ToolCall(id="", name="old", arguments="")),
        user(result(""), ToolResult(call_id="x", parts=(), name="own")),
        assistant(ToolCall(id="", name="new", arguments="")),
        user(result("")),
    )
    assert names_of(turns_of(prompt, Api.GENERATE)) == {2: "old", 3: "own", 5: "new"}


def test_a_result_that_nothing_names_is_refused() -> None:
    """A call behind it does not count."""
    prompt = laid(user(result("x")), assistant(ToolCall(id="x", name="n", arguments="")))
    with pytest.raises(UsageError, match="the ToolResult in message 0 names no tool"):
        names_of(turns_of(prompt, Api.GENERATE))


IDS = st.lists(st.sampled_from("abc"), max_size=3)


@given(calls=IDS, results=IDS, before=st.booleans())
def test_results_pass_exactly_where_they_are_the_calls(
    calls: list[str], results: list[str], *, before: bool
) -> None:
    """Counted: as many of each id, none behind a text."""
    answers: list[Any] = [result(one) for one in results]
    said = (
        user("q"),
        assistant("a", *(call(one) for one in calls)),
        user(*([Text("b"), *answers] if before else [*answers, Text("b")])),
    )
    if sorted(calls) == sorted(results) and not (before and results):
        check(*said)
    else:
        with pytest.raises(UsageError):
            check(*said)


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("toolu_01-a", set(APIS)),
        ("", {Api.GENERATE}),
        ("a.b:c", set(APIS) - {Api.MESSAGES}),
        ("a" * 65, set(APIS) - {Api.CONVERSE}),
        ("a b", {Api.CHAT, Api.RESPONSES, Api.GENERATE}),
    ],
)
def test_ids_that_an_api_does_not_take_are_refused(name: str, taken: set[Api]) -> None:
    """They are the model's, so they are not made anew; another API may have made them."""
    for api in APIS:
        said = (user("q"), assistant(call(name)), user(result(name)))
        if api in taken:
            check(*said, api=api)
        else:
            with pytest.raises(UsageError, match=f"which {api} does not take"):
                check(*said, api=api)


def test_a_native_block_that_is_no_object_answers_no_call() -> None:
    """It is refused as it is written, with its place, if the calls have their results."""
    broken = Native(api=Api.MESSAGES, json="[]")
    with pytest.raises(UsageError, match="call 'a' has no result in message 2"):
        check(user("q"), assistant(call()), user(broken))
    with pytest.raises(UsageError, match="the Native in message 0 holds no JSON object"):
        messages(laid(user(broken)), UNMARKED, model="m", options={"max_tokens": 5})


def test_a_native_block_that_is_no_result_answers_no_call_without_an_id() -> None:
    """Gemini's calls need have none, and then a result is told by its tool's name."""
    called = ToolCall(id="", name="search", arguments="")
    named = native(Api.GENERATE, functionResponse={"name": "search", "response": {"x": 1}})
    check(user("q"), assistant(called), user(named), api=Api.GENERATE)
    other = native(Api.GENERATE, videoMetadata={})
    with pytest.raises(UsageError, match="call '' has no result"):
        check(user("q"), assistant(called), user(other), api=Api.GENERATE)
