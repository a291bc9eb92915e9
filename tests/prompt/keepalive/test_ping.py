"""What a ping is for each API: all that keys the cache stays, and the least is answered."""

from copy import deepcopy
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.keepalive.ping import ping
from stemcache.provider.book import load_book
from stemcache.trace.calls.pointer import follow, parsed_pointer
from stemcache.wire.api import Api

MESSAGES: dict[str, Any] = {
    "model": "claude-opus-4-5",
    "max_tokens": 4_096,
    "stream": True,
    "system": [{"type": "text", "text": "rules", "cache_control": {"type": "ephemeral"}}],
    "tools": [{"name": "search", "input_schema": {"type": "object"}}],
    "messages": [{"role": "user", "content": "hello"}],
}
CHAT: dict[str, Any] = {
    "model": "gpt-5.6",
    "messages": [{"role": "user", "content": "hello"}],
    "stream": True,
    "stream_options": {"include_usage": True},
    "n": 3,
    "prompt_cache_key": "one",
    "reasoning_effort": "low",
    "response_format": {"type": "json_object"},
    "verbosity": "low",
}
RESPONSES: dict[str, Any] = {
    "model": "gpt-5.6",
    "input": "hello",
    "stream": True,
    "background": True,
    "prompt_cache_options": {"ttl": "30m"},
    "text": {"format": {"type": "text"}},
    "reasoning": {"effort": "low"},
}
GENERATE: dict[str, Any] = {
    "contents": [{"parts": [{"text": "hello"}]}],
    "generationConfig": {"temperature": 0.5, "maxOutputTokens": 900},
}
CONVERSE: dict[str, Any] = {
    "modelId": "anthropic.claude",
    "messages": [{"role": "user", "content": [{"text": "hello"}]}],
    "inferenceConfig": {"maxTokens": 900, "temperature": 0.5},
}
BODIES = [
    (MESSAGES, Api.MESSAGES),
    (CHAT, Api.CHAT),
    (RESPONSES, Api.RESPONSES),
    (GENERATE, Api.GENERATE),
    (CONVERSE, Api.CONVERSE),
    ({"model": "m", "prompt": "hello", "best_of": 2}, Api.COMPLETIONS),
]


@pytest.mark.parametrize(("body", "api"), BODIES)
def test_nothing_that_keys_the_cache_changes(body: dict[str, Any], api: Api) -> None:
    """Neither what the prompt is read from, nor any parameter that a rule names."""
    made = ping(body, api).body
    for name in ("messages", "input", "contents", "prompt", "system", "tools", "model", "modelId"):
        assert made.get(name) is body.get(name)
    pointers = {
        pointer
        for rule in load_book().rules.values()
        for pointer in (
            *(one for key in rule.keys for one in key.pointers),
            *(field for field in rule.routing_fields if field.startswith("/")),
        )
    }
    assert "/reasoning/effort" in pointers
    for pointer in pointers:
        parts = parsed_pointer(pointer, "a rule")
        assert follow(made, parts) == follow(body, parts), pointer


@pytest.mark.parametrize(("body", "api"), BODIES)
def test_the_callers_body_stays_as_it_is(body: dict[str, Any], api: Api) -> None:
    """To its last nested table."""
    before = deepcopy(body)
    ping(body, api)
    ping(body, api, answered=True)
    assert body == before


def test_messages_are_answered_with_nothing() -> None:
    """And not as a stream, which would be refused."""
    made = ping(MESSAGES, Api.MESSAGES)
    assert made.body["max_tokens"] == 0
    assert "stream" not in made.body
    assert made.most_output_tokens == 0


