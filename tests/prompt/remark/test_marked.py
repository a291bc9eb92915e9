"""Marks in bodies that others made: put where they are to stand, and nowhere else."""

import copy
import json
import random
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.marks.forecasts import AlwaysAlive
from stemcache.prompt.marks.placement import Placed, Placement
from stemcache.prompt.remark.lay import laid_of
from stemcache.prompt.remark.marked import marked
from stemcache.prompt.remark.write import written
from stemcache.prompt.stability import Stability
from stemcache.trace.spans.prompt import prompt_of
from stemcache.wire.api import Api
from tests.lint.logs import anthropic, chat, prose, tool

Body = dict[str, Any]
MARKS = ("cache_control", "prompt_cache_breakpoint")


def bare(value: Any) -> Any:
    """The value without marks."""
    if isinstance(value, dict):
        return {key: bare(inner) for key, inner in value.items() if key not in MARKS}
    if isinstance(value, list):
        return [bare(one) for one in value if not (isinstance(one, dict) and "cachePoint" in one)]
    return value


def plain(value: Any) -> Any:
    """Lists of one text as that text, and without marks: two spellings of one prompt."""
    if isinstance(value, dict):
        found = {key: plain(inner) for key, inner in bare(value).items()}
        if set(found) == {"type", "text"}:
            return found["text"]
        return found
    if isinstance(value, list):
        items = [plain(one) for one in bare(value)]
        return items[0] if len(items) == 1 and isinstance(items[0], str) else items
    return value


def placement(*boundaries: int, ttl: str | None = None, implicit: bool = True) -> Placement:
    """Marks there."""
    return Placement(
        marks=tuple(Placed(one, ttl) for one in boundaries),
        expected_usd=None,
        expected_read_tokens=0.0,
        expected_written_tokens=0.0,
        implicit=implicit,
    )


def messages_body(chance: random.Random) -> Body:
    """Messages, with texts as strings and as lists, calls, results and pictures."""
    content: list[Any] = []
    for turn in range(chance.randint(1, 5)):
        text = prose(chance.randint(1, 30), turn)
        said: Any = text if chance.random() < 0.5 else [{"type": "text", "text": text}]
        content.append({"role": "user", "content": said})
        if chance.random() < 0.5:
            call = {"type": "tool_use", "id": f"t{turn}", "name": "look", "input": {"q": turn}}
            content.append({"role": "assistant", "content": [call]})
            result: Body = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": text}
            picture = {"type": "image", "source": {"type": "url", "url": "https://a/b.png"}}
            if chance.random() < 0.5:
                result["content"] = [{"type": "text", "text": text}, picture]
            content.append({"role": "user", "content": [result, picture]})
        content.append({"role": "assistant", "content": f"answer {turn}"})
    content.append({"role": "user", "content": "last"})
    system = prose(20, 1)
    return {
        "model": "claude-opus-5",
        "max_tokens": 9,
        "tools": [tool(f"t{i}", i) for i in range(chance.randint(0, 3))],
        "system": system if chance.random() < 0.5 else [{"type": "text", "text": system}],
        "messages": content,
    }


def chat_body(chance: random.Random) -> Body:
    """Chat, with calls and their results."""
    found: list[Any] = [{"role": "system", "content": prose(20, 1)}]
    for turn in range(chance.randint(1, 5)):
        text = prose(chance.randint(1, 30), turn)
        parts = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": "u"}}]
        found.append({"role": "user", "content": text if chance.random() < 0.5 else parts})
        if chance.random() < 0.5:
            function = {"name": "look", "arguments": '{"q": 1}'}
            calls = [{"id": f"t{turn}", "type": "function", "function": function}]
            found.append({"role": "assistant", "content": None, "tool_calls": calls})
            found.append({"role": "tool", "tool_call_id": f"t{turn}", "content": text})
        found.append({"role": "assistant", "content": f"answer {turn}"})
    found.append({"role": "user", "content": "last"})
    return {"model": "gpt-5.6", "messages": found}


def responses_body(chance: random.Random) -> Body:
    """Responses, made of a chat."""
    items: list[Any] = []
    for message in chat_body(chance)["messages"]:
        if message["role"] == "tool":
            items.append(
                {
                    "type": "function_call_output",
                    "call_id": message["tool_call_id"],
                    "output": message["content"],
                }
            )
        elif message.get("tool_calls"):
            call = message["tool_calls"][0]
            items.append({"type": "function_call", "call_id": call["id"], **call["function"]})
        elif isinstance(message["content"], list):
            text = {"type": "input_text", "text": message["content"][0]["text"]}
            picture = {"type": "input_image", "image_url": "u"}
            items.append({"role": message["role"], "content": [text, picture]})
        else:
            items.append(message)
    return {"model": "gpt-5.6", "input": items}


