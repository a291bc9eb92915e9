"""One log of each format, as its own tests have it."""

import json
from typing import Any

from tests.trace.calls.formats import (
    test_batch,
    test_bedrock,
    test_claude_code,
    test_codex,
    test_har,
    test_langfuse,
    test_litellm,
    test_otel,
    test_recorded,
    test_sglang,
    test_vllm,
)
from tests.trace.calls.logs import ANSWERED, CHAT, MESSAGES

RECORDS: dict[str, list[Any]] = {
    "stemcache": [test_recorded.RECORD],
    "claude-code": list(test_claude_code.TALK),
    "codex": list(test_codex.TALK),
    "batch": [*test_batch.CAME, *test_batch.ASKED],
    "bedrock": [test_bedrock.LOGGED],
    "har": [test_har._entry(test_har.SENT)],
    "litellm": [test_litellm.PAYLOAD, test_litellm.ROW],
    "langfuse": [test_langfuse.SEEN],
    "otel": [test_otel._exported(test_otel._span(test_otel.GENAI))],
    "bodies": [
        CHAT,
        MESSAGES,
        {"time": 1, "request": {"url": "/v1/messages", "body": MESSAGES}, "response": ANSWERED},
    ],
}
"""Records of the formats that are JSON."""

TEXTS: dict[str, str] = {
    "sglang": test_sglang.ASKED + test_sglang.RECEIVE + test_sglang.FINISH,
    "vllm": test_vllm.CHATTER + test_vllm.OLD + test_vllm.NEW,
}

LOGS: dict[str, bytes] = {
    name: "".join(json.dumps(record) + "\n" for record in records).encode()
    for name, records in RECORDS.items()
} | {name: text.encode() for name, text in TEXTS.items()}
