"""What the two indexes cost, against the machine's hashing limit and other packages.

    scripts/bench-index              everything of ours; writes benchmarks/index/results.json
    scripts/bench-index --peers      other packages beside it, those that are installed
    scripts/bench-index --quick      small sizes, few repeats; writes nothing

One thread, a fixed seed, CPU time; median and quartiles of the repeats. The garbage collector is
on, and has nothing left to do when a repeat begins. Contents are random tokens: prompts of 2,000,
every ten of them sharing their first 496, where an index is said to hold something already.
"""

import argparse
import gc
import hashlib
import json
import os
import statistics
import sys
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.index.caches import FORMS, NAMESPACE, OURS, Candidate, Form
from benchmarks.index.peers import installed
from benchmarks.index.table import tables
from benchmarks.index.timing import Timing, elapsed_ms, interleaved, slope, timing
from benchmarks.machine import machine
from stemcache.core.hashing import stem_keys
from stemcache.core.index import Lease, PrefixIndex
from stemcache.core.tokens import Chain, Tokens

SEED = 20261130
RESULTS = Path(__file__).with_name("results.json")
SIZES = (1_000, 10_000, 100_000, 1_000_000)
NEW_TOKENS = 1_008  # a chunk of new tokens: whole blocks at every block size measured
PROMPT, SHARED, FAMILY = 2_000, 496, 10
VOCABULARY = 150_000
PATIENCE_MS = 1_500.0  # who would take longer for one request, by its growth so far, is not asked

Report = dict[str, Any]


