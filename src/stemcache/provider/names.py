"""Names of models as logs spell them, taken apart by stated steps and never guessed.

```
openrouter/anthropic/claude-opus-4.5   ─► claude-opus-4.5 ─► claude-opus-4-5
us.anthropic.claude-haiku-4-5-20251001-v1:0 ─► anthropic.claude-… ─► claude-haiku-4-5
vertex_ai/claude-sonnet-4-5@20250929   ─► claude-sonnet-4-5
```
Every step takes one known beginning or end away; all stages are kept in order, so that the fullest
name that is listed wins.
"""

import re
from functools import lru_cache

__all__ = ["geography", "model_names"]

_LONGEST = 300
"""A longer name is none."""
_PATHS = (
    "openrouter/", "litellm_proxy/", "bedrock/", "bedrock_converse/", "converse/", "invoke/",
    "vertex_ai/", "azure/", "azure_ai/", "anthropic/", "openai/", "gemini/", "google/", "models/",
    "deepseek/", "deepseek-ai/", "dashscope/", "qwen/", "alibaba/", "minimax/", "xai/", "x-ai/",
    "mistral/", "mistralai/", "groq/", "fireworks_ai/", "together_ai/", "moonshot/", "moonshotai/",
    "zai/", "z-ai/", "zhipu/", "cerebras/", "hosted_vllm/", "responses/", "us-gov/",
)  # fmt: skip
_GEOGRAPHIES = ("us", "eu", "apac", "jp", "au", "ca", "us-gov", "global")
_VENDORS = ("anthropic.", "amazon.")
_ENDS = (
    re.compile(r"\[\d+[km]\]$"),  # Claude Code's mark for the long context window
    re.compile(r"-v\d{1,2}:\d{1,3}(?::\d{1,4}k)?$"),  # Bedrock's version
    re.compile(r"(?<=-\d)-v\d{1,2}$"),  # the same, short: claude-opus-4-6-v1
    re.compile(r"@(?:\d{8}|default|latest)$"),  # Vertex's version
    re.compile(r"-20\d{6}$"),
    re.compile(r"-20\d\d-\d\d-\d\d$"),
)
_AWS_REGION = re.compile(r"[a-z]{2}(?:-gov)?-[a-z]{4,9}-\d/")
_RESOURCE = re.compile(r"(?:inference-profile|foundation-model)/(.+)$")
_PUBLISHED = re.compile(r"publishers/[^/]{1,60}/models/(.+)$")


@lru_cache(maxsize=4096)
def model_names(model: str) -> tuple[str, ...]:
    """The name as given, then with each known part taken away, in lower case and without repeats.

    Empty for what cannot be a name. Costs a few dozen comparisons; remembered.
    """
    name = model.strip()
    if not name or len(name) > _LONGEST:
        return ()
    found = [name, name.lower()]
    name = name.lower()
    for pattern in (_RESOURCE, _PUBLISHED):
        if match := pattern.search(name):
            name = match[1]
            found.append(name)
    for _ in range(4):
        stripped = _without_path(name)
        if stripped == name:
            break
        name = stripped
        found.append(name)
    if place := _geography(name):
        name = name[len(place) + 1 :]
        found.append(name)
    found.extend(_shortened(name))
    for vendor in _VENDORS:
        if name.startswith(vendor):
            name = name[len(vendor) :]
            found.append(name)
            found.extend(_shortened(name))
    last = found[-1]
    if last.startswith("claude-") and "." in last:
        found.append(last.replace(".", "-"))  # OpenRouter's spelling of versions
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=4096)
def geography(model: str) -> str | None:
    """The inference geography that Bedrock puts before a model's name: `us`, `eu`, …"""
    for name in model_names(model):
        if place := _geography(name):
            return place
    return None


def _geography(name: str) -> str | None:
    head, dot, rest = name.partition(".")
    if dot and head in _GEOGRAPHIES and "." in rest:
        return head
    return None


def _without_path(name: str) -> str:
    for path in _PATHS:
        if name.startswith(path):
            return name[len(path) :]
    if match := _AWS_REGION.match(name):
        return name[match.end() :]
    return name


def _shortened(name: str) -> list[str]:
    found: list[str] = []
    for _ in range(3):
        for end in _ENDS:
            if (match := end.search(name)) and match.start() > 0:
                name = name[: match.start()]
                found.append(name)
                break
        else:
            break
    return found
