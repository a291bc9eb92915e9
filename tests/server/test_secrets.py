"""What users send does not reach the log: neither prompts nor answers, salts or keys."""

import json
import signal
from typing import Any

import httpx
import pytest

from tests.server.live_server import LiveServer, serve

MARK = "Zq7Marked"
KEY = f"{MARK}Key"
HELLO = [{"role": "user", "content": f"{MARK}Content"}]
GO_ON = {"model": "toy", "max_tokens": 2, "ignore_eos": True}

BODIES: list[tuple[str, Any, int]] = [
    ("/v1/completions", {**GO_ON, "prompt": f"{MARK}Prompt", "cache_salt": f"{MARK}Salt"}, 200),
    ("/v1/completions", {**GO_ON, "prompt": f"{MARK}Prompt", "stream": True}, 200),
    ("/v1/completions", {**GO_ON, "prompt": f"{MARK}Prompt", "stop": f"{MARK}Stop"}, 200),
    ("/v1/chat/completions", {**GO_ON, "messages": HELLO, "user": f"{MARK}User"}, 200),
    ("/tokenize", {"prompt": f"{MARK}Prompt", "return_token_strs": True}, 200),
    ("/detokenize", {"tokens": list(MARK.encode())}, 200),
    # Refusals quote what they refuse, to whoever sent it.
    ("/v1/completions", {**GO_ON, "prompt": [f"{MARK}Prompt", 5]}, 400),
    ("/v1/completions", {**GO_ON, "prompt": f"{MARK}Prompt" * 1000}, 400),
    ("/v1/completions", {**GO_ON, "prompt": "a", f"{MARK}Field": 1}, 400),
    ("/v1/completions", {**GO_ON, "prompt": "a", "suffix": f"{MARK}Suffix"}, 400),
    ("/v1/completions", {**GO_ON, "prompt": "a", "cache_salt": [f"{MARK}Salt"]}, 400),
    ("/v1/completions", {**GO_ON, "prompt": "a", "model": f"{MARK}Model"}, 404),
    ("/v1/chat/completions", {**GO_ON, "messages": f"{MARK}Messages"}, 400),
    ("/v1/chat/completions", {**GO_ON, "messages": [{"role": f"{MARK}Role"}]}, 400),
    (
        "/v1/chat/completions",
        {**GO_ON, "messages": [{"role": "user", "content": [{"type": f"{MARK}Type"}]}]},
        400,
    ),
    ("/tokenize", {"prompt": f"{MARK}Prompt", "messages": HELLO}, 400),
    ("/detokenize", {"tokens": f"{MARK}Tokens"}, 400),
    ("/v1/completions", f'{{"prompt": "{MARK}Prompt", '.encode(), 400),
    ("/v1/completions", f'{{"prompt": "{MARK}'.encode() + b'\xff"}', 400),
    ("/v1/completions", MARK.encode() * 10_000, 413),
    ("/nowhere", {"prompt": f"{MARK}Prompt"}, 404),
]


def marked(server: LiveServer) -> list[str]:
    """Lines of the log with anything that was marked."""
    return [text for text in map(json.dumps, server.log) if MARK in text]


@pytest.mark.parametrize("form", ["json", "console"])
def test_nothing_that_users_send_is_logged(form: str) -> None:
    """At the most talkative level, whatever becomes of the request."""
    flags = ("--log-level", "debug", "--max-body", "64KiB", "--log-format", form)
    with serve(*flags, STEMCACHE_API_KEY=KEY) as server:
        headers = {"authorization": f"Bearer {KEY}", "x-marked": f"{MARK}Header"}
        with httpx.Client(base_url=server.url, headers=headers) as client:
            for path, body, status in BODIES:
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                answer = client.post(path, content=content, params={"q": f"{MARK}Query"})
                assert answer.status_code == status, answer.text
            wrong = {"authorization": f"Bearer {MARK}Wrong"}
            assert client.get("/v1/models", headers=wrong).status_code == 401
        with httpx.stream(
            "POST",
            f"{server.url}/v1/completions",
            headers=headers,
            json={**GO_ON, "prompt": f"{MARK}Left", "max_tokens": 4000, "stream": True},
        ) as stream:
            next(stream.iter_raw())
        assert server.stop() == 0

    requests = [line for line in map(json.dumps, server.log) if "duration_s" in line]
    assert len(BODIES) + 2 == len(requests)
    assert [] == marked(server)


def test_what_is_cut_off_when_the_server_ends_is_not_logged_either() -> None:
    """Its line says that it failed, and why in a word."""
    with serve("--log-level", "debug", "--max-running", "1", "--grace", "0.01") as server:
        body = {**GO_ON, "prompt": f"{MARK}Prompt", "max_tokens": 3000, "stream": True, "n": 40}
        with httpx.stream("POST", f"{server.url}/v1/completions", json=body) as stream:
            parts = stream.iter_raw()
            next(parts)
            server.process.send_signal(signal.SIGTERM)
            text = b"".join(parts)
        assert server.process.wait(60) == 0
    (line,) = [line for line in server.log if line.get("path") == "/v1/completions"]

    assert b'"code":"shutting_down"' in text
    assert (200, "shutting_down") == (line["status"], line["error"])
    assert [] == marked(server)