@pytest.mark.parametrize(
    ("changes", "tokens"),
    [
        ({"thinking": {"type": "enabled", "budget_tokens": 2_048}}, 2_049),
        ({"thinking": {"type": "adaptive"}}, 1),
        ({"thinking": {"type": "disabled"}}, 0),
        ({"output_config": {"format": {"type": "json_schema"}}}, 1),
        ({"output_config": {"effort": "low"}}, 0),
        ({"tool_choice": {"type": "any"}}, 1),
        ({"tool_choice": {"type": "tool", "name": "search"}}, 1),
        ({"tool_choice": {"type": "auto"}}, 0),
        ({"anthropic_version": "bedrock-2023-05-31"}, 1),
    ],
)
def test_messages_that_must_be_answered_are_with_the_least(
    changes: dict[str, Any], tokens: int
) -> None:
    """A budget of thoughts has to fit under the limit; the rest is one token."""
    made = ping({**MESSAGES, **changes}, Api.MESSAGES)
    assert made.body["max_tokens"] == made.most_output_tokens == tokens


def test_who_must_be_answered_can_say_so() -> None:
    """For servers that refuse to answer nothing."""
    assert ping(MESSAGES, Api.MESSAGES, answered=True).body["max_tokens"] == 1
    made = ping(RESPONSES, Api.RESPONSES, answered=True)
    assert made.body["max_output_tokens"] == made.most_output_tokens == 16
    assert "prewarm" not in made.body["prompt_cache_options"]


def test_chat_asks_for_one_token_of_one_answer() -> None:
    """At OpenAI by the name that the request has, for older models know the old one only."""
    made = ping(CHAT, Api.CHAT)
    assert made.body["max_completion_tokens"] == made.most_output_tokens == 1
    assert not {"stream", "stream_options", "n"} & made.body.keys()
    older = ping({**CHAT, "max_tokens": 500}, Api.CHAT).body
    assert older["max_tokens"] == 1
    assert "max_completion_tokens" not in older
    both = ping({**CHAT, "max_tokens": 500, "max_completion_tokens": 600}, Api.CHAT).body
    assert (both["max_tokens"], both["max_completion_tokens"]) == (1, 1)


@pytest.mark.parametrize(
    ("model", "provider", "name"),
    [
        ("gpt-5.6", None, "max_completion_tokens"),
        ("our-deployment", "azure", "max_completion_tokens"),
        ("deepseek-chat", None, "max_tokens"),
        ("deepseek-chat", "deepseek", "max_tokens"),
        ("mistral-large-latest", None, "max_tokens"),
        ("a-model-of-ours", None, "max_tokens"),
        ("a-model-of-ours", "vllm", "max_tokens"),
        ("a-model-of-ours", "openai", "max_completion_tokens"),
    ],
)
@pytest.mark.parametrize("given", [{}, {"max_tokens": 500}, {"max_completion_tokens": 500}])
def test_chat_limits_what_the_server_heeds(
    model: str, provider: str | None, name: str, given: dict[str, int]
) -> None:
    """DeepSeek ignores OpenAI's name and would bill a whole answer; Mistral refuses it."""
    made = ping({**CHAT, "model": model, **given}, Api.CHAT, provider=provider)
    kept = given.keys() if given and name == "max_completion_tokens" else {name}
    limits = {one: made.body[one] for one in made.body if one.startswith("max_")}
    assert limits == dict.fromkeys(kept, 1)
    assert made.most_output_tokens == 1


def test_a_server_that_nobody_knows_is_an_error_with_the_nearest() -> None:
    """As in a layout."""
    with pytest.raises(UsageError, match=r"unknown provider 'deepsek'.*did you mean 'deepseek'"):
        ping(CHAT, Api.CHAT, provider="deepsek")


@pytest.mark.parametrize(
    ("changes", "limit", "most"),
    [
        ({"thinking": {"type": "enabled", "budget_tokens": 2_048}}, 2_049, 2_049),
        ({"reasoning": {"max_tokens": 2_000}}, 2_001, 2_001),
        ({"reasoning": {"effort": "low"}}, 1, 1),
        ({"enable_thinking": True, "thinking_budget": 900}, 1, 901),
    ],
)
def test_thoughts_of_a_chat_are_counted(changes: dict[str, Any], limit: int, most: int) -> None:
    """Inside of the limit where they have to fit under it, beside it at Qwen."""
    made = ping({**CHAT, "model": "qwen-max", **changes}, Api.CHAT)
    assert (made.body["max_tokens"], made.most_output_tokens) == (limit, most)
    assert {name: made.body[name] for name in changes} == changes


