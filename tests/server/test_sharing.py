import asyncio
from typing import Any

import httpx

from tests.server.live_server import serve


def test_a_hundred_requests_hold_one_copy_of_what_they_share() -> None:
    """Pages in use are the shared ones once, plus what each request has of its own."""
    block, prefix, requests = 512, 3 * 512 + 16, 100
    shared = prefix // block
    # Behind the shared blocks each has 16 tokens of the prefix, 4 of its own, and its answer: long
    # enough that the last begins before the first has ended.
    room = (shared + 1) * block - prefix - 4
    flags = ("--block-size", str(block), "--chunk-tokens", "2048", "--log-level", "warning")
    with serve(*flags) as server:

        async def ask(client: httpx.AsyncClient, number: int) -> dict[str, Any]:
            body = {
                "model": "toy",
                "prompt": "s" * prefix + f"{number:04}",
                "max_tokens": room,
                "ignore_eos": True,
            }
            answer = await client.post(f"{server.url}/v1/completions", json=body)
            return dict(answer.json()["usage"])

        async def run() -> list[dict[str, Any]]:
            limits = httpx.Limits(max_connections=requests)
            async with httpx.AsyncClient(limits=limits, timeout=120) as client:
                asked = [asyncio.create_task(ask(client, number)) for number in range(requests)]
                metrics = await asyncio.to_thread(
                    server.wait_for, "stemcache_requests_running", requests
                )
                in_use = metrics["stemcache_pages{owned}"] + metrics["stemcache_pages{pinned}"]
                assert in_use == shared + requests
                return list(await asyncio.gather(*asked))

        usages = asyncio.run(run())
        cached = sorted(usage["prompt_tokens_details"]["cached_tokens"] for usage in usages)
        assert cached == [0] + [shared * block] * (requests - 1)
        metrics = server.wait_until_idle()
        assert metrics["stemcache_computed_tokens_total"] == (
            prefix + 4 + (requests - 1) * (prefix + 4 - shared * block)
        )
