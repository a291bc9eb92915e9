"""What a ping is: the last request again, the same to its last mark, with the least of an answer.

| API | the least |
|---|---|
| Messages | `max_tokens` 0: the cache is read and nothing answered; 1 where that is refused |
| Chat | `max_completion_tokens` or `max_tokens`, whichever the provider's server heeds, of 1 |
| Responses | `prewarm` where the request has cache options; else `max_output_tokens` 16 |
| generateContent | `maxOutputTokens` 1 |
| Converse | `maxTokens` 1 |
| Completions | `max_tokens` 1 |

What keys the cache stays as it is: model, tools, tool choice, thinking, effort, format. A thinking
budget has to fit under `max_tokens`, so a request with one asks for a token more than it; Qwen's
`thinking_budget` stands beside the limit. What such an answer costs is `most_output_tokens`, and a
plan has to count it. The body is copied where it changes and shared elsewhere. Sources: types of
the anthropic SDK 2.14.0 and the openai SDK 3.57.0, and Anthropic's notes on which requests refuse
to answer nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from stemcache.errors import UsageError
from stemcache.prompt.given import check_type, chosen
from stemcache.prompt.render.chat_server import ChatServer, chat_server
from stemcache.provider.book import shipped_book
from stemcache.provider.resolve import resolve
from stemcache.wire.api import Api

__all__ = ["Ping", "ping"]

_PROMPTS: Mapping[Api, frozenset[str]] = {
    Api.CHAT: frozenset({"messages"}),
    Api.COMPLETIONS: frozenset({"prompt"}),
    Api.CONVERSE: frozenset({"messages"}),
    Api.GENERATE: frozenset({"contents"}),
    Api.MESSAGES: frozenset({"messages"}),
    Api.RESPONSES: frozenset({"conversation", "input", "previous_response_id", "prompt"}),
}
"""By API, where a prompt may stand; without one there is nothing to keep warm."""
_FEWEST_RESPONSES = 16
"""Fewer are refused by the API."""


@dataclass(frozen=True, slots=True)
class Ping:
    """A request that is sent for the cache's sake."""

    body: dict[str, Any]
    most_output_tokens: int
    """What its answer can cost at most."""


def ping(
    body: Mapping[str, Any], api: Api, *, answered: bool = False, provider: str | None = None
) -> Ping:
    """The cheapest request that reads the same prefix. Does not change `body`.

    With `answered` it asks for the shortest answer, for servers that refuse to answer nothing.
    `provider` is whose server it is sent to, which counts for chats; without it the model tells.
    Of a model that nobody knows `max_tokens` is limited: a server that refuses that bills nothing,
    and one that ignores the other name bills a whole answer. Raises UsageError for a body without a
    prompt, a provider that is not known, and where the body's own limits make no sense.
    """
    check_type(body, Mapping, "the body of a ping", "give the body of the last request as sent")
    api = chosen(api, Api, "api", "ping")
    check_type(answered, bool, "answered", "give True or False")
    check_type(provider, str | None, "provider", "give its name, or leave it out")
    if _PROMPTS[api].isdisjoint(body):
        names = " or ".join(sorted(_PROMPTS[api]))
        raise UsageError(
            f"the body of a ping has no {names}; give the last request as it was sent, in {api}"
        )
    made = dict(body)
    match api:
        case Api.MESSAGES:
            made["max_tokens"] = max(_messages(made), int(answered))
            made.pop("stream", None)
            return Ping(made, made["max_tokens"])
        case Api.CHAT:
            return _chat(made, _server(made, provider))
        case Api.COMPLETIONS:
            made["max_tokens"] = 1
            _unstream(made)
            made.pop("n", None)
            made.pop("best_of", None)
            return Ping(made, 1)
        case Api.RESPONSES:
            made["store"] = False
            made.pop("background", None)
            _unstream(made)
            if "prompt_cache_options" in made and not answered:
                cache = _table(made, "prompt_cache_options")
                made["prompt_cache_options"] = {**cache, "prewarm": True}
                return Ping(made, 0)
            made["max_output_tokens"] = _FEWEST_RESPONSES
            return Ping(made, _FEWEST_RESPONSES)
        case Api.GENERATE:
            name = "generation_config" if "generation_config" in made else "generationConfig"
            inner = dict(_table(made, name))
            short = "max_output_tokens" if "max_output_tokens" in inner else "maxOutputTokens"
            inner[short] = 1
            made[name] = inner
            return Ping(made, 1)
        case Api.CONVERSE:
            made["inferenceConfig"] = {**_table(made, "inferenceConfig"), "maxTokens": 1}
            return Ping(made, 1)
        case _:
            assert_never(api)


def _server(body: Mapping[str, Any], provider: str | None) -> ChatServer:
    model = body.get("model")
    found = resolve(
        shipped_book(),
        provider=provider,
        host=None,
        model=model if isinstance(model, str) else None,
        api=Api.CHAT,
        marked=False,
        aliases={},
    )
    return chat_server((provider or "") if found.rule is None else found.rule.provider)


def _chat(made: dict[str, Any], server: ChatServer) -> Ping:
    """Both names where OpenAI's request has both; elsewhere the one that is heeded, alone."""
    inside = max(
        _budget(_table(made, "thinking"), "budget_tokens", "thinking."),
        _budget(_table(made, "reasoning"), "max_tokens", "reasoning."),
    )
    beside = _budget(made, "thinking_budget")
    given = [name for name in ("max_tokens", "max_completion_tokens") if name in made]
    names = given if given and server.limit == "max_completion_tokens" else [server.limit]
    for name in given:
        del made[name]
    made.update(dict.fromkeys(names, inside + 1))
    _unstream(made)
    made.pop("n", None)
    made.pop("prediction", None)  # what of it is not answered is billed as if it were
    return Ping(made, inside + 1 + beside)


def _budget(table: Mapping[str, Any], name: str, path: str = "") -> int:
    """0 where none is given."""
    budget = table.get(name)
    if budget is None:
        return 0
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
        raise _no_number(f"{path}{name}")
    return budget


def _no_number(name: str) -> UsageError:
    return UsageError(
        f"{name} of the request is no number of tokens, so no ping can be made of it; give the "
        "body as it is sent"
    )


def _messages(body: Mapping[str, Any]) -> int:
    """0 is refused beside thinking, a format, and a tool choice that forces a call.

    Of Bedrock and Vertex, which `anthropic_version` tells, nobody says that they take it.
    """
    thinking = _table(body, "thinking")
    kind = thinking.get("type", "disabled")
    if kind == "enabled":
        if thinking.get("budget_tokens") is None:
            raise _no_number("thinking.budget_tokens")
        return _budget(thinking, "budget_tokens", "thinking.") + 1
    if kind != "disabled":
        return 1
    if _table(body, "output_config").get("format") is not None:
        return 1
    forced = _table(body, "tool_choice").get("type") in {"tool", "any"}
    return 1 if forced or "anthropic_version" in body else 0


def _table(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise UsageError(f"{name} of the request is no object; give the body as it is sent")
    return value


def _unstream(body: dict[str, Any]) -> None:
    body.pop("stream", None)
    body.pop("stream_options", None)
