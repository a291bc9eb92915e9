"""What is read of the pages that replicas have about themselves."""

import json
from typing import Any

import pytest

from stemcache.gateway.engine_pages import (
    Capacity,
    ModelEntry,
    read_metrics,
    read_models,
    read_props,
    read_server_info,
)
from stemcache.gateway.replica import Engine

VLLM_METRICS = b"""\
# HELP process_start_time_seconds Start time of the process since unix epoch in seconds.
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1.79605000123e+09
# HELP vllm:num_requests_running Number of requests in model execution batches.
vllm:num_requests_running{engine="0",model_name="Qwen/Qwen3-0.6B"} 3.0
# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig
vllm:cache_config_info{block_size="16",a="\\",num_gpu_blocks=\\"1",num_gpu_blocks="7281"} 1
"""

SGLANG_INFO = {
    "model_path": "Qwen/Qwen3-8B",
    "page_size": 64,
    "internal_states": [{"last_gen_throughput": 1.5, "max_total_num_tokens": 120_000}],
}

HOSTILE: list[bytes] = [
    b"",
    b"null",
    b"3",
    b"[]",
    b'"text"',
    b"{",
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"data":' * 50_000,
    b"<html>not found</html>",
    b'{"data": 3}',
    b'{"data": [null, 3, [], "x", {}]}',
    b'{"data": [{"id": 3}, {"id": ""}, {"id": null}]}',
    b'{"internal_states": [[], null, 3], "max_total_num_tokens": "12", "page_size": true}',
    b'{"max_total_num_tokens": 1e400}',
    b'{"max_total_num_tokens": 123456789012345678901234567890}',
    b'{"total_slots": -1, "default_generation_settings": {"n_ctx": 4096}}',
    b'{"total_slots": 4, "default_generation_settings": [4096]}',
    b"process_start_time_seconds\n",
    b"process_start_time_seconds nan\nprocess_start_time_seconds -5\n",
    b"process_start_time_seconds x\nstemcache_pages_capacity 1e99\n",
    b'vllm:cache_config_info{block_size="16",num_gpu_blocks="None"} 1.0\n',
    b'vllm:cache_config_info{block_size="0",num_gpu_blocks="0"} 1.0\n',
    b'vllm:cache_config_info{block_size="' + b"9" * 5000 + b'",num_gpu_blocks="1"} 1.0\n',
    b"vllm:cache_config_info{" + b'a="' * 20_000 + b"\n",
    b'vllm:cache_config_info{a="' + b"\\" * 60_000 + b"\n",
]


def models(*cards: Any) -> bytes:
    """A list of models."""
    return json.dumps({"object": "list", "data": cards}).encode()


def test_models_and_their_adapters_are_read() -> None:
    """An adapter is what stands on another."""
    page = read_models(
        models(
            {"id": "base", "owned_by": "vllm", "created": 12, "max_model_len": 40_960},
            {"id": "sql", "owned_by": "vllm", "parent": "base", "root": "/loras/sql"},
        )
    )
    assert page is not None
    assert page.engine is Engine.VLLM
    assert page.names == {"base", "sql"}
    assert page.adapters == {"sql"}
    assert page.entries == (
        ModelEntry("base", None, 40_960, 12),
        ModelEntry("sql", "base", None, None),
    )


@pytest.mark.parametrize(
    ("owner", "engine"),
    [
        ("vllm", Engine.VLLM),
        ("sglang", Engine.SGLANG),
        ("llamacpp", Engine.LLAMA_CPP),
        ("stemcache", Engine.STEMCACHE),
        ("organization-owner", None),
        (3, None),
        (None, None),
    ],
)
def test_the_engine_is_told_by_who_owns_the_models(owner: object, engine: Engine | None) -> None:
    """And left unknown where that says nothing."""
    page = read_models(models({"id": "m", "owned_by": owner}))
    assert page is not None
    assert page.engine is engine


def test_an_empty_list_of_models_is_a_list() -> None:
    """A server may serve none yet."""
    page = read_models(b'{"data": []}')
    assert page is not None
    assert page.names == frozenset()


def test_no_more_models_are_kept_than_anybody_serves() -> None:
    """A page may not fill the gateway's memory."""
    page = read_models(models(*({"id": f"m{number}"} for number in range(5000))))
    assert page is not None
    assert len(page.entries) == 1024
    assert read_models(models({"id": "x" * 10_000})).names == frozenset()  # type: ignore[union-attr]


def test_vllms_metrics_tell_its_cache_and_its_start() -> None:
    """Blocks times their size; what stands in another label's text is not taken for one."""
    assert read_metrics(VLLM_METRICS) == Capacity(
        Engine.VLLM, kv_tokens=7281 * 16, block_tokens=16, started=1796050001.23
    )


def test_vllm_may_say_the_tokens_themselves() -> None:
    """Where blocks of several sizes make the product wrong."""
    line = b'vllm:cache_config_info{block_size="4",kv_cache_size_tokens="9000",num_gpu_blocks="7"}'
    assert read_metrics(line + b" 1.0\n").kv_tokens == 9000


def test_of_several_ranks_the_first_is_read() -> None:
    """Each has a cache of its own."""
    lines = [
        b'vllm:cache_config_info{block_size="16",engine="%d",num_gpu_blocks="%d"} 1.0'
        % (n, 100 + n)
        for n in range(4)
    ]
    assert read_metrics(b"\n".join(lines)).kv_tokens == 1600


def test_stemcaches_own_metrics_are_read() -> None:
    """Pages times the block size of its info series, in either order."""
    page = b"""\
stemcache_pages_capacity 64.0
stemcache_model_info{block_size="32",name="toy"} 1.0
"""
    assert read_metrics(page) == Capacity(Engine.STEMCACHE, kv_tokens=2048, block_tokens=32)


@pytest.mark.parametrize(
    ("line", "engine"),
    [
        (b"sglang:num_running_reqs 3.0", Engine.SGLANG),
        (b"llamacpp:prompt_tokens_total 3", Engine.LLAMA_CPP),
        (b"python_gc_objects_collected_total 3", None),
    ],
)
def test_names_of_metrics_tell_the_engine(line: bytes, engine: Engine | None) -> None:
    """By their prefix."""
    assert read_metrics(line).engine is engine


def test_sglangs_server_info_is_read() -> None:
    """The capacity is its scheduler's, the page size an argument."""
    body = json.dumps(SGLANG_INFO).encode()
    assert read_server_info(body) == Capacity(Engine.SGLANG, 120_000, 64)
    flat = json.dumps({"max_total_num_tokens": 5000, "page_size": 1}).encode()
    assert read_server_info(flat) == Capacity(Engine.SGLANG, 5000, 1)


def test_llama_cpps_props_are_read() -> None:
    """A context for each slot, matched to the token."""
    body = json.dumps({"total_slots": 4, "default_generation_settings": {"n_ctx": 4096}}).encode()
    assert read_props(body) == Capacity(Engine.LLAMA_CPP, 16_384, 1)


@pytest.mark.parametrize("body", HOSTILE)
def test_nothing_is_believed_of_what_is_not_as_expected(body: bytes) -> None:
    """No error, no figure."""
    page = read_models(body)
    assert page is None or page.names == frozenset()
    for read in (read_metrics, read_server_info, read_props):
        found = read(body)
        assert found.kv_tokens is None
        assert found.started is None


def test_names_that_are_no_text_are_left_out() -> None:
    """Lone surrogates among them, which could not be sent on."""
    page = read_models(b'{"data": [{"id": "\\ud800"}, {"id": "good"}]}')
    assert page is None or page.names == {"good"}
