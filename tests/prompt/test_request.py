import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.conversation.conversation import Conversation
from stemcache.prompt.marks.forecasts import AlwaysAlive
from stemcache.prompt.marks.placement import Placed
from stemcache.prompt.message import Message
from stemcache.prompt.part import Text
from stemcache.prompt.render.generate import create
from stemcache.prompt.request import Layout, Plan
from stemcache.prompt.segment import session, static, turn
from stemcache.prompt.stability import Stability
from stemcache.prompt.tool import Tool
from stemcache.provider.book import load_book
from stemcache.wire.api import Api

RULES = "Be brief. " * 4_000
TOOL = Tool(name="find", description="Finds.", schema={"type": "object", "properties": {}})
LAYOUT = Layout([static("rules", RULES), session("who", "Ann " * 2_000)], [TOOL])
NOW = turn("now", "It is 05:14:01.")
CLAUDE, GPT, GEMINI = "claude-opus-5-5", "gpt-6-sol", "gemini-4-argon"
OPUS = "anthropic.claude-opus-4-7-v1:0"
_MARKS = {"cache_control", "prompt_cache_breakpoint", "cachePoint"}


def _asked(*questions: str) -> Conversation:
    conversation = Conversation()
    for question in questions:
        if len(conversation.messages) % 2:
            conversation.append(Message("assistant", (Text("Yes."),)))
        conversation.user(question)
    return conversation


