import json
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI

from tests.server.live_server import LiveServer, serve

HELLO = [{"role": "user", "content": "hi"}]
CHAT: dict[str, Any] = {"model": "toy", "messages": HELLO}
TEXT: dict[str, Any] = {"model": "toy", "prompt": "hi"}


def check(response: httpx.Response, status: int, message: str) -> dict[str, Any]:
    """The answer has this status and OpenAI's error object with this in its message."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-request-id"]
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert message in error["message"], error["message"]
    return dict(error)


@pytest.mark.parametrize(
    ("path", "body", "status", "code", "message"),
    [
        ("chat/completions", {**CHAT, "model": "gpt-9"}, 404, "model_not_found",
         "the model 'gpt-9' is not served here; use 'toy'"),
        ("completions", {**TEXT, "model": "gpt-9"}, 404, "model_not_found", "'gpt-9'"),
        ("chat/completions", {**CHAT, "max_tokens": 4096}, 400, "context_length_exceeded",
         ("the prompt has 20 tokens and max_tokens is 4096, and both may have 4096 together; "
         "lower max_tokens to 4076 or shorten the prompt")),
        ("completions", {**TEXT, "prompt": [1] * 4096}, 400, "context_length_exceeded",
         "the prompt has 4096 tokens, and prompt and answer may have 4096 together; shorten it"),
        ("completions", {**TEXT, "prompt": "x" * 100_000}, 400, "context_length_exceeded",
         ("the text has 100000 characters, which are at least 100000 tokens, and prompt and answer "
         "may have 4096 together; shorten it")),
        ("completions", {**TEXT, "prompt": ""}, 400, None,
         "prompt is empty; send at least one token"),
        ("completions", {**TEXT, "prompt": [1, 257]}, 400, None,
         "prompt holds token 257, and the vocabulary ends at 256; send ids of the served"),
        ("completions", {**TEXT, "temperature": 3}, 400, None, "temperature is 3.0"),
        ("completions", {**TEXT, "top_p": 0}, 400, None, "top_p is 0.0"),
        ("completions", {**TEXT, "top_k": -5}, 400, None, "top_k is -5"),
        ("completions", {**TEXT, "seed": 2**63}, 400, None, "seed does not fit 64 bits"),
        ("chat/completions", {**CHAT, "logprobs": True, "top_logprobs": 21}, 400, None,
         "21 alternatives were asked for; use 0 to 20"),
        ("completions", {**TEXT, "prompt": ["a"] * 600, "n": 2}, 400, None,
         "the request asks for 1200 answers, and the queue takes 1024; send fewer prompts"),
        ("chat/completions", {**CHAT, "n": 0}, 400, None, "n is 0; use 1 to 128"),
        ("chat/completions", {**CHAT, "tools": [{"type": "function", "function": {"name": "f"}}]},
         400, "unsupported_parameter",
         "tools are given, but the model's chat template does not take any; leave them out"),
        ("chat/completions", {**CHAT, "response_format": {"type": "json_object"}}, 400,
         "unsupported_parameter", "response_format is"),
        ("chat/completions", {**CHAT, "max_token": 5}, 400, None, "did you mean 'max_tokens'?"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_refused_and_why(
    toy: LiveServer, path: str, body: dict[str, Any], status: int, code: str | None, message: str
) -> None:
    """Each refusal has OpenAI's shape, status and code, and a message that says what to do."""
    error = check(httpx.post(f"{toy.url}/v1/{path}", json=body), status, message)
    assert error["code"] == code
    assert error["type"] == "invalid_request_error"


def test_malformed_json_is_refused_with_its_position(toy: LiveServer) -> None:
    """The message says where the JSON ends to be JSON."""
    response = httpx.post(f"{toy.url}/v1/completions", content=b'{"model": "toy",}')
    check(response, 400, "trailing comma in object at line 1 column 17 (byte 16)")


def test_unknown_paths_and_methods_have_openais_shape(toy: LiveServer) -> None:
    """A wrong path is a 404 that lists the right ones; a wrong method a 405 with Allow."""
    error = check(httpx.get(f"{toy.url}/v1/engines"), 404, "nothing is at /v1/engines; use one of")
    assert error["code"] == "unknown_url"
    response = httpx.get(f"{toy.url}/v1/completions")
    check(response, 405, "GET is not possible on /v1/completions; use POST")
    assert response.headers["allow"] == "POST"
    check(httpx.get(f"{toy.url}/health/"), 404, "nothing is at /health/")


def test_official_client_raises_its_own_errors(client: OpenAI) -> None:
    """Status and code arrive as the client's exception."""
    with pytest.raises(openai.BadRequestError) as caught:
        client.completions.create(model="toy", prompt="x", max_tokens=5000)
    assert caught.value.code == "context_length_exceeded"
    assert caught.value.param == "max_tokens"


def test_a_body_of_fifty_megabytes_is_refused_without_holding_it(toy: LiveServer) -> None:
    """The answer is a 413 that the client gets to read; the server does not grow by the body."""
    before = _peak_memory(toy)
    body = b'{"model": "toy", "prompt": "' + b"x" * 50_000_000 + b'"}'
    response = httpx.post(f"{toy.url}/v1/completions", content=body)
    error = check(response, 413, "the request body is larger than 16777216 bytes; send less, or")
    assert error["code"] == "body_too_large"
    chunks = (body[at : at + 65536] for at in range(0, len(body), 65536))
    check(httpx.post(f"{toy.url}/v1/completions", content=chunks), 413, "--max-body")
    assert _peak_memory(toy) - before < 30_000_000


def _peak_memory(server: LiveServer) -> int:
    """Most bytes that the server's process ever held."""
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def test_the_key_is_asked_for() -> None:
    """Without the key, or with another, everything but /health is a 401."""
    with serve(STEMCACHE_API_KEY="right") as server:
        assert httpx.get(f"{server.url}/health").status_code == 200
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "right"}):
            response = httpx.post(f"{server.url}/v1/completions", json=TEXT, headers=headers)
            error = check(response, 401, "the API key is missing or wrong; send the server's")
            assert error["code"] == "invalid_api_key"
            assert httpx.get(f"{server.url}/metrics", headers=headers).status_code == 401
        with OpenAI(base_url=f"{server.url}/v1", api_key="right", max_retries=0) as client:
            assert client.completions.create(model="toy", prompt="x", max_tokens=1).choices
        assert server.stop() == 0
        assert "right" not in json.dumps(server.log).replace("copyright", "")