def test_a_predicted_answer_is_not_paid_for() -> None:
    """What of it is not taken is billed as output."""
    body = {**CHAT, "prediction": {"type": "content", "content": "a file" * 1_000}}
    assert "prediction" not in ping(body, Api.CHAT).body


@pytest.mark.parametrize(
    ("api", "name"),
    [
        (Api.MESSAGES, "messages"),
        (Api.CHAT, "messages"),
        (Api.RESPONSES, "conversation or input or previous_response_id or prompt"),
        (Api.GENERATE, "contents"),
        (Api.CONVERSE, "messages"),
        (Api.COMPLETIONS, "prompt"),
    ],
)
def test_a_body_without_a_prompt_is_none(api: Api, name: str) -> None:
    """It is no request, and there is nothing to keep warm."""
    with pytest.raises(UsageError, match=f"the body of a ping has no {name}; give the last"):
        ping({}, api)


def test_responses_are_prepared_without_an_answer_where_they_have_cache_options() -> None:
    """Else the fewest tokens that the API takes; nothing is stored or left in the background."""
    made = ping(RESPONSES, Api.RESPONSES)
    assert made.body["prompt_cache_options"] == {"ttl": "30m", "prewarm": True}
    assert made.most_output_tokens == 0
    assert made.body["store"] is False
    assert not {"stream", "background"} & made.body.keys()
    older = ping({"model": "gpt-4.1", "input": "hello"}, Api.RESPONSES)
    assert older.body["max_output_tokens"] == older.most_output_tokens == 16


def test_gemini_and_bedrock_keep_their_other_settings() -> None:
    """Only the length changes, under the name that is used."""
    assert ping(GENERATE, Api.GENERATE).body["generationConfig"] == {
        "temperature": 0.5,
        "maxOutputTokens": 1,
    }
    snake = {"contents": [], "generation_config": {"max_output_tokens": 900}}
    assert ping(snake, Api.GENERATE).body["generation_config"] == {"max_output_tokens": 1}
    assert ping({"contents": []}, Api.GENERATE).body["generationConfig"] == {"maxOutputTokens": 1}
    assert ping(CONVERSE, Api.CONVERSE).body["inferenceConfig"] == {
        "maxTokens": 1,
        "temperature": 0.5,
    }


def test_completions_ask_for_one_token() -> None:
    """Of one answer."""
    made = ping({"prompt": "hello", "max_tokens": 9, "n": 2, "best_of": 3}, Api.COMPLETIONS)
    assert made.body == {"prompt": "hello", "max_tokens": 1}


def test_a_body_with_odd_tables_is_refused() -> None:
    """With the table's name."""
    with pytest.raises(UsageError, match="thinking of the request is no object"):
        ping({**MESSAGES, "thinking": "much"}, Api.MESSAGES)
    with pytest.raises(UsageError, match="budget_tokens of the request is no number of tokens"):
        ping({**MESSAGES, "thinking": {"type": "enabled"}}, Api.MESSAGES)
    with pytest.raises(UsageError, match="inferenceConfig of the request is no object"):
        ping({"messages": [], "inferenceConfig": 3}, Api.CONVERSE)
    with pytest.raises(UsageError, match=r"reasoning\.max_tokens of the request is no number of"):
        ping({**CHAT, "reasoning": {"max_tokens": "many"}}, Api.CHAT)
    with pytest.raises(UsageError, match=r"^thinking_budget of the request is no number"):
        ping({**CHAT, "thinking_budget": -1}, Api.CHAT)


@pytest.mark.parametrize("given", [3, [], object()])
def test_arguments_of_other_types_are_told_by_name(given: Any) -> None:
    """Where they come in."""
    with pytest.raises(UsageError, match=r"answered is of type .*; give True or False"):
        ping(MESSAGES, Api.MESSAGES, answered=given)
    with pytest.raises(UsageError, match=r"provider is of type .*; give its name"):
        ping(CHAT, Api.CHAT, provider=given)
