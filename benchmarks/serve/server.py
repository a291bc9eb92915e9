"""A `stemcache serve` of its own for each measurement, and one timed request to it."""

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from openai import AsyncOpenAI

__all__ = ["Timed", "ask", "forget", "serving", "together"]


@dataclass(frozen=True)
class Timed:
    """One answer, timed from the moment it was sent."""

    ttft_s: float
    total_s: float
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    text: str


@contextmanager
def serving(*flags: str) -> Iterator[str]:
    """Start a server on a free port, yield its base URL, stop it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "stemcache", "serve", "--port", str(port), *flags]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(3000):
            if process.poll() is not None:
                raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
            try:
                if httpx.get(f"{url}/health", timeout=1).status_code == 200:
                    break
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        else:
            raise RuntimeError("the server did not become ready")
        yield url
    finally:
        process.terminate()
        process.wait(60)


async def ask(url: str, *, max_tokens: int, **body: Any) -> Timed:
    """Stream one answer. `messages` makes it a chat, `prompt` a completion."""
    async with AsyncOpenAI(
        base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=600
    ) as client:
        common: dict[str, Any] = {
            "model": (await client.models.list()).data[0].id,
            "max_tokens": max_tokens,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
            "extra_body": {"ignore_eos": True},
        }
        start = time.perf_counter()
        if "messages" in body:
            stream: Any = await client.chat.completions.create(**common, **body)
        else:
            stream = await client.completions.create(**common, **body)
        first = None
        text = ""
        usage: Any = None
        async for chunk in stream:
            for choice in chunk.choices:
                piece = choice.delta.content if "messages" in body else choice.text
                if piece and first is None:
                    first = time.perf_counter()
                text += piece or ""
            usage = chunk.usage or usage
        end = time.perf_counter()
    return Timed(
        ttft_s=(first or end) - start,
        total_s=end - start,
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.prompt_tokens_details.cached_tokens,
        completion_tokens=usage.completion_tokens,
        text=text,
    )


def forget(url: str) -> None:
    """Empty the prefix cache, so that a repeat is as cold as the first run."""
    httpx.post(f"{url}/reset_prefix_cache", timeout=60).raise_for_status()


def together(*waits: Any) -> list[Timed]:
    """Run requests at once; their results in order."""

    async def gather() -> list[Timed]:
        return list(await asyncio.gather(*waits))

    return asyncio.run(gather())
