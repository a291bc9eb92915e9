import json
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.replay.body import BodyMaker, head_of, parse_extra
from stemcache.replay.prompts import TextPrompts, TokenPrompts, TokenRange
from stemcache.replay.target import Api, parse_target


def body(api: Api, output: int = 7, **others: Any) -> dict[str, Any]:
    """The body of a request whose prompt is what a probe asks."""
    prompts = TokenPrompts("", TokenRange(5, 9)) if api == "openai-completions" else TextPrompts("")
    maker = BodyMaker(api=api, model='m"\\é', prompts=prompts, **others)
    before, after = maker.around(output)
    made: dict[str, Any] = json.loads(before + prompts.probe() + after)
    return made


def test_completions_get_ids_and_are_asked_for_a_stream_with_usage() -> None:
    """A model's name may hold anything."""
    assert body("openai-completions") == {
        "model": 'm"\\é',
        "max_tokens": 7,
        "prompt": [5, 9],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_chats_get_one_message_of_a_user() -> None:
    """Anthropic's streams have usage without asking."""
    messages = [{"role": "user", "content": "able about"}]
    chat = body("openai-chat")
    assert (chat["messages"], chat["stream_options"]) == (messages, {"include_usage": True})
    assert body("anthropic-messages") == {
        "model": 'm"\\é',
        "max_tokens": 7,
        "messages": messages,
        "stream": True,
    }


def test_fields_are_added_changed_and_taken_away() -> None:
    """Null takes one away, for servers that call it something else."""
    made = body(
        "openai-chat",
        extra={"ignore_eos": True, "max_tokens": None, "max_completion_tokens": 3},
        cache_salt="tenant",
    )
    assert made["ignore_eos"] is True
    assert made["max_completion_tokens"] == 3
    assert "max_tokens" not in made
    assert made["cache_salt"] == "tenant"


def test_extra_fields_are_a_json_object() -> None:
    """None at all is one too."""
    assert parse_extra(None) == {}
    assert parse_extra('{"a": [1, null]}') == {"a": [1, None]}


@pytest.mark.parametrize("text", ["", "{", "[1]", "3", '"a"'])
def test_anything_else_is_refused(text: str) -> None:
    """With an example of one."""
    with pytest.raises(UsageError, match="--extra-body is no JSON object") as caught:
        parse_extra(text)
    assert """such as '{"ignore_eos": true}'""" in str(caught.value)


@pytest.mark.parametrize("name", ["messages", "model", "prompt", "stream"])
def test_what_the_replay_depends_on_is_not_for_the_user(name: str) -> None:
    """The message names the field."""
    with pytest.raises(UsageError) as caught:
        parse_extra(json.dumps({name: 1}))
    assert str(caught.value) == (
        f"--extra-body sets {name}, which the replay itself sets; leave it out"
    )


def test_a_head_says_how_long_the_body_is() -> None:
    """And a request without one does not."""
    target = parse_target("http://h:81/v1?x=1", None)
    assert head_of("POST", target.path, target, [("a", "b")], 12) == (
        b"POST /v1/completions?x=1 HTTP/1.1\r\nhost: h:81\r\na: b\r\n"
        b"content-type: application/json\r\ncontent-length: 12\r\n\r\n"
    )
    assert (
        head_of("GET", "/metrics", target, [], 0) == b"GET /metrics HTTP/1.1\r\nhost: h:81\r\n\r\n"
    )
