"""Helpers of these tests: logs written to a directory, and read whole."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from stemcache.trace.calls.call import Call
from stemcache.trace.calls.open import CallLog, open_calls


def written(directory: Path, records: Iterable[Any], name: str = "log.jsonl") -> str:
    """A file with a record a line."""
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def read(*paths: str, **options: Any) -> tuple[list[Call], CallLog]:
    """All calls, and the log that they are from."""
    with open_calls(paths, **options) as log:
        calls = list(log)
    return calls, log


def read_records(
    directory: Path, records: Iterable[Any], **options: Any
) -> tuple[list[Call], CallLog]:
    """All calls of records that are written first."""
    return read(written(directory, records), **options)


def one(directory: Path, record: Any, **options: Any) -> Call:
    """The one call of a record, which can be read again as it was."""
    with open_calls([written(directory, [record])], **options) as log:
        (call,) = log
        assert not log.problems.total
        if call.body is not None:
            assert log.reread.body(call.place) == call.body
    return call


CHAT: Mapping[str, Any] = {
    "model": "gpt-5.5",
    "messages": [
        {"role": "system", "content": "Answer briefly."},
        {"role": "user", "content": "When does the ferry leave?"},
    ],
}
MESSAGES: Mapping[str, Any] = {
    "model": "claude-opus-5",
    "max_tokens": 64,
    "system": [{"type": "text", "text": "Answer.", "cache_control": {"type": "ephemeral"}}],
    "messages": [{"role": "user", "content": "When does the ferry leave?"}],
}
ANSWERED: Mapping[str, Any] = {
    "id": "msg_01",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5",
    "content": [{"type": "text", "text": "At six."}],
    "stop_reason": "end_turn",
    "usage": {
        "input_tokens": 10,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 2000,
        "output_tokens": 4,
        "service_tier": "standard",
        "inference_geo": "us",
    },
    "diagnostics": {"cache_miss_reason": {"type": "system_changed"}},
}
