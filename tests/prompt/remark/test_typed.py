"""Bodies with marks are of the types that the official client declares: no list for a string."""

from typing import Any

import pytest
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

from stemcache.errors import UsageError
from stemcache.prompt.marks.forecasts import AlwaysAlive
from stemcache.prompt.marks.placement import Placed, Placement
from stemcache.prompt.remark.lay import laid_of
from stemcache.prompt.remark.marked import marked
from stemcache.prompt.remark.write import written
from stemcache.trace.spans.prompt import prompt_of
from stemcache.wire.api import Api
from tests.prompt.typed_dicts import misfits

Body = dict[str, Any]
CHAT: Any = CompletionCreateParamsNonStreaming
RESPONSES: Any = ResponseCreateParamsNonStreaming
RULES = "rules " * 5000
STRINGS: list[Body] = [
    {
        "type": "mcp_call",
        "id": "mcp_1",
        "name": "t",
        "server_label": "s",
        "arguments": "{}",
        "output": "found",
    },
    {"type": "local_shell_call_output", "id": "sh_1", "output": '{"stdout":"a"}'},
    {"type": "apply_patch_call_output", "call_id": "p", "status": "completed", "output": "done"},
    {"type": "message", "role": "assistant", "content": "yes"},
]
"""Items of Responses whose text is a string and no list of parts."""


def asked(*items: Body) -> Body:
    """A body for Responses, with rules before the items that are long enough to be kept."""
    asks: Body = {"type": "message", "role": "user", "content": "q"}
    return {"model": "gpt-5.6", "instructions": RULES, "input": [asks, *items]}


@pytest.mark.parametrize("at", [None, *range(len(STRINGS))])
def test_what_responses_takes_as_a_string_stays_one(at: int | None) -> None:
    """All in a row before a question, and each at the end; and none may bear a mark."""
    last: Body = {"type": "message", "role": "user", "content": "next"}
    items = [*STRINGS, last] if at is None else [STRINGS[at]]
    body = asked(*items)
    made = marked(body, Api.RESPONSES).body
    assert misfits(made, RESPONSES) == []
    pieces = laid_of(prompt_of(body, Api.RESPONSES)).pieces[2:]
    for item, found, piece in zip(items, made["input"][1:], pieces, strict=True):
        assert (found == item, piece.markable) == ((True, False) if item != last else (False, True))


def test_outputs_of_the_callers_tools_become_lists() -> None:
    """Of functions, which may be marked, and of custom tools; an empty one has nothing to list."""
    outputs: list[Body] = [
        {"type": f"{kind}_output", "call_id": kind, "output": "r"}
        for kind in ("function_call", "custom_tool_call")
    ]
    empty: Body = {"type": "function_call_output", "call_id": "c", "output": ""}
    made = marked(asked(*outputs, empty, {"role": "user", "content": "next"}), Api.RESPONSES).body
    assert misfits(made, RESPONSES) == []
    assert [one["output"] for one in made["input"][1:4]] == [
        [{"type": "input_text", "text": "r"}],
        [{"type": "input_text", "text": "r"}],
        "",
    ]


def test_items_of_no_known_type_are_left_alone() -> None:
    """A type that is no string too: what an API refuses is for the API to say."""
    strange: list[Body] = [
        {"type": ["function_call_output"], "role": "user", "content": "a"},
        {"type": "new_call_output", "output": "b"},
        {"role": "assistant", "output": "c"},
    ]
    made = marked(asked(*strange), Api.RESPONSES).body
    assert made["input"][2:] == strange[1:]
    assert made["input"][1]["content"][0]["text"] == "a"


@pytest.mark.parametrize("boundary", [3, 4, 5, 6])
def test_a_mark_where_responses_has_no_place_is_an_error(boundary: int) -> None:
    """Instead of a member, or a list, that the API answers 400 to."""
    body = asked(*STRINGS)
    placement = Placement(
        marks=(Placed(boundary),),
        expected_usd=None,
        expected_read_tokens=0.0,
        expected_written_tokens=0.0,
    )
    with pytest.raises(UsageError, match="where responses lets none stand; place it behind"):
        written(body, prompt_of(body, Api.RESPONSES), placement, breakpoints=True)


@pytest.mark.parametrize("model", ["gpt-5.6", "qwen-max"])
def test_results_of_functions_before_there_were_tools_stay_strings(model: str) -> None:
    """A chat's message of the role `function` has no list for its content, and bears no mark."""
    told: list[Body] = [
        {"role": "system", "content": RULES},
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "r " * 5000},
    ]
    made = marked({"model": model, "messages": told}, Api.CHAT).body
    assert made["messages"][3] == told[3]
    assert isinstance(made["messages"][0]["content"], list)
    if model == "gpt-5.6":
        assert misfits(made, CHAT) == []


@pytest.mark.parametrize(
    ("model", "api"),
    [("gpt-5.6", Api.CHAT), ("gpt-5.6", Api.RESPONSES), ("qwen-max", Api.CHAT)],
)
def test_texts_are_listed_before_there_is_a_mark(model: str, api: Api) -> None:
    """A conversation too short to be kept has the form that it has when it is longer."""
    name = "messages" if api is Api.CHAT else "input"
    told: list[Body] = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    short = marked({"model": model, name: told[:1]}, api)
    asks: Body = {"role": "user", "content": RULES}
    long = marked({"model": model, name: [*told, asks]}, api)
    assert short.placement is not None
    assert not short.placement.marks
    assert long.body[name][0] == short.body[name][0]
    assert isinstance(short.body[name][0]["content"], list)


@pytest.mark.parametrize("model", ["gpt-5.6", "qwen-max"])
def test_a_result_of_nothing_bears_no_mark(model: str) -> None:
    """Where one mark may be set and all is read again, one stands on what comes before at most."""
    call: Body = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    told: list[Body] = [
        {"role": "user", "content": RULES},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": ""},
    ]
    body: Body = {"model": model, "messages": told}
    found = marked(body, Api.CHAT, forecast=AlwaysAlive, most=1)
    assert found.placement is not None
    assert {one.boundary for one in found.placement.marks} <= {1}
    able = [piece.markable for piece in laid_of(prompt_of(body, Api.CHAT)).pieces]
    assert able == [True, False, False]
    assert found.body["messages"][2] == told[2]