def _marks(node: Any) -> Iterator[Any]:
    """Every mark of a body, however it is written."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name in _MARKS:
                yield value
            else:
                yield from _marks(value)
    elif isinstance(node, list):
        for one in node:
            yield from _marks(one)


@pytest.mark.parametrize(
    ("provider", "model", "api", "members"),
    [
        ("anthropic", CLAUDE, Api.MESSAGES, {"model", "max_tokens", "tools", "system", "messages"}),
        ("vertex", CLAUDE, Api.MESSAGES, {"model", "max_tokens", "tools", "system", "messages"}),
        ("bedrock", OPUS, Api.CONVERSE, {"modelId", "toolConfig", "system", "messages"}),
        ("openai", GPT, Api.CHAT, {"model", "tools", "messages"}),
        ("openai", "gpt-5.5", Api.CHAT, {"model", "tools", "messages"}),
        ("gemini", GEMINI, Api.GENERATE, {"model", "tools", "systemInstruction", "contents"}),
        ("vertex", GEMINI, Api.GENERATE, {"model", "tools", "systemInstruction", "contents"}),
        ("vllm", "any", Api.CHAT, {"model", "tools", "messages"}),
    ],
)  # fmt: skip
def test_each_provider_is_written_in_its_own_api(
    provider: str, model: str, api: Api, members: set[str]
) -> None:
    """The members are those of the API; the model is named as it was given."""
    plan = LAYOUT.plan(provider, model, _asked("Where?"))
    options = {"max_tokens": 9} if api is Api.MESSAGES else {}
    body = plan.body(options)
    assert plan.api is api
    assert set(body) == members
    assert body.get("model", body.get("modelId")) in {model, f"models/{model}"}


@pytest.mark.parametrize(
    ("provider", "model", "kind", "count"),
    [
        ("anthropic", CLAUDE, "markers", 1),
        ("bedrock", OPUS, "markers", 1),
        ("openai", GPT, "breakpoints", 1),
        ("openai", "gpt-5.5", "units", 0),
        ("gemini", GEMINI, "units", 0),
        ("deepseek", "deepseek-v4-flash", "persisted-units", 0),
        ("mistral", "mistral-large", "usage-only", 0),
    ],
)
def test_marks_follow_the_providers_rule(provider: str, model: str, kind: str, count: int) -> None:
    """As many as the placement has; none where the provider keeps prefixes by itself."""
    plan = LAYOUT.plan(provider, model, _asked("Where?"), [NOW])
    assert plan.rule is not None
    assert plan.rule.kind == kind
    body = plan.body({"max_tokens": 9})
    assert len(list(_marks(body))) == len(plan.placement.marks)
    assert bool(plan.placement.marks) is bool(count)


@pytest.mark.parametrize(
    ("provider", "model", "marker"),
    [("qwen", "qwen3.7-max", "cache_control"), ("openai", GPT, "prompt_cache_breakpoint")],
)
def test_a_chat_has_the_mark_that_its_server_knows(provider: str, model: str, marker: str) -> None:
    """Anthropic's word for it where rules are its own, OpenAI's where they are not."""
    body = LAYOUT.request(provider, model, _asked("Where?"), api=Api.CHAT, explicit=True)
    assert f'"{marker}"' in json.dumps(body)


def test_explicit_marks_are_chosen_where_a_provider_has_both() -> None:
    """By itself Qwen reads what prompts share."""
    implicit = LAYOUT.plan("qwen", "qwen3.7-max", _asked("Where?"))
    assert (implicit.rule is not None and implicit.rule.kind, implicit.placement.marks) == (
        "units",
        (),
    )
    explicit = LAYOUT.plan("qwen", "qwen3.7-max", _asked("Where?"), explicit=True)
    assert explicit.placement.marks


def test_a_turn_is_a_message_of_its_own_where_messages_are_read_at_their_ends() -> None:
    """OpenAI from 5.6; elsewhere it is a block of the last message, behind the last mark."""
    chat = LAYOUT.request("openai", GPT, _asked("Where?"), [NOW])
    assert [one["role"] for one in chat["messages"]] == ["system", "user", "user"]
    claude = LAYOUT.request("anthropic", CLAUDE, _asked("Where?"), [NOW], options={"max_tokens": 9})
    (message,) = claude["messages"]
    assert [block["text"] for block in message["content"]] == ["Where?", "It is 05:14:01."]
    assert "cache_control" not in message["content"][-1]


@pytest.mark.parametrize(
    ("provider", "model", "members"),
    [
        ("anthropic", CLAUDE, ("tools", "system", "messages")),
        ("openai", GPT, ("tools", "messages")),
        ("bedrock", OPUS, ("toolConfig", "system", "messages")),
    ],
)
def test_the_next_request_begins_with_what_the_one_before_kept(
    provider: str, model: str, members: tuple[str, ...]
) -> None:
    """A prompt that went on has all blocks of the one before but its turn, marks aside."""
    asked = [_asked(*"abcdef"[: count + 1]) for count in range(6)]
    options = {"max_tokens": 9} if provider == "anthropic" else {}
    bodies = []
    for number, one in enumerate(asked):
        now = turn("now", f"It is 05:14:0{number}.")
        bodies.append(LAYOUT.request(provider, model, one, [now], options=options))
    for before, after in pairwise(bodies):
        kept = [one for one in _blocks(before, members) if "05:14" not in one]
        assert _blocks(after, members)[: len(kept)] == kept


@pytest.mark.parametrize(
    ("provider", "model", "explicit"),
    [
        ("openai", GPT, False),
        ("openai", "gpt-5.5", False),
        ("deepseek", "deepseek-chat", False),
        ("vllm", "my-model", False),
        ("qwen", "qwen3.7-max", True),
    ],
)
@pytest.mark.parametrize("with_turn", [False, True])
def test_content_keeps_its_form_while_a_conversation_grows(
    provider: str, model: str, *, explicit: bool, with_turn: bool
) -> None:
    """From below a minimum, where there are no marks, to behind it: list or string, never both."""
    layout = Layout([static("rules", "Be brief. " * 300)])
    forms = set()
    for count in range(1, 9):
        told = _asked(*("x " * 600 for _ in range(count)))
        now = [turn("now", f"It is 05:14:0{count}.")] if with_turn else []
        body = layout.request(provider, model, told, now, api=Api.CHAT, explicit=explicit)
        forms |= {type(one["content"]) for one in body["messages"]}
    assert forms == ({list} if explicit or model == GPT else {str})


def _blocks(body: dict[str, Any], members: tuple[str, ...]) -> list[str]:
    """Content blocks and tools as texts without their marks."""
    found: list[str] = []
    for member in members:
        section = body[member]
        for one in section["tools"] if isinstance(section, dict) else section:
            inside = one.get("content")
            for block in inside if isinstance(inside, list) else [one]:
                bare = {name: value for name, value in block.items() if name not in _MARKS}
                if bare:
                    found.append(f"{one.get('role')} {json.dumps(bare)}")
    return found


def test_messages_may_be_given_without_a_conversation() -> None:
    """The same body as from a conversation of them."""
    conversation = _asked("Where?", "When?")
    options = {"max_tokens": 9}
    assert LAYOUT.request(
        "anthropic", CLAUDE, conversation.messages, options=options
    ) == LAYOUT.request("anthropic", CLAUDE, conversation, options=options)


def test_a_forecast_is_made_of_what_was_laid() -> None:
    """Also of the turn; it decides which lifetime is paid for."""
    seen: list[int] = []

    def forecast(laid: Any) -> AlwaysAlive:
        seen.append(len(laid.pieces))
        return AlwaysAlive(laid)

    LAYOUT.plan("anthropic", CLAUDE, _asked("Where?"), [NOW], forecast=forecast)
    assert seen == [5]


def test_without_a_forecast_a_conversation_is_worth_the_usual_lifetime() -> None:
    """One in ten ends here: what only it would read is not written for an hour."""
    plan = LAYOUT.plan("anthropic", CLAUDE, _asked("Where?"))
    assert plan.placement.marks[-1].boundary > 2
    assert plan.placement.marks[-1].ttl in {None, "5m"}
    assert plan.price is not None
    assert plan.placement.expected_usd is not None


def test_fewer_marks_can_be_asked_for() -> None:
    """Where somebody else's marks are in the request."""
    plan = LAYOUT.plan("anthropic", CLAUDE, _asked("Where?"), most=0)
    assert plan.placement.marks == ()


