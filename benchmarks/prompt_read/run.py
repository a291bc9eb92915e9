"""CPU milliseconds for a long conversation's next turn: body, tokens and keys.

    python -m benchmarks.prompt_read.run                 100k tokens, 200 messages, 7 repeats
    python -m benchmarks.prompt_read.run --model DIR     another tokenizer and template

A repeat reads a conversation of 200 messages once, then its next twenty turns, of two messages
more each; a turn's figure is the CPU time of the whole process. Each repeat has a conversation and
a reader of its own. `stages` are the steps of one read apart, so their sum is a little above it.
What else runs on the machine makes the same work take longer: `count_to_a_million_ms` is for
comparing machines and days, and `least` is nearest to an idle machine.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.prompt_read.conversation import THINKING_TEMPLATE, Conversation
from stemcache.gateway.edits import BodyEdit, edit_body
from stemcache.gateway.keys import extend_keys
from stemcache.gateway.prompt_chat import conversation_of
from stemcache.gateway.prompt_members import decode_any, members
from stemcache.gateway.read_prompt import PromptReader
from stemcache.text.memo import PromptTokenizer, Wanted

__all__ = ["main"]

RESULTS = Path(__file__).with_name("results.json")
PATH = "/v1/chat/completions"
BLOCK_SIZE = 16
MESSAGE_TOKENS = 500
MODEL = Path.home() / ".cache/stemcache/models/SmolLM2-135M-Instruct"


def _cpu_ms(work: Callable[..., Any], *given: Any, **options: Any) -> tuple[float, Any]:
    started = time.process_time()
    done = work(*given, **options)
    return (time.process_time() - started) * 1e3, done


def _summary(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "median": round(statistics.median(ordered), 2),
        "p90": round(ordered[int(0.9 * len(ordered))], 2),
        "least": round(ordered[0], 2),
    }


def _turns(
    model: Path | None,
    messages: int,
    turns: int,
    repeats: int,
    seed: int,
    *,
    whole_text: bool = True,
) -> dict[str, Any]:
    """Reads of follow-up turns, and of the whole conversation at first."""
    cold, medians, following = [], [], []
    last: Any = None
    size = 0
    for repeat in range(repeats):
        talk = Conversation(seed + repeat, MESSAGE_TOKENS)
        tokenizing = PromptTokenizer(model) if model is not None else None
        reader = PromptReader(
            tokenizing=tokenizing, block_sizes={BLOCK_SIZE}, whole_text=lambda: whole_text
        )
        first = talk.body(messages)
        cost, _ = _cpu_ms(reader.read, PATH, (), first)
        cold.append(cost)
        costs = []
        for turn in range(1, turns + 1):
            body = talk.body(messages + 2 * turn)
            size = len(body)
            cost, last = _cpu_ms(reader.read, PATH, (), body)
            costs.append(cost)
        medians.append(statistics.median(costs))
        following += costs
    return {
        "next_turn_ms": _summary(following),
        "next_turn_ms_by_repeat": [round(value, 2) for value in medians],
        "whole_ms": _summary(cold),
        "last_body_bytes": size,
        "last_tokens": last.prompt_tokens,
        "last_keys": len(last.tokens[BLOCK_SIZE]) if last.tokens else len(last.text),
    }


def _stages(model: Path, messages: int, turns: int, seed: int) -> dict[str, Any]:
    talk = Conversation(seed, MESSAGE_TOKENS)
    tokenizing = PromptTokenizer(model)
    reader = PromptReader(block_sizes={BLOCK_SIZE})
    wanted = Wanted(b"rootroot", (BLOCK_SIZE,), extend_keys)
    fresh = Wanted(b"", (), extend_keys)
    found: dict[str, list[float]] = {}

    def step(name: str, work: Callable[..., Any], *given: Any, **options: Any) -> Any:
        cost, done = _cpu_ms(work, *given, **options)
        found.setdefault(name, []).append(cost)
        return done

    edit = BodyEdit(salt="salt", ask_usage=True)
    for turn in range(turns + 1):
        body = talk.body(messages + 2 * turn)
        fields = step("members of the body", members, body)
        step("salt and usage set", edit_body, body, edit, fields=fields)
        step("text keys, with the members", reader.read, PATH, (), body)
        chat = {"messages": step("messages decoded", decode_any, fields["messages"])}
        shaped = step("messages shaped", conversation_of, chat, tokenizing.style)
        chunks = step("template", list, tokenizing.chunks(shaped.messages))
        step("tokens and keys", tokenizing.tokenize, chunks, wanted, add_special_tokens=False)
        new = ("".join(chunks[-3:]),)
        step("of these, new tokens", tokenizing.tokenize, new, fresh, add_special_tokens=True)
    return {name: _summary(values[1:]) for name, values in found.items()}


def _count() -> int:
    total = 0
    for i in range(1_000_000):
        total += i
    return total


def main() -> None:
    """Measure, print, and write the results file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=MODEL)
    parser.add_argument("--messages", type=int, default=200)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    sizes = (given.messages, given.turns, given.repeats, given.seed)
    with tempfile.TemporaryDirectory() as folder:
        elaborate = Path(folder)
        (elaborate / "tokenizer.json").symlink_to(given.model / "tokenizer.json")
        (elaborate / "chat_template.jinja").write_text(THINKING_TEMPLATE, encoding="utf-8")
        cases = {
            "text keys alone": _turns(None, *sizes),
            "tokens, the model's template": _turns(given.model, *sizes),
            "tokens, text keys of the beginning": _turns(given.model, *sizes, whole_text=False),
            "tokens, a template that looks back": _turns(elaborate, *sizes),
        }
    results = {
        "machine": machine(),
        "load_average": round(os.getloadavg()[0], 1),
        "count_to_a_million_ms": _summary([_cpu_ms(_count)[0] for _ in range(9)]),
        "model": given.model.name,
        "block_size": BLOCK_SIZE,
        "messages": given.messages,
        "turns": given.turns,
        "repeats": given.repeats,
        "seed": given.seed,
        "cases": cases,
        "stages": _stages(given.model, given.messages, given.turns, given.seed),
    }
    for name, case in cases.items():
        turn = case["next_turn_ms"]
        print(
            f"{name:36} next turn {turn['median']:6.2f} ms median, {turn['p90']:6.2f} p90, "
            f"{turn['least']:6.2f} least   whole {case['whole_ms']['median']:7.1f} ms   "
            f"{case['last_body_bytes']:,} bytes, {case['last_tokens']} tokens"
        )
    for name, stage in results["stages"].items():
        print(f"  {name:34} {stage['median']:6.2f} ms median, {stage['least']:6.2f} least")
    given.output.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
