"""What replicas say of themselves on their own pages: models, capacity, when they started. Pure.

| page | of | read for |
|---|---|---|
| /v1/models | all | models, adapters (those with a parent), the engine (`owned_by`) |
| /metrics | vLLM, stemcache | KV tokens, block size, the engine, start of the process |
| /server_info, /get_server_info | SGLang | KV tokens, page size |
| /props | llama.cpp | KV tokens |

Pages are what a server chose to send: whatever is not as expected is left unknown.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from stemcache.gateway.replica import Engine

__all__ = [
    "Capacity",
    "ModelEntry",
    "ModelPage",
    "read_metrics",
    "read_models",
    "read_props",
    "read_server_info",
]

_OWNERS = {
    "vllm": Engine.VLLM,
    "sglang": Engine.SGLANG,
    "llamacpp": Engine.LLAMA_CPP,
    "stemcache": Engine.STEMCACHE,
}
_PREFIXES = (
    (b"vllm:", Engine.VLLM),
    (b"sglang:", Engine.SGLANG),
    (b"llamacpp:", Engine.LLAMA_CPP),
    (b"stemcache_", Engine.STEMCACHE),
)
_MOST_MODELS = 1024
_MOST_NAME = 512
_MOST_TOKENS = 10**12
_LONGEST_LINE = 64 * 1024
_LABEL = re.compile(rb'([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"')
_NUMBER = re.compile(rb"\d{1,13}")


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model, or one adapter of it."""

    name: str
    parent: str | None
    """The base model; None where this is one."""
    max_model_len: int | None
    created: int | None


@dataclass(frozen=True, slots=True)
class ModelPage:
    """A list of models."""

    entries: tuple[ModelEntry, ...]
    engine: Engine | None
    """By who owns the models; None where that says nothing."""

    @property
    def names(self) -> frozenset[str]:
        """What clients may ask for."""
        return frozenset(entry.name for entry in self.entries)

    @property
    def adapters(self) -> frozenset[str]:
        """Those that stand on another."""
        return frozenset(entry.name for entry in self.entries if entry.parent is not None)


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a page says of the KV cache and the process; None is unknown."""

    engine: Engine | None = None
    kv_tokens: int | None = None
    """Of one data-parallel rank."""
    block_tokens: int | None = None
    started: float | None = None
    """Seconds of the wall clock."""


def read_models(body: bytes) -> ModelPage | None:
    """`/v1/models`; None where it is no list of models."""
    page = _decoded(body)
    data = page.get("data")
    if not isinstance(data, list):
        return None
    entries: dict[str, ModelEntry] = {}
    engine: Engine | None = None
    for card in data[:_MOST_MODELS]:
        if not isinstance(card, dict):
            continue
        name = _name(card.get("id"))
        if name is None:
            continue
        owner = card.get("owned_by")
        if isinstance(owner, str):
            engine = engine or _OWNERS.get(owner)
        entries[name] = ModelEntry(
            name=name,
            parent=_name(card.get("parent")),
            max_model_len=_count(card.get("max_model_len")),
            created=_count(card.get("created")),
        )
    return ModelPage(tuple(entries.values()), engine)


def read_metrics(body: bytes) -> Capacity:
    """`/metrics` in Prometheus' text format. One pass over the lines."""
    engine: Engine | None = None
    tokens: int | None = None
    block: int | None = None
    pages: int | None = None
    started: float | None = None
    for line in _samples(body):
        if engine is None:
            engine = next((kind for prefix, kind in _PREFIXES if line.startswith(prefix)), None)
        if line.startswith(b"vllm:cache_config_info{") and tokens is None:
            labels = dict(_LABEL.findall(line))
            block = _digits(labels.get(b"block_size")) or block
            blocks = _digits(labels.get(b"num_gpu_blocks"))
            tokens = _digits(labels.get(b"kv_cache_size_tokens"))
            if tokens is None and blocks and block:
                tokens = blocks * block
        elif line.startswith(b"stemcache_model_info{"):
            block = _digits(dict(_LABEL.findall(line)).get(b"block_size")) or block
        elif line.startswith(b"stemcache_pages_capacity "):
            pages = _number(line)
        elif line.startswith(b"process_start_time_seconds "):
            started = _real(line)
    if tokens is None and pages and block:
        tokens = pages * block
    return Capacity(engine, _bounded(tokens), _bounded(block), started)


def read_server_info(body: bytes) -> Capacity:
    """SGLang's `/server_info`: its arguments, and what its scheduler has made of them."""
    page = _decoded(body)
    states = page.get("internal_states")
    places = [page, *(states if isinstance(states, list) else [])][:64]
    found = [place for place in places if isinstance(place, dict)]
    tokens = next((n for p in found if (n := _count(p.get("max_total_num_tokens")))), None)
    block = next((n for p in found if (n := _count(p.get("page_size")))), None)
    return Capacity(Engine.SGLANG if tokens or block else None, tokens, block)


def read_props(body: bytes) -> Capacity:
    """llama.cpp's `/props`: a context for each slot. It matches to the token."""
    page = _decoded(body)
    slots = _count(page.get("total_slots"))
    settings = page.get("default_generation_settings")
    context = _count(settings.get("n_ctx")) if isinstance(settings, dict) else None
    if not slots or not context:
        return Capacity()
    return Capacity(Engine.LLAMA_CPP, _bounded(slots * context), 1)


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        page = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        return {}
    return page if isinstance(page, dict) else {}


def _samples(body: bytes) -> Iterator[bytes]:
    for line in body.splitlines():
        if line and not line.startswith(b"#") and len(line) <= _LONGEST_LINE:
            yield line


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= _MOST_NAME else None


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 < value <= _MOST_TOKENS else None


def _digits(value: bytes | None) -> int | None:
    return None if value is None or not _NUMBER.fullmatch(value) else int(value)


def _bounded(value: int | None) -> int | None:
    return value if value is not None and 0 < value <= _MOST_TOKENS else None


def _number(line: bytes) -> int | None:
    value = _real(line)
    return None if value is None else int(value)


def _real(line: bytes) -> float | None:
    try:
        value = float(line.split()[1])
    except (IndexError, ValueError):
        return None
    return value if 0 <= value < _MOST_TOKENS else None