class Source:
    """Random tokens, never the same twice."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(SEED)

    def tokens(self, count: int) -> Tokens:
        """Fresh tokens."""
        return self._random.integers(0, VOCABULARY, count, dtype=np.uint32)

    def prompts(self, count: int) -> list[Tokens]:
        """Prompts that share beginnings in families, of about `count` tokens together."""
        prompts: list[Tokens] = []
        for number in range(max(1, count // PROMPT)):
            if number % FAMILY == 0:
                shared = self.tokens(SHARED)
            prompts.append(np.concatenate([shared, self.tokens(PROMPT - SHARED)]))
        return prompts


def chain_of(tokens: Tokens | list[int], form: Form) -> Chain:
    """A chain as the engine makes it."""
    return Chain(tokens, block_size=form.block_size, namespace=NAMESPACE)


def fill(index: PrefixIndex[int], form: Form, prompts: Sequence[Tokens]) -> None:
    """Put prompts into an index."""
    for prompt in prompts:
        chain = chain_of(prompt, form)
        index.insert(chain, [0] * chain.blocks, now=0.0)


def keying(source: Source, repeats: int) -> Report:
    """Keys of 100,000 tokens at block 16, beside hashing alone of the same bytes."""
    raw = source.tokens(100_000).astype("<u4").tobytes()
    extras = {0: NAMESPACE}
    heads = [b"\x00" * 48] * (len(raw) // 64)  # header and parent: 48 bytes a block
    messages = [head + raw[64 * at : 64 * (at + 1)] for at, head in enumerate(heads)]
    together = b"".join(messages)

    def limit() -> None:
        sha256 = hashlib.sha256
        for message in messages:
            sha256(message).digest()

    timings = interleaved(
        {
            "stem_keys": lambda: stem_keys(None, raw, 16, extras, 0),
            "sha256 of each block's message": limit,
            "sha256 of all messages at once": lambda: hashlib.sha256(together).digest(),
        },
        repeats,
    )
    return {"tokens": 100_000, "block_size": 16, "bytes": len(together), "timings": timings}


def verbs(size: int, source: Source, repeats: int) -> list[Report]:
    """Each verb on a prompt of `size` tokens, in every form, alone and with ten times as much."""
    cases = [(form, held) for held in (0, 10 * size) for form in FORMS]
    others = source.prompts(10 * size)
    indexes = [form.make() for form, _ in cases]
    for index, (form, held) in zip(indexes, cases, strict=True):
        fill(index, form, others if held else [])
    samples: list[dict[str, list[float]]] = [{} for _ in cases]
    for _ in range(repeats):
        tokens = source.tokens(size)
        for index, (form, _), mine in zip(indexes, cases, samples, strict=True):
            gc.collect()
            for name, sample in visit(index, form, tokens, source).items():
                mine.setdefault(name, []).append(sample)
            index.remove(chain_of(tokens[: form.block_size], form))
    return [
        {
            "form": form.name,
            "block_size": form.block_size,
            "tokens": size,
            "held_tokens": held,
            "timings": {name: timing(each) for name, each in mine.items()},
        }
        for (form, held), mine in zip(cases, samples, strict=True)
    ]


def visit(index: PrefixIndex[int], form: Form, tokens: Tokens, source: Source) -> dict[str, float]:
    """Every verb once, in the order in which a prompt's life has them; milliseconds."""
    listed = tokens.tolist()
    values = list(range(len(tokens) // form.block_size))
    chain = chain_of(tokens, form)
    again = chain_of(tokens, form)
    leases: list[Lease[int]] = []

    def cold() -> None:
        assert index.match(chain).blocks == 0, "fresh tokens are cached"
        index.insert(chain, values, now=0.0)

    times = {
        "chain": elapsed_ms(lambda: chain_of(listed, form)),
        "cold": elapsed_ms(cold),
        "warm": elapsed_ms(lambda: index.match(again)),
        "again": elapsed_ms(lambda: index.match(again)),
        "pin": elapsed_ms(lambda: leases.append(index.pin(again, now=1.0))),
    }
    (lease,) = leases
    times["behind"] = statistics.median(grow(index, again, lease, source))
    times["release"] = elapsed_ms(lease.release)
    return times


def grow(index: PrefixIndex[int], chain: Chain, lease: Lease[int], source: Source) -> list[float]:
    """Insert eight chunks of new tokens behind what a lease holds; milliseconds each."""

    def chunk() -> float:
        chain.extend(source.tokens(-len(chain) % chain.block_size + NEW_TOKENS))
        values = [0] * (chain.blocks - lease.blocks)
        return elapsed_ms(lambda: index.insert(chain, values, now=2.0, lease=lease))

    return [chunk() for _ in range(8)]


def eviction(form: Form, source: Source, repeats: int) -> Report:
    """Emptying an index of prompts: a thousand blocks a call, and one block a call."""
    prompts = source.prompts(100_000)
    samples: dict[int, list[float]] = {1_000: [], 1: []}

    def once(each: int) -> float:
        index = form.make()
        fill(index, form, prompts)
        gc.collect()
        calls = min(len(index), 10_000) // each

        def evict() -> None:
            for _ in range(calls):
                index.evict(each)

        return elapsed_ms(evict) * 1e3 / (calls * each)

    for _ in range(repeats):
        for each, times in samples.items():
            times.append(once(each))
    return {
        "form": form.name,
        "block_size": form.block_size,
        "us_per_block": {
            f"{each} a call": dict(
                zip(("p25", "median", "p75"), statistics.quantiles(times, n=4), strict=True)
            )
            for each, times in samples.items()
        },
    }


def memory(form: Form, source: Source) -> Report:
    """Bytes that an index keeps, values not counted: Python's own and numpy's allocations."""
    prompts = source.prompts(200_000)
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    index = form.make()
    fill(index, form, prompts)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    blocks = len(index)
    return {
        "form": form.name,
        "block_size": form.block_size,
        "tokens": blocks * form.block_size,
        "bytes_per_block": round((after - before) / blocks, 1),
        "bytes_per_token": round((after - before) / blocks / form.block_size, 2),
    }


def requests(
    candidates: Sequence[Candidate], sizes: Sequence[int], source: Source, repeats: int
) -> list[Report]:
    """Whole requests from a list of token ids, put to every candidate in turn."""
    rows: list[Report] = []
    cold: dict[str, list[float]] = {}
    for size in sizes:
        asked = [
            each for each in candidates if expected_ms(cold.get(key_of(each), [])) < PATIENCE_MS
        ]
        samples: dict[str, dict[str, list[float]]] = {}
        for _ in range(repeats):
            first = source.tokens(size).tolist()
            second = first[: size // 16 * 16] + source.tokens(NEW_TOKENS).tolist()
            for candidate in asked:
                gc.collect()
                times = three(candidate, first, second)
                for kind, sample in times.items():
                    mine = samples.setdefault(key_of(candidate), {})
                    mine.setdefault(kind, []).append(sample)
        for candidate in candidates:
            each = samples.get(key_of(candidate))
            timings = {kind: timing(row) for kind, row in each.items()} if each else None
            if timings:
                cold.setdefault(key_of(candidate), []).append(timings["cold"]["median_ms"])
            rows.append({
                "name": candidate.name,
                "version": candidate.version,
                "block_size": candidate.block_size,
                "tokens": size,
                "timings": timings,
            })  # fmt: skip
        print(f"  requests of {size:,} tokens done", file=sys.stderr)
    return rows


def expected_ms(medians_ms: Sequence[float]) -> float:
    """What the next size would take if time went on growing as from the last size to this."""
    return medians_ms[-1] ** 2 / medians_ms[-2] if len(medians_ms) > 1 else 0.0


def three(candidate: Candidate, first: list[int], second: list[int]) -> dict[str, float]:
    """A prompt that is new, the same again, and the same with more behind it; milliseconds."""
    cache = candidate.make(len(first) + NEW_TOKENS + 64)
    found: list[int] = []
    times = {
        "cold": elapsed_ms(lambda: found.append(cache.request(first))),
        "warm": elapsed_ms(lambda: found.append(cache.request(first))),
        "behind": elapsed_ms(lambda: found.append(cache.request(second))),
    }
    least = len(first) // 16 * 16 - 16  # a cache may leave the last block to be computed
    assert found[0] == 0, f"{candidate.name} found {found[0]} tokens of nothing"
    assert min(found[1:]) >= least, f"{candidate.name} found {found} of {len(first)}"
    return times


def key_of(candidate: Candidate) -> str:
    """Names one candidate."""
    return f"{candidate.name} {candidate.block_size}"


def growth(rows: Sequence[Report]) -> list[Report]:
    """How cost grows with the prompt, and what content held beside it costs."""
    summary: list[Report] = []
    for form in FORMS:
        mine = [r for r in rows if (r["form"], r["block_size"]) == (form.name, form.block_size)]
        empty = [row for row in mine if not row["held_tokens"]]
        full = [row for row in mine if row["held_tokens"]]
        sizes = [row["tokens"] for row in empty if row["tokens"] >= 10_000]
        summary.append(
            {
                "form": form.name,
                "block_size": form.block_size,
                "cold_slope": slope(
                    sizes, [median(row, "cold") for row in empty if row["tokens"] >= 10_000]
                ),
                "held_over_empty": {
                    name: round(
                        sum(median(left, name) / median(right, name) for left, right in pairs)
                        / len(pairs),
                        2,
                    )
                    for name in ("cold", "warm", "behind")
                    if (pairs := list(zip(full, empty, strict=True)))
                },
            }
        )
    return summary


def median(row: Report, name: str) -> float:
    """One median, milliseconds."""
    entry: Timing = row["timings"][name]
    return entry["median_ms"]


def main() -> int:
    """Measure, print the tables, write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--peers", action="store_true", help="measure other packages beside ours")
    parser.add_argument("--quick", action="store_true", help="small sizes, few repeats, no file")
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    sizes = SIZES if not options.quick else (1_000, 10_000, 20_000)
    repeats = options.repeats if not options.quick else 3
    peers = [*OURS, *installed()] if options.peers else []
    gc.collect()
    gc.freeze()  # what importing made is no garbage, and no part of what is measured
    source = Source()
    report: Report = {
        "machine": {
            **machine(),
            "load": [round(each, 2) for each in os.getloadavg()],
            "numpy": np.__version__,
        },
        "seed": SEED,
    }
    report["keying"] = keying(source, 5 * repeats)
    report["verbs"] = []
    for size in sizes:
        report["verbs"] += verbs(size, source, repeats)
        print(f"  verbs on {size:,} tokens done", file=sys.stderr)
    report["growth"] = growth(report["verbs"])
    report["eviction"] = [eviction(form, source, repeats) for form in FORMS]
    report["memory"] = [memory(form, source) for form in FORMS]
    if peers:
        report["requests"] = requests(peers, sizes, source, repeats)
    for text in tables(report).values():
        print(text)
    if not options.quick:
        options.output.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
