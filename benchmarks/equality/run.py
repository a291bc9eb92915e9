"""Do answers change when their prefix comes from the cache? The decoder against itself and others.

Three questions, each over the same prompts of mixed sharing, greedy:

1. float32: is every answer with a warm cache the answer with the cache off, token for token?
2. bfloat16: what share of answers is equal, and how far apart are the logits?
3. float32: how far are the decoder's logits from transformers' on the same tokens?

`python -m benchmarks.equality.run --help` has the dials. Exit code 1 when 1. or 3. fails.
"""

import argparse
import gzip
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from rich.console import Console
from rich.progress import track
from transformers import AutoModelForCausalLM

from stemcache.clock import MonotonicClock
from stemcache.engine.config import EngineConfig, IndexForm
from stemcache.engine.engine import Engine
from stemcache.engine.model import Logits, ModelInfo, Step
from stemcache.engine.request import FinishReason, GenerationRequest, Sampling
from stemcache.engine.torch.model import Precision, TorchModel
from stemcache.text.chat_template import load_template
from stemcache.text.file_tokenizer import FileTokenizer

SEED = 20261130
FORMS: tuple[tuple[IndexForm, int], ...] = (("hash", 16), ("radix", 1))
TOLERANCE = 2e-3  # of logits on a scale of about 27
TALK = Console(stderr=True)

Prompt = npt.NDArray[np.int32]


class Recorder:
    """A model that keeps the logits of each request's first token, by order of sampling."""

    def __init__(self, inner: TorchModel) -> None:
        self.inner = inner
        self.rows: list[npt.NDArray[np.float32]] = []

    @property
    def info(self) -> ModelInfo:
        """The inner model's."""
        return self.inner.info

    def allocate(self, pages: int, block_size: int) -> None:
        """Pass on."""
        self.inner.allocate(pages, block_size)

    def forward(self, steps: Sequence[Step]) -> Logits:
        """Pass on, and keep what is sampled."""
        logits = self.inner.forward(steps)
        self.rows += [row.copy() for row in logits]
        return logits


@dataclass
class Run:
    """Answers to all prompts, one after another on one engine."""

    answers: list[tuple[int, ...]]
    first_logits: list[npt.NDArray[np.float32]]
    cached_tokens: list[int]
    seconds: float


