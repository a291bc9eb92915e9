import os
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from live_server import LiveServer, serve
from openai import OpenAI

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]


@pytest.fixture(scope="module", params=["hash", "radix"])
def real(request: pytest.FixtureRequest) -> Iterator[LiveServer]:
    """The small real model, with each form of the index."""
    model = os.environ["STEMCACHE_TEST_MODEL"]
    with serve("--model", model, "--dtype", "float32", "--index", request.param) as server:
        yield server


def test_a_shared_system_prompt_is_computed_once(
    real: LiveServer, request: pytest.FixtureRequest
) -> None:
    """The second question finds all that it shares, and is answered as if nothing were cached."""
    form = request.node.callspec.params["real"]
    system = "You answer briefly. " + " ".join(f"Rule {i}: be kind on day {i}." for i in range(60))

    def ask(client: OpenAI, question: str, salt: str) -> tuple[str, int, list[int]]:
        messages: Any = [
            {"role": "system", "content": system},
            {"role": "user", "content": question},
        ]
        answer = client.chat.completions.create(
            model=client.models.list().data[0].id,
            messages=messages,
            max_tokens=12,
            temperature=0,
            extra_body={"cache_salt": salt},
        )
        tokens = httpx.post(f"{real.url}/tokenize", json={"messages": messages}).json()
        assert answer.usage is not None
        assert answer.usage.prompt_tokens == tokens["count"]
        assert answer.usage.prompt_tokens_details is not None
        cached = answer.usage.prompt_tokens_details.cached_tokens
        return answer.choices[0].message.content or "", cached or 0, tokens["tokens"]

    with OpenAI(base_url=f"{real.url}/v1", api_key="none", max_retries=0, timeout=600) as client:
        first, nothing, one = ask(client, "What is the capital of France?", "a")
        second, cached, two = ask(client, "Who wrote Hamlet?", "a")
        alone, none, _ = ask(client, "Who wrote Hamlet?", "b")
    assert first
    assert nothing == none == 0
    shared = next(i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b)
    assert cached == (shared if form == "radix" else shared // 16 * 16)
    assert second == alone