def converse_body(chance: random.Random) -> Body:
    """Converse."""
    return {
        "modelId": "anthropic.claude-opus-5-v1:0",
        "system": [{"text": prose(20, 1)}, {"text": "Be kind."}],
        "toolConfig": {
            "tools": [
                {"toolSpec": {"name": f"t{i}", "inputSchema": {"json": {}}}}
                for i in range(chance.randint(1, 3))
            ]
        },
        "messages": [
            {"role": ("user", "assistant")[i % 2], "content": [{"text": prose(9, i)}] * 2}
            for i in range(chance.choice([1, 3, 5]))
        ],
    }


MAKERS = {
    Api.MESSAGES: messages_body,
    Api.CHAT: chat_body,
    Api.RESPONSES: responses_body,
    Api.CONVERSE: converse_body,
}


CASES = [pytest.param(api, seed, id=f"{api}-{seed}") for api in MAKERS for seed in range(40)]


@pytest.mark.parametrize(("api", "seed"), CASES)
def test_marks_come_back_from_where_they_were_put(api: Api, seed: int) -> None:
    """Read again, each mark stands behind its block, and nothing else is another."""
    chance = random.Random(seed)
    body = MAKERS[api](chance)
    before = copy.deepcopy(body)
    prompt = prompt_of(body, api)
    able = [at for at, piece in enumerate(laid_of(prompt).pieces, 1) if piece.markable]
    chosen = sorted(chance.sample(able, min(len(able), chance.randint(1, 4))))
    ttl = chance.choice([None, "1h"])
    breakpoints = api in {Api.CHAT, Api.RESPONSES}

    made = written(body, prompt, placement(*chosen, ttl=ttl), breakpoints=breakpoints)

    assert body == before
    again = prompt_of(made, api)
    assert [at for at, span in enumerate(again.spans, 1) if span.marker] == chosen
    assert {span.marker.ttl for span in again.spans if span.marker} == {ttl}
    assert [(one.text, one.kind, one.role) for one in again.spans] == [
        (one.text, one.kind, one.role) for one in prompt.spans
    ]
    assert plain(made) == plain(body)
    assert json.dumps(bare(made)).count('"text"') >= json.dumps(body).count('"text"')


@pytest.mark.parametrize(("api", "seed"), CASES)
def test_a_mark_that_moves_changes_nothing_that_it_leaves_behind(api: Api, seed: int) -> None:
    """Two placements in one body differ in marks alone.

    But for Anthropic's strings, which are the same to it as a list of one text.
    """
    body = MAKERS[api](random.Random(seed))
    prompt = prompt_of(body, api)
    able = [at for at, piece in enumerate(laid_of(prompt).pieces, 1) if piece.markable]
    breakpoints = api in {Api.CHAT, Api.RESPONSES}
    one, other = (
        bare(written(body, prompt, placement(at), breakpoints=breakpoints))
        for at in (able[0], able[-1])
    )
    if api is Api.MESSAGES:
        one, other = plain(one), plain(other)
    assert one == other


def test_the_best_marks_stand_behind_rules_and_behind_the_newest_message() -> None:
    """For a chat under Anthropic's rule."""
    found = marked(bare(anthropic(4)), Api.MESSAGES)
    prompt = prompt_of(found.body, Api.MESSAGES)
    assert [span.pointer for span in prompt.spans if span.marker] == [
        "/system/0",
        "/messages/6/content/0",
    ]
    assert found.placement is not None
    assert found.placement.expected_usd


def test_breakpoints_are_written_for_models_that_have_them() -> None:
    """From gpt-5.6 on; Anthropic's word in chats of those who took it over; before, none."""
    assert '"prompt_cache_breakpoint"' in json.dumps(
        marked(chat(4, model="gpt-5.6"), Api.CHAT).body
    )
    assert '"cache_control"' in json.dumps(marked(chat(4, model="qwen-max"), Api.CHAT).body)
    old = marked(chat(4), Api.CHAT)
    assert old.body == chat(4)
    assert old.why == ("rule openai-pre-5.6 has no marks in chat",)


