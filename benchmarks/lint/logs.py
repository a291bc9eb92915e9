"""The same traffic written in the form that each linter reads, up to a size."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.lint.traffic import Record, records
from benchmarks.peers_matrix.peers.promptcachelint import record as trace_record

__all__ = ["FORMS", "Log", "write"]


@dataclass(frozen=True, slots=True)
class Log:
    """A file with calls in it."""

    path: Path
    size_bytes: int
    calls: int

    @property
    def megabytes(self) -> float:
        """Size in MB, 10^6 bytes."""
        return self.size_bytes / 1e6


@dataclass(frozen=True, slots=True)
class _Form:
    apis: tuple[str, ...]
    line: Callable[[Record], Mapping[str, Any]]


def _own(record: Record) -> Mapping[str, Any]:
    # Without names of sessions: which call goes on from which is for the reader to find.
    return {key: value for key, value in record.items() if key != "session"}


def _trace(record: Record) -> Mapping[str, Any]:
    usage = record["response"]["usage"]
    if "input_tokens" in usage:
        said = {
            "input_tokens": usage["input_tokens"],
            "cache_read": usage["cache_read_input_tokens"],
            "cache_write": usage["cache_creation_input_tokens"],
        }
        provider = "anthropic"
    else:
        read = usage["prompt_tokens_details"]["cached_tokens"]
        said = {"input_tokens": usage["prompt_tokens"] - read, "cache_read": read}
        provider = "openai"
    line = trace_record(
        record["request"], provider=provider, at_s=record["time"], session=record["session"]
    )
    return {**line, "usage": said, "response_id": record["response"]["id"]}


def _body(record: Record) -> Mapping[str, Any]:
    body: Mapping[str, Any] = record["request"]
    return body


def _session(record: Record) -> Mapping[str, Any]:
    return {"session": record["session"], "body": record["request"]}


FORMS: dict[str, _Form] = {
    "calls": _Form(("anthropic", "openai"), _own),
    "trace": _Form(("anthropic", "openai"), _trace),
    "sessions": _Form(("anthropic", "openai"), _session),
    "claude bodies": _Form(("anthropic",), _body),
    "chat bodies": _Form(("openai",), _body),
}


def write(path: Path, form: str, megabytes: float, seed: int) -> Log:
    """Write calls until the file has so many MB."""
    made = FORMS[form]
    size, calls = 0, 0
    with path.open("wb") as stream:
        for record in records(seed, forms=made.apis):
            line = json.dumps(made.line(record), ensure_ascii=False).encode() + b"\n"
            stream.write(line)
            size += len(line)
            calls += 1
            if size >= megabytes * 1e6:
                break
    return Log(path, size, calls)
