"""`stemcache serve`, asked with the official client and timed from the moment of sending.

Neither the embedded model's template nor the toy's knows tools, so `plain` writes them, and calls,
as text in the places where Qwen's template writes them: behind the system prompt, and in the
messages that they belong to.
"""

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.request import Request, urlopen

from openai import OpenAI

from examples.agent.loop import Asked

__all__ = ["Endpoint", "plain"]


class Endpoint:
    """One server. Close it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._client = OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=900)
        self.model: str = self._client.models.list().data[0].id

    def ask(self, body: Mapping[str, Any]) -> Asked:
        """Send a chat and take its answer, streamed."""
        begin = time.perf_counter()
        stream: Any = self._client.chat.completions.create(
            **plain(body), stream=True, stream_options={"include_usage": True}, temperature=0
        )
        first_s = None
        text = ""
        usage: Any = None
        for chunk in stream:
            for choice in chunk.choices:
                if choice.delta.content and first_s is None:
                    first_s = time.perf_counter() - begin
                text += choice.delta.content or ""
            usage = chunk.usage or usage
        return Asked(
            text,
            usage.prompt_tokens,
            usage.prompt_tokens_details.cached_tokens,
            time.perf_counter() - begin if first_s is None else first_s,
        )

    def tokens(self, body: Mapping[str, Any], *, tools_first: bool) -> list[int]:
        """What the server reads of a chat."""
        messages = plain(body, tools_first=tools_first)["messages"]
        found: list[int] = self._post("/tokenize", {"messages": messages})["tokens"]
        return found

    def forget(self) -> None:
        """Empty the server's cache."""
        self._post("/reset_prefix_cache", {})

    def close(self) -> None:
        """Close the client."""
        self._client.close()

    def _post(self, path: str, value: object) -> Any:
        data = json.dumps(value).encode()
        head = {"Content-Type": "application/json"}
        request = Request(self._url + path, data, head)  # noqa: S310  # our own server
        with urlopen(request, timeout=60) as answer:  # noqa: S310
            return json.load(answer)


def plain(body: Mapping[str, Any], *, tools_first: bool = False) -> dict[str, Any]:
    """The same chat for a model whose template knows no tools."""
    rest = {name: value for name, value in body.items() if name not in {"messages", "tools"}}
    tools = "\n".join(map(json.dumps, body.get("tools", ())))
    return {**rest, "messages": list(_messages(body["messages"], tools, tools_first=tools_first))}


def _messages(
    messages: list[dict[str, Any]], tools: str, *, tools_first: bool
) -> Iterator[dict[str, Any]]:
    for message in messages:
        text = _text(message.get("content"))
        if message["role"] == "system":
            parts = [tools, text] if tools_first else [text, tools]
            text = "\n\n".join(parts)
        for call in message.get("tool_calls", ()):
            text += f"\n<tool_call>{json.dumps(call['function'])}</tool_call>"
        yield {"role": message["role"], "content": text}


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part["text"] for part in content)
    return content or ""
