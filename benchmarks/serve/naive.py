"""Stock transformers on one model: prefill, a short question on a cached prefix, decoding.

benchmarks/serve/naive.py DIR        prints JSON
"""

import json
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from transformers import AutoModelForCausalLM, DynamicCache

REPEATS = 5
SIZES = (512, 1024, 2048, 4096)


def timed(work: Callable[[], Any]) -> float:
    """Median seconds."""
    took = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        took.append(time.perf_counter() - start)
    return median(took)


def main() -> None:
    """Measure float32 and print."""
    model = AutoModelForCausalLM.from_pretrained(
        sys.argv[1], dtype=torch.float32, local_files_only=True
    )
    generator = torch.Generator().manual_seed(1)

    def tokens(rows: int, count: int) -> torch.Tensor:
        return torch.randint(100, 40_000, (rows, count), generator=generator)

    report: dict[str, Any] = {"dtype": "float32", "prefill_ms": {}, "decode_tokens_per_s": {}}
    with torch.inference_mode():
        model(tokens(1, 64))
        for size in SIZES:
            prompt = tokens(1, size + 32)
            took = timed(lambda prompt=prompt: model(prompt, logits_to_keep=1))  # type: ignore[misc]
            report["prefill_ms"][size] = round(1e3 * took, 1)
        cache = DynamicCache()
        model(tokens(1, 2000), past_key_values=cache, logits_to_keep=1)
        question = tokens(1, 32)

        def warm() -> None:
            model(question, past_key_values=cache, logits_to_keep=1)
            cache.crop(-32)

        report["warm_32_on_2000_ms"] = round(1e3 * timed(warm), 1)
        for batch in (1, 8):
            cache = DynamicCache()
            model(tokens(batch, 128), past_key_values=cache, logits_to_keep=1)
            one = tokens(batch, 1)

            def decode(cache: DynamicCache = cache, one: torch.Tensor = one) -> None:
                for _ in range(8):
                    model(one, past_key_values=cache)

            report["decode_tokens_per_s"][batch] = round(8 * batch / timed(decode), 1)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