def prompts(
    model: Path, trajectories: Path, count: int, airline: int, longest: int
) -> list[Prompt]:
    """So many of them turns of airline trajectories, the rest of synthetic sharing; mixed."""
    random = Random(SEED)
    tokenizer = FileTokenizer(model)
    template = load_template(model, now=lambda: datetime.now(UTC))
    with gzip.open(trajectories, "rt", encoding="utf-8") as file:
        dialogues: list[list[dict[str, Any]]] = [each["traj"] for each in json.load(file)]
    turns: list[Prompt] = []
    for messages in random.sample(dialogues, len(dialogues)):
        for stop, message in enumerate(messages):
            if message["role"] != "assistant":
                continue
            text = template.render(plain(messages[:stop]))
            tokens = tokenizer.encode(text, add_special_tokens=False)
            if len(tokens) <= longest:
                turns.append(np.array(tokens, np.int32))
        if len(turns) >= airline:
            break
    stems = [[random.randrange(5, 40_000) for _ in range(longest // 2)] for _ in range(4)]
    rest: list[Prompt] = []
    while len(turns[:airline]) + len(rest) < count:
        stem = random.choice(stems)
        kept = stem[: random.choice([16, 100, 128, 333, len(stem)])]
        own = [random.randrange(5, 40_000) for _ in range(random.randint(1, 60))]
        rest.append(np.array(kept + own, np.int32))
    mixed = turns[:airline] + rest
    random.shuffle(mixed)
    return mixed


def plain(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages as any chat template takes them: calls and results as text."""
    out = []
    for message in messages:
        content = message.get("content") or ""
        for call in message.get("tool_calls") or ():
            content += f"\n{call['function']['name']}({call['function']['arguments']})"
        role = "user" if message["role"] == "tool" else message["role"]
        out.append({"role": role, "content": content})
    return out


def answer(
    model: TorchModel, asked: Sequence[Prompt], new_tokens: int, config: EngineConfig, name: str
) -> Run:
    """Ask every prompt, one at a time."""
    recorder = Recorder(model)
    engine = Engine(recorder, config, clock=MonotonicClock(), random=Random(SEED))
    run = Run([], [], [], 0.0)
    start = time.perf_counter()
    for number, prompt in enumerate(track(asked, description=name, console=TALK)):
        if not TALK.is_terminal and number % 20 == 0:
            TALK.print(f"{name}: {number} of {len(asked)}")
        recorder.rows = []
        engine.submit(GenerationRequest(f"r{number}", prompt, new_tokens, Sampling(temperature=0)))
        tokens: list[int] = []
        while not engine.idle:
            for progress in engine.step():
                assert progress.finish is not FinishReason.ERROR, progress.error
                tokens += progress.tokens
                cached = progress.usage.cached_tokens
        run.answers.append(tuple(tokens))
        run.first_logits.append(recorder.rows[0])
        run.cached_tokens.append(cached)
    run.seconds = time.perf_counter() - start
    return run


def compare(cold: Run, warm: Run) -> dict[str, Any]:
    """Shares and distances between two runs of the same prompts."""
    equal = [left == right for left, right in zip(cold.answers, warm.answers, strict=True)]
    distance = [
        float(np.abs(left - right).max())
        for left, right in zip(cold.first_logits, warm.first_logits, strict=True)
    ]
    return {
        "prompts": len(equal),
        "equal_answers": sum(equal),
        "largest_logit_difference": max(distance),
        "largest_logit": max(float(np.abs(row).max()) for row in cold.first_logits),
        "prompts_with_hits": sum(cached > 0 for cached in warm.cached_tokens),
        "cached_tokens": sum(warm.cached_tokens),
        "seconds_cold": round(cold.seconds, 1),
        "seconds_warm": round(warm.seconds, 1),
    }


def against_transformers(path: Path, model: TorchModel, asked: Sequence[Prompt]) -> dict[str, Any]:
    """Largest difference between our logits and transformers' behind each prompt's last token."""
    oracle = AutoModelForCausalLM.from_pretrained(
        str(path), dtype=torch.float32, local_files_only=True
    )
    run = answer(model, asked, 1, config_of("hash", 16, caching=True), "decoder")
    worst = largest = 0.0
    agree = 0
    with torch.inference_mode():
        for prompt, ours in zip(
            track(asked, description="transformers", console=TALK), run.first_logits, strict=True
        ):
            ids = torch.from_numpy(prompt.astype(np.int64))[None]
            theirs = oracle(ids, logits_to_keep=1).logits[0, -1].float().numpy()
            worst = max(worst, float(np.abs(theirs - ours).max()))
            largest = max(largest, float(np.abs(theirs).max()))
            agree += int(theirs.argmax() == ours.argmax())
    return {
        "prompts": len(asked),
        "largest_logit_difference": worst,
        "largest_logit": largest,
        "equal_choices": agree,
    }


def config_of(form: IndexForm, size: int, *, caching: bool) -> EngineConfig:
    """An engine with room for everything asked at once, and for some of what was asked before."""
    return EngineConfig(pages=32_768 // size, index=form, block_size=size, prefix_caching=caching)


def main() -> int:
    """Run what was asked for; print a JSON report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--model", type=Path, required=True, help="a safetensors directory")
    parser.add_argument(
        "--trajectories",
        type=Path,
        default=Path("../shared/traces/tau_bench_airline.json.gz"),
        help="airline trajectories of tau-bench, gzipped JSON",
    )
    parser.add_argument("--prompts", type=int, default=200)
    parser.add_argument("--airline", type=int, default=60, help="of them, turns of dialogues")
    parser.add_argument("--bf16-prompts", type=int, default=60)
    parser.add_argument("--oracle-prompts", type=int, default=16)
    parser.add_argument("--longest", type=int, default=1600, help="tokens of a prompt, at most")
    parser.add_argument("--new-tokens", type=int, default=12)
    parser.add_argument("--output", type=Path, help="write the report here too")
    options = parser.parse_args()
    asked = prompts(
        options.model, options.trajectories, options.prompts, options.airline, options.longest
    )
    report: dict[str, Any] = {
        "seed": SEED,
        "prompt_tokens": sum(len(prompt) for prompt in asked),
        "new_tokens": options.new_tokens,
        "runs": [],
    }
    plan: list[tuple[Precision, int]] = [
        ("float32", options.prompts),
        ("bfloat16", options.bf16_prompts),
    ]
    for precision, count in plan:
        if not count:
            continue
        model = TorchModel.load(options.model, dtype=precision)
        off = config_of("hash", 16, caching=False)
        cold = answer(model, asked[:count], options.new_tokens, off, f"{precision} cache off")
        for form, size in FORMS:
            on = config_of(form, size, caching=True)
            warm = answer(model, asked[:count], options.new_tokens, on, f"{precision} {form}")
            report["runs"].append(
                {"dtype": precision, "index": form, "block_size": size, **compare(cold, warm)}
            )
        if precision == "float32" and options.oracle_prompts:
            oracle_asked = asked[: options.oracle_prompts]
            report["transformers"] = against_transformers(options.model, model, oracle_asked)
    exact = all(
        run["equal_answers"] == run["prompts"] and run["prompts_with_hits"]
        for run in report["runs"]
        if run["dtype"] == "float32"
    )
    close = report.get("transformers", {}).get("largest_logit_difference", 0.0) <= TOLERANCE
    report["passed"] = exact and close
    print(json.dumps(report, indent=2))
    if options.output:
        options.output.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0 if report["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
