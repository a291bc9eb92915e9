import pytest

from stemcache.replay.scrape import Counters, read_counters

STEMCACHE = """\
# HELP stemcache_prompt_tokens_total Prompt tokens of admitted requests; cached + computed.
# TYPE stemcache_prompt_tokens_total counter
stemcache_prompt_tokens_total 1200.0
stemcache_cached_tokens_total 300.0
stemcache_pages{state="free"} 17.0
"""
VLLM = """\
vllm:prefix_cache_queries_total{engine="0",model_name="m"} 1000.0
vllm:prefix_cache_queries_total{engine="1",model_name="m"} 500.0
vllm:prefix_cache_queries_created{engine="0",model_name="m"} 1.7e9
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 100.0
vllm:prefix_cache_hits_total{engine="1",model_name="m"} 20.0
vllm:external_prefix_cache_hits_total{engine="0",model_name="m"} 30.0
vllm:prompt_tokens_total{engine="0"} 9e9
"""
SGLANG = """\
sglang:prompt_tokens_total{model_name="m",tp_rank="0"} 800.0
sglang:cached_tokens_total{cache_source="device",model_name="m"} 200.0
sglang:cached_tokens_total{cache_source="host",model_name="m"} 40.0
"""


@pytest.mark.parametrize(
    ("page", "counters"),
    [
        (STEMCACHE, Counters("stemcache", 1200, 300)),
        (VLLM, Counters("vLLM", 1500, 150)),
        (SGLANG, Counters("SGLang", 800, 240)),
        (
            SGLANG + 'sglang:cached_tokens_total{cache_source="total",model_name="m"} 240\n',
            Counters("SGLang", 800, 240),
        ),
        ('sglang:prompt_tokens_total 5\nsglang:cached_tokens_total{a="b c} d"} 2 1700000000\n',
         Counters("SGLang", 5, 2)),
    ],
)  # fmt: skip
def test_each_server_is_known_by_its_own_names(page: str, counters: Counters) -> None:
    """Series of several engines are added up, a series of the sum is not."""
    assert read_counters(page) == counters


@pytest.mark.parametrize(
    "page",
    [
        "",
        "python_gc_objects_collected_total 3\n",
        "stemcache_prompt_tokens_total 5\n",
        "stemcache_cached_tokens_total 5\n",
        "stemcache_prompt_tokens_total NaN\nstemcache_cached_tokens_total +Inf\n",
        "stemcache_prompt_tokens_total\nstemcache_cached_tokens_total x\n",
        "<html>vllm:</html>",
        "vllm:" + "{" * 100_000,
    ],
)
def test_a_page_without_them_has_none(page: str) -> None:
    """Whatever it holds."""
    assert read_counters(page) is None


def test_what_was_added_is_the_difference() -> None:
    """Unknown if the server was started anew meanwhile, or is another."""
    before = Counters("vLLM", 100, 10)
    assert Counters("vLLM", 150, 30).since(before) == Counters("vLLM", 50, 20)
    assert Counters("vLLM", 50, 20).since(before) is None
    assert Counters("vLLM", 150, 5).since(before) is None
    assert Counters("SGLang", 150, 30).since(before) is None
