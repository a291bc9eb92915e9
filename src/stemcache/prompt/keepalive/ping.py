"""What a ping is: the last request again, the same to its last mark, with the least of an answer.

| API | the least |
|---|---|
| Messages | `max_tokens` 0: the cache is read and nothing answered; 1 where that is refused |
| Chat | `max_completion_tokens`, or `max_tokens` where the request says it so, of 1 |
| Responses | `prewarm` where the request has cache options; else `max_output_tokens` 16 |
| generateContent | `maxOutputTokens` 1 |
| Converse | `maxTokens` 1 |
| Completions | `max_tokens` 1 |

What keys the cache stays as it is: model, tools, tool choice, thinking, effort, format. A thinking
budget has to fit under `max_tokens`, so a Messages request with one asks for a token more than it;
what such an answer costs is `most_output_tokens`, and a plan has to count it. The body is copied
where it changes and shared elsewhere. Sources: types of the anthropic SDK 2.14.0 and the openai SDK
3.57.0, and Anthropic's notes on which requests refuse to answer nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from stemcache.errors import UsageError
from stemcache.prompt.given import check_type, chosen
from stemcache.wire.api import Api

__all__ = ["Ping", "ping"]

_FEWEST_RESPONSES = 16
"""Fewer are refused by the API."""


@dataclass(frozen=True, slots=True)
class Ping:
    """A request that is sent for the cache's sake."""

    body: dict[str, Any]
    most_output_tokens: int
    """What its answer can cost at most."""


def ping(body: Mapping[str, Any], api: Api, *, answered: bool = False) -> Ping:
    """The cheapest request that reads the same prefix. Does not change `body`.

    With `answered` it asks for the shortest answer, for servers that refuse to answer nothing.
    Raises UsageError where the body's own limits make no sense.
    """
    check_type(body, Mapping, "the body of a ping", "give the body of the last request as sent")
    api = chosen(api, Api, "api", "ping")
    made = dict(body)
    match api:
        case Api.MESSAGES:
            made["max_tokens"] = max(_messages(made), int(answered))
            made.pop("stream", None)
            return Ping(made, made["max_tokens"])
        case Api.CHAT:
            name = "max_tokens" if "max_tokens" in made else "max_completion_tokens"
            made[name] = 1
            _unstream(made)
            made.pop("n", None)
            return Ping(made, 1)
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


def _messages(body: Mapping[str, Any]) -> int:
    """0 is refused beside thinking, a format, and a tool choice that forces a call.

    Of Bedrock and Vertex, which `anthropic_version` tells, nobody says that they take it.
    """
    thinking = _table(body, "thinking")
    kind = thinking.get("type", "disabled")
    if kind == "enabled":
        budget = thinking.get("budget_tokens")
        if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
            raise UsageError(
                "thinking.budget_tokens of the request is no number of tokens, so no ping can be "
                "made of it; give the body as it is sent"
            )
        return budget + 1
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
