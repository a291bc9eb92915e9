"""Run the naive agent and every step after it, and print what their prompts find in caches.

    python -m examples.agent.compare                  # the embedded model; some minutes on a CPU
    python -m examples.agent.compare --model toy      # no weights, a small shop; seconds
    python -m examples.agent.compare --url http://127.0.0.1:8000
    python -m examples.agent.compare --logs logs      # leaves logs for `stemcache lint`
    python -m examples.agent.compare --write          # renews results.json and docs/prompt.md

The first table is of `stemcache serve`, as it reports it. The others play the same conversations,
with the answers that the model gave there, under providers' rules and list prices. Whatever the
model, providers get the full shop: below 1,024 tokens they keep nothing.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.machine import machine
from examples.agent.endpoint import Endpoint
from examples.agent.judge import any_order, attainable, longest_prefixes, predicted, write_log
from examples.agent.loop import Sent, Target
from examples.agent.messages import as_messages
from examples.agent.report import GUIDE, RESULTS, quote, quoted_tables, report
from examples.agent.steps import CHATS_ALONE, STEPS
from examples.agent.worker import Job, Workers, workers
from stemcache.wire.api import Api

__all__ = ["MODELS", "compare", "main", "on_endpoint", "serving", "under_rule"]

MODELS = {
    "claude-sonnet-5": Target("anthropic", "claude-sonnet-5", {"max_tokens": 400}),
    "gpt-5.6": Target("openai", "gpt-5.6", {"max_completion_tokens": 400}),
    "gpt-5.1": Target("openai", "gpt-5.1", {"max_completion_tokens": 400}),
}
"""Markers, breakpoints, and a cache that needs neither."""


def compare(url: str, *, small: bool, logs: Path) -> dict[str, Any]:
    """All figures, as JSON. Leaves a log of each agent and model in `logs`."""
    with workers() as ours:
        served, answers = on_endpoint(ours, url, small=small)
        rules = {name: under_rule(ours, target, answers, logs) for name, target in MODELS.items()}
    return {"endpoint": served, "rules": rules}


def on_endpoint(ours: Workers, url: str, *, small: bool) -> tuple[dict[str, Any], list[str]]:
    """What the server reports of each agent, and what the model said to the last."""
    endpoint = Endpoint(url)
    target = Target("vllm", endpoint.model, {"max_tokens": 8 if small else 24})
    agents: dict[str, Any] = {}
    sent: list[Sent] = []
    for step in STEPS:
        endpoint.forget()
        sent = ours.serve(Job(step=step, target=target, small=small, url=url))
        prompt_tokens = sum(one.asked.prompt_tokens for one in sent)
        agents[step] = {
            "prompt_tokens": prompt_tokens,
            "cached_tokens": sum(one.asked.cached_tokens for one in sent),
            "ttft_ms": round(1000 * median(one.asked.ttft_s for one in sent), 1),
        }
        _tell(f"{step}: {agents[step]['cached_tokens']:,} of {prompt_tokens:,} tokens cached")
    prompts = [endpoint.tokens(one.body, tools_first=True) for one in sent]
    endpoint.close()
    found = {
        "model": target.model,
        "requests": len(sent),
        "load": round(os.getloadavg()[1], 1),
        "attainable": longest_prefixes(prompts),
        "agents": agents,
    }
    return found, [one.asked.text for one in sent]


def under_rule(ours: Workers, target: Target, answers: Sequence[str], logs: Path) -> dict[str, Any]:
    """What a model's rule and price list say of each agent. Leaves their logs."""
    api = Api.MESSAGES if target.provider == "anthropic" else Api.CHAT
    agents: dict[str, Any] = {}
    sent: list[Sent] = []
    for step in STEPS:
        sent = ours.serve(Job(step=step, target=target, answers=answers))
        if api is Api.MESSAGES and step in CHATS_ALONE:
            sent = [replace(one, body=as_messages(one.body)) for one in sent]
        log = logs / f"{target.model}-{step}.jsonl"
        write_log(sent, log)
        found = predicted(log)
        agents[step] = {
            "prompt_tokens": found.prompt_tokens,
            "read_tokens": found.read_tokens,
            "input_usd": found.input_usd,
        }
    bodies = [one.body for one in sent]
    return {
        "attainable": attainable(bodies, api),
        "any_order": any_order(bodies, api),
        "agents": agents,
    }


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201  # a script's talk


@contextmanager
def serving(model: str | None) -> Iterator[str]:
    """Start `stemcache serve` on a free port, yield its address, stop it."""
    command = [sys.executable, "-m", "stemcache", "serve", "--port", "0", "--log-level", "error"]
    if model is not None:
        command += ["--model", model]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603  # ours
    assert process.stdout is not None, "it is a pipe"
    try:
        for line in process.stdout:
            found = re.match(r"address\s+(\S+)", line)
            if found:
                yield found[1]
                return
        raise RuntimeError(f"stemcache serve ended with {process.wait()}; its error is above")
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


def main() -> None:
    """Read the arguments, run everything, print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", help="what `stemcache serve` is to serve, such as toy")
    parser.add_argument("--url", help="a server that runs already; its cache is emptied")
    parser.add_argument("--small", action="store_true", help="a small shop, as for the toy")
    parser.add_argument("--logs", type=Path, help="folder to leave logs in")
    parser.add_argument("--write", action="store_true", help="keep the figures; renew the guide")
    asked = parser.parse_args()
    small = asked.small or asked.model == "toy"
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder) if asked.logs is None else asked.logs
        logs.mkdir(parents=True, exist_ok=True)
        if asked.url is None:
            with serving(asked.model) as url:
                figures = compare(url, small=small, logs=logs)
        else:
            figures = compare(asked.url, small=small, logs=logs)
    if asked.write:
        figures = {"machine": machine(), **figures}
        RESULTS.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
        guide = quote(GUIDE.read_text(encoding="utf-8"), quoted_tables(figures))
        GUIDE.write_text(guide, encoding="utf-8")
    print(report(figures))  # noqa: T201  # a script's answer


if __name__ == "__main__":
    main()
