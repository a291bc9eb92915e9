"""Gemini's bodies as arguments of its official client, google-genai.

```
{model, systemInstruction, tools, contents, generationConfig: {temperature}, …}      generate
generate_content(model=…, contents=[…], config={systemInstruction, tools, temperature, …})
caches.create(model=…, config={systemInstruction, tools, contents, ttl, …})
```
The client wants pictures, files and seals of thoughts as bytes, and encodes them itself; of a text
it would encode the characters.
"""

from base64 import b64decode, urlsafe_b64decode
from collections.abc import Mapping
from typing import Any

from stemcache.errors import UsageError

__all__ = ["create_arguments", "generate_arguments"]


def generate_arguments(body: Mapping[str, Any]) -> dict[str, Any]:
    """For `client.models.generate_content(**…)`, of what `render` made. A copy; linear."""
    config = {
        name: value
        for name, value in body.items()
        if name not in {"contents", "generationConfig", "model"}
    }
    settings = body.get("generationConfig", {})
    return {
        "model": body["model"],
        "contents": [_content(one) for one in body["contents"]],
        "config": {**config, **settings},
    }


def create_arguments(body: Mapping[str, Any]) -> dict[str, Any]:
    """For `client.caches.create(**…)`, of what `create` made. A copy; linear."""
    config = {name: value for name, value in body.items() if name != "model"}
    if "contents" in config:
        config["contents"] = [_content(one) for one in body["contents"]]
    return {"model": body["model"], "config": config}


def _content(content: Mapping[str, Any]) -> dict[str, Any]:
    return {**content, "parts": [_part(one) for one in content["parts"]]}


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(part)
    seal, response = part.get("thoughtSignature"), part.get("functionResponse")
    if isinstance(seal, str):
        made["thoughtSignature"] = _decoded(seal)
    if isinstance(part.get("inlineData"), dict):
        made["inlineData"] = _blob(part["inlineData"])
    if isinstance(response, dict) and isinstance(response.get("parts"), list):
        made["functionResponse"] = {**response, "parts": [_part(one) for one in response["parts"]]}
    return made


def _blob(blob: Mapping[str, Any]) -> dict[str, Any]:
    return (
        {**blob, "data": _decoded(blob["data"])} if isinstance(blob.get("data"), str) else {**blob}
    )


def _decoded(data: str) -> bytes:
    """Either alphabet: the API writes the one, its client the other."""
    try:
        if "-" in data or "_" in data:
            return urlsafe_b64decode(data)
        return b64decode(data, validate=True)
    except ValueError as error:
        raise UsageError(
            "a part has bytes that are no base64; encode them with base64.b64encode"
        ) from error
