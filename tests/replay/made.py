"""Requests, outcomes and reports for tests, with everything else at a default."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stemcache.replay.isolation import Isolation
from stemcache.replay.outcome import Outcome, Usage
from stemcache.replay.report import LoadPart, TracePart
from stemcache.replay.selection import Planned
from stemcache.replay.summary import Setting
from stemcache.replay.target import parse_target
from stemcache.trace.record import TraceRequest

__all__ = ["isolation", "outcome", "planned", "request", "setting"]


def request(
    ids: Sequence[int], tokens: int | None = None, *, block: int = 4, **others: Any
) -> TraceRequest:
    """A request; whole blocks unless `tokens` says how many there are."""
    length = len(ids) * block if tokens is None else tokens
    return TraceRequest(np.array(ids, np.int64), block, length, **others)


def planned(number: int, ids: Sequence[int] = (1,), *, output: int = 2, **others: Any) -> Planned:
    """The same, planned."""
    return Planned(number, request(ids, **others), output)


def outcome(
    number: int = 0,
    *,
    due: float = 0.0,
    ttft: float | None = 0.1,
    e2e: float = 0.5,
    prompt: int | None = 10,
    cached: int | None = 0,
    output: int | None = 5,
    **others: Any,
) -> Outcome:
    """An answered request, by its latencies in seconds."""
    values: dict[str, Any] = {
        "number": number,
        "asked_tokens": 10,
        "due_s": due,
        "sent_s": due,
        "first_byte_s": due,
        "first_token_s": None if ttft is None else due + ttft,
        "last_token_s": due + e2e,
        "end_s": due + e2e,
        "status": 200,
        "usage": Usage(prompt, cached, None, output),
    }
    return Outcome(**(values | others))


def isolation() -> Isolation:
    """Salted."""
    return Isolation("salted", "s1")


def setting(**others: Any) -> Setting:
    """What was asked for."""
    values: dict[str, Any] = {
        "stemcache": "0",
        "started_at": "2026-01-01T00:00:00+00:00",
        "trace": TracePart(
            path="t.jsonl",
            requests_read=4,
            left_out_too_long=0,
            left_out_empty=0,
            out_of_order=0,
            block_tokens=512,
            tokens_per_block=None,
        ),
        "target": parse_target("http://h:1", None),
        "load": LoadPart(
            mode="open loop",
            speed=1.0,
            rate=None,
            concurrency=None,
            think=None,
            max_in_flight=None,
            duration_s=None,
            encoding="tokens",
            isolation="salted",
            salt="s1",
            isolation_in_words="salted",
        ),
        "planned": 4,
        "unknown_outputs": 0,
        "characters": False,
        "times_drawn": False,
        "schedule_s": 3.0,
        "metrics": True,
        "slo": None,
    }
    return Setting(**(values | others))