def test_nothing_behind_a_clock_is_marked() -> None:
    """What is written behind it is never read: the place of the clock is what is to be mended."""
    body = bare(anthropic(4))
    body["system"][0]["text"] = f"It is 2026-11-30T09:15:02Z.\n{body['system'][0]['text']}"
    prompt = prompt_of(body, Api.MESSAGES)
    found = marked(body, Api.MESSAGES)
    assert found.body == body
    laid = laid_of(prompt)
    assert [piece.stability for piece in laid.pieces[3:5]] == [Stability.TURN, Stability.SESSION]


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.update(cache_control={"type": "ephemeral"}),
        lambda body: body["tools"][0].update(cache_control={"type": "ephemeral"}),
        lambda body: body["messages"][0]["content"][0].update(cache_control=None),
    ],
    ids=["automatic", "tool", "null"],
)
def test_where_the_caller_marks_nothing_is_done(change: Any) -> None:
    """Any mark of theirs, wherever it is, and one that says no."""
    body = bare(anthropic(3))
    change(body)
    found = marked(body, Api.MESSAGES)
    assert (found.body, found.placement) == (body, None)
    assert found.why == ("the caller has placed marks",)


def test_openais_mode_is_a_mark_too() -> None:
    """Whoever turns the API's own breakpoints off knows what they do."""
    body = chat(3, model="gpt-5.6") | {"prompt_cache_options": {"mode": "explicit"}}
    assert marked(body, Api.CHAT).why == ("the caller has placed marks",)


@pytest.mark.parametrize(
    ("body", "api", "why"),
    [
        ({}, Api.MESSAGES, "the body cannot be read: messages is no list"),
        (chat(2, model="nobody-1"), Api.CHAT, "no rule is known for this model"),
        ({"model": "gemini-3.8-flash", "contents": []}, Api.GENERATE, "has no marks in generate"),
    ],
    ids=["unreadable", "unknown", "objects"],
)
def test_what_cannot_be_marked_is_given_back(body: Body, api: Api, why: str) -> None:
    """With the reason."""
    found = marked(body, api)
    assert found.body == body
    assert why in found.why[0]


def test_a_forecast_and_a_most_are_obeyed() -> None:
    """One mark where one is allowed; where all is read again, the newest message has one."""
    body = bare(anthropic(4))
    found = marked(body, Api.MESSAGES, forecast=AlwaysAlive, most=1)
    assert found.placement is not None
    assert [one.boundary for one in found.placement.marks] == [
        len(prompt_of(body, Api.MESSAGES).spans)
    ]


def test_a_placement_that_is_given_is_written() -> None:
    """And boundaries that there are not are an error with three parts."""
    body = bare(anthropic(1))
    found = marked(body, Api.MESSAGES, placement=placement(2))
    assert found.body["tools"][1]["cache_control"] == {"type": "ephemeral"}
    with pytest.raises(UsageError, match=r"boundary 99, among 5 blocks; boundaries go from 1"):
        marked(body, Api.MESSAGES, placement=placement(99))
    prompt = prompt_of({"contents": []}, Api.GENERATE)
    with pytest.raises(UsageError, match="has no marks; place none"):
        written({"contents": []}, prompt, placement(1), breakpoints=False)


def test_own_breakpoints_are_turned_off_where_the_placement_does() -> None:
    """The mode goes into the body."""
    body = chat(2, model="gpt-5.6")
    found = marked(body, Api.CHAT, placement=placement(1, implicit=False))
    assert found.body["prompt_cache_options"] == {"mode": "explicit"}


@pytest.mark.parametrize("given", [None, [], "text", 3])
def test_what_is_no_body_is_the_callers_error(given: Any) -> None:
    """With its type, and what to give."""
    with pytest.raises(UsageError, match=r"the body is .*; give the body of a request"):
        marked(given, Api.MESSAGES)


@pytest.mark.parametrize("given", [3, [], {}, object(), "no"])
@pytest.mark.parametrize(
    "name", ["provider", "host", "model", "forecast", "most", "placement", "book"]
)
def test_arguments_of_other_types_are_told_by_name(name: str, given: Any) -> None:
    """Where they come in, not where they are used."""
    fits = (given == "no" and name in {"host", "model"}) or (given == 3 and name == "most")
    if fits:
        assert marked({"messages": []}, Api.MESSAGES, **{name: given}).body == {"messages": []}
        return
    with pytest.raises(UsageError, match=name):
        marked({"messages": []}, Api.MESSAGES, **{name: given})


def test_an_api_that_there_is_not_is_told_with_the_nearest() -> None:
    """As a text it is taken too."""
    wrong: Any = "massages"
    with pytest.raises(UsageError, match="unknown api 'massages' from marked; did you mean"):
        marked({"messages": []}, wrong)