def test_a_cached_object_is_made_once_and_named_in_each_request() -> None:
    """Its placement is kept, since the object ends where it was made to end."""
    plan = LAYOUT.plan(
        "gemini", GEMINI, _asked("Where?"), [NOW], explicit=True, forecast=AlwaysAlive
    )
    assert len(plan.placement.marks) == 1
    made = create(plan.laid, plan.placement, model=GEMINI, options={})
    assert "systemInstruction" in made
    body = LAYOUT.request(
        "gemini", GEMINI, _asked("Where?", "When?"), [NOW],
        explicit=True, placement=plan.placement, options={"cachedContent": "cachedContents/a"},
    )  # fmt: skip
    assert set(body) == {"model", "cachedContent", "contents"}
    assert RULES not in json.dumps(body)


def test_a_placement_that_is_given_is_used() -> None:
    """Whatever would have been better."""
    given = LAYOUT.plan("anthropic", CLAUDE, _asked("Where?")).placement
    given = type(given)(
        marks=(Placed(1, "1h"),),
        expected_usd=None,
        expected_read_tokens=0.0,
        expected_written_tokens=0.0,
    )
    body = LAYOUT.request(
        "anthropic", CLAUDE, _asked("Where?"), placement=given, options={"max_tokens": 9}
    )
    assert body["tools"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert len(list(_marks(body))) == 1


def test_a_model_without_a_rule_gets_no_marks_and_the_reason() -> None:
    """Nothing is made up; the prompt is laid and sent all the same."""
    plan = LAYOUT.plan("openai", "gpt-99", _asked("Where?"))
    assert (plan.rule, plan.placement.marks) == (None, ())
    assert plan.placement.why == (
        "no rule is known for 'gpt-99' at 'openai', so nothing is marked",
    )
    assert plan.body()["messages"][1] == {"role": "user", "content": "Where?"}


def test_a_provider_that_is_not_known_is_an_error() -> None:
    """With the nearest name."""
    with pytest.raises(UsageError, match=r"unknown provider 'antropic' .*did you mean 'anthropic'"):
        LAYOUT.request("antropic", CLAUDE)


@pytest.mark.parametrize(
    ("provider", "model", "api", "message"),
    [
        ("anthropic", CLAUDE, Api.RESPONSES, "marks of rule anthropic cannot be written; give one"),
        (
            "openai",
            GPT,
            Api.MESSAGES,
            "marks of rule openai-5.6 cannot be written; give one of chat",
        ),
        ("vllm", "any", Api.COMPLETIONS, "api is 'completions', which takes one text; give 'chat'"),
    ],
)
def test_an_api_that_has_no_word_for_the_marks_is_an_error(
    provider: str, model: str, api: Api, message: str
) -> None:
    """They would be lost without a word."""
    with pytest.raises(UsageError, match=message):
        LAYOUT.plan(provider, model, _asked("Where?"), api=api)


def test_options_are_passed_on_and_checked_by_the_renderer() -> None:
    """What the layout writes itself cannot be an option."""
    body = LAYOUT.request("openai", "gpt-5.5", _asked("Where?"), options={"temperature": 0})
    assert body["temperature"] == 0
    with pytest.raises(UsageError, match="option 'messages' is written by the layout"):
        LAYOUT.request("openai", "gpt-5.5", _asked("Where?"), options={"messages": []})
    with pytest.raises(UsageError, match="options have no max_tokens"):
        LAYOUT.request("anthropic", CLAUDE, _asked("Where?"))


def test_a_book_of_ones_own_is_asked_instead() -> None:
    """An alias that only it knows resolves to a model's rule; the alias is what is sent."""
    book = load_book(overrides=[{"alias": {"prod": GPT}}])
    plan = LAYOUT.plan("openai", "prod", _asked("Where?"), book=book)
    assert plan.rule is not None
    assert plan.rule.name == "openai-5.6"
    assert plan.body()["model"] == "prod"


@pytest.mark.parametrize("api", [Api.CHAT, Api.RESPONSES])
def test_equal_prompts_have_equal_bytes(api: Api) -> None:
    """Whatever order tools and keys were written in."""
    one = Layout(
        [static("rules", "x")], [TOOL, Tool(name="a", description="", schema={"b": 1, "a": 2})]
    )
    other = Layout(
        [static("rules", "x")], [Tool(name="a", description="", schema={"a": 2, "b": 1}), TOOL]
    )
    options = ({"temperature": 1, "top_p": 0.5}, {"top_p": 0.5, "temperature": 1})
    texts = {
        json.dumps(layout.request("openai", GPT, _asked("Where?"), options=given, api=api))
        for layout in (one, other)
        for given in options
    }  # fmt: skip
    assert len(texts) == 1


def test_a_plan_says_what_stands_where() -> None:
    """Pieces, marks and reasons, before anything is written."""
    plan = LAYOUT.plan("anthropic", CLAUDE, _asked("Where?"))
    assert isinstance(plan, Plan)
    assert plan.laid.pieces[1].part == Text(RULES)
    assert all(isinstance(one, str) for one in plan.placement.why)


def test_a_plans_options_are_those_of_its_body() -> None:
    """Unless the body is asked for with others."""
    plan = LAYOUT.plan("openai", "gpt-5.5", _asked("Where?"), options={"temperature": 0})
    assert plan.body()["temperature"] == 0
    assert plan.body({"top_p": 1}) == {
        **LAYOUT.request("openai", "gpt-5.5", _asked("Where?")),
        "top_p": 1,
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"api": "respnses"}, "unknown api 'respnses' from request; did you mean 'responses'"),
        ({"most": "2"}, "most is of type str; give a whole number from 0 on"),
        ({"held": [3]}, r"held\[0\] is of type int; give a list of Held"),
        ({"options": [1]}, "options is of type list; give a dictionary"),
        ({"provider": None}, "provider is None; give a name"),
        ({"provider": "antropic"}, "unknown provider 'antropic' from provider; did you mean"),
        ({"model": 5}, "model is of type int; give its name"),
        ({"forecast": 1}, "forecast is of type int; give a function of what is laid"),
        ({"memory": {}}, "memory is of type dict; give the Memory"),
        ({"placement": []}, "placement is of type list; give what plan"),
        ({"book": "b"}, r"book is of type str; give what load_book"),
        ({"turn": turn("now", "x")}, r"turn is of type Segment; give a list of turn"),
        ({"conversation": "hi"}, "the history is of type str; give a Conversation or"),
        ({"conversation": [{"role": "user"}]}, r"the history\[0\] is of type dict; give a Conver"),
    ],
)
def test_what_is_no_such_value_is_told_at_the_door(given: dict[str, Any], said: str) -> None:
    """Before anything is laid."""
    with pytest.raises(UsageError, match=said):
        Layout([static("rules", "Be brief.")]).plan(
            **{"provider": "openai", "model": "gpt-5.6", **given}
        )


def test_why_names_a_tool_that_keeps_what_is_behind_it_from_being_shared() -> None:
    """Tools stand first, so that one of a session makes the rules its own."""
    rules = static("rules", "Be brief. " * 2000)

    def why(stability: Stability) -> tuple[str, ...]:
        tool = Tool(name="refund", description="Pays.", schema={}, stability=stability)
        layout = Layout([rules], [tool])
        history = [Message("user", (Text("q"),))]
        return layout.plan("anthropic", "claude-opus-5-5", history).placement.why

    assert why(Stability.SESSION)[0].startswith(
        "tool 'refund' is declared session and stands before 5,000 tokens that are more stable"
    )
    assert not any("refund" in one for one in why(Stability.STATIC))


@pytest.mark.parametrize("model", ["", "  "])
def test_a_model_without_a_name_is_refused(model: str) -> None:
    """No API has one."""
    with pytest.raises(UsageError, match="model is empty; give its name"):
        Layout([]).request("openai", model, [Message("user", (Text("q"),))])
