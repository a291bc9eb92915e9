import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI, OpenAI

from tests.server.live_server import LiveServer, serve

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]


@pytest.fixture(scope="module", params=["hash", "radix"])
def real(request: pytest.FixtureRequest, smollm2_dir: Path) -> Iterator[LiveServer]:
    """The small real model, with each form of the index."""
    with serve(
        "--model", str(smollm2_dir), "--dtype", "float32", "--index", request.param
    ) as server:
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


def test_hundred_requests_at_once_hold_one_copy_of_what_they_share(
    real: LiveServer, request: pytest.FixtureRequest
) -> None:
    """While all run, pages in use are the shared blocks once, plus each request's own."""
    size = 16 if request.node.callspec.params["real"] == "hash" else 1
    stem = [100 + n % 900 for n in range(2000)]
    own_tokens, answer_tokens = 4, 12

    async def ask(client: AsyncOpenAI, number: int) -> int:
        answer = await client.completions.create(
            model=(await client.models.list()).data[0].id,
            prompt=[*stem, 5000 + number, 1, 2, 3],
            max_tokens=answer_tokens,
            temperature=0,
            extra_body={"ignore_eos": True},
        )
        assert answer.usage is not None
        assert answer.usage.prompt_tokens_details is not None
        return answer.usage.prompt_tokens_details.cached_tokens or 0

    async def watch(done: asyncio.Event) -> list[dict[str, float]]:
        looks = []
        while not done.is_set():
            metrics = await asyncio.to_thread(real.metrics)
            if metrics["stemcache_requests_running"] == 100:
                looks.append(metrics)
        return looks

    async def run() -> tuple[list[int], list[dict[str, float]]]:
        done = asyncio.Event()
        async with AsyncOpenAI(
            base_url=f"{real.url}/v1", api_key="none", max_retries=0, timeout=600
        ) as client:
            looking = asyncio.create_task(watch(done))
            cached = await asyncio.gather(*(ask(client, number) for number in range(100)))
            done.set()
            return cached, await looking

    cached, looks = asyncio.run(run())

    assert sorted(cached) == [0] + [2000] * 99
    assert looks, "all hundred ran at once"
    shared = 2000 // size
    for look in looks:
        used = look["stemcache_pages{owned}"] + look["stemcache_pages{pinned}"]
        own = used - shared
        if size == 16:
            # 4 tokens of its own and 12 of its answer are one page.
            assert own == 100
        else:
            assert 100 * own_tokens <= own <= 100 * (own_tokens + answer_tokens)
    real.wait_until_idle()
