"""Airline conversations of tau-bench as the requests that a client would have sent."""

import copy
import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["AIRLINE", "interleaved", "messages_requests", "trajectories"]

AIRLINE = Path(__file__).parents[3] / "shared" / "traces" / "tau_bench_airline.json.gz"
MARK = {"type": "ephemeral"}


def trajectories() -> list[list[dict[str, Any]]]:
    """Chat messages of each conversation."""
    with gzip.open(AIRLINE) as stream:
        return [each["traj"] for each in json.load(stream)]


def messages_requests(chat: list[dict[str, Any]], model: str) -> Iterator[dict[str, Any]]:
    """Anthropic bodies, one before each answer: marked behind the system prompt and at the end."""
    system = [{"type": "text", "text": chat[0]["content"], "cache_control": MARK}]
    history: list[dict[str, Any]] = []
    for message in chat[1:]:
        if message["role"] == "assistant":
            marked = copy.deepcopy(history)
            marked[-1]["content"][-1]["cache_control"] = MARK
            yield {"model": model, "max_tokens": 1_024, "system": system, "messages": marked}
            history.append({"role": "assistant", "content": _answer(message)})
        elif message["role"] == "tool":
            result = {
                "type": "tool_result",
                "tool_use_id": message["tool_call_id"],
                "content": message["content"],
            }
            history.append({"role": "user", "content": [result]})
        else:
            text = {"type": "text", "text": message["content"]}
            history.append({"role": "user", "content": [text]})


def _answer(message: dict[str, Any]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if message.get("content"):
        blocks.append({"type": "text", "text": message["content"]})
    for call in message.get("tool_calls") or ():
        arguments = json.loads(call["function"]["arguments"] or "{}")
        name = call["function"]["name"]
        blocks.append({"type": "tool_use", "id": call["id"], "name": name, "input": arguments})
    return blocks


def interleaved(sessions: list[list[Any]], *, at_once: int, seed: int) -> list[Any]:
    """Requests of all sessions in one log: so many go on at a time, in a random order."""
    chance = random.Random(seed)
    waiting = [list(session) for session in sessions if session]
    running = [waiting.pop(0) for _ in range(min(at_once, len(waiting)))]
    log = []
    while running:
        session = chance.choice(running)
        log.append(session.pop(0))
        if not session:
            running.remove(session)
            if waiting:
                running.append(waiting.pop(0))
    return log
