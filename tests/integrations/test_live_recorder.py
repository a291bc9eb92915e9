"""Answers that are none: pages, as proxies and gateways send them with status 200."""

import json
from pathlib import Path
from typing import Any

import pytest

from stemcache.integrations.live import Live
from tests.integrations.asked import chat, messages
from tests.record.made import exchange

SENT: dict[str, Any] = {
    "url": "https://api.openai.com/v1/chat/completions",
    "time_s": 1.8e9,
    "answered_s": 1.8e9 + 0.1,
    "ended_s": 1.8e9 + 0.2,
}


def _submitted(answer: bytes, kind: str, output: Path | None = None, **more: Any) -> Live:
    live = Live(output=output)
    headers = [("Content-Type", kind)]
    made = exchange(
        json.dumps(chat(0)).encode(), answer, **{**SENT, "response_headers": headers, **more}
    )
    live.recorder.submit(made)
    return live


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"<html>Sign in first</html>", "text/html; charset=utf-8"),
        (b"<html>Sign in first</html>", "application/json"),
        (b"\n  <!DOCTYPE html>", ""),
        (b"", "text/html"),
        (b"\x1f\x8b packed", "Text/HTML"),
    ],
)
def test_a_page_is_no_answer(answer: bytes, kind: str, tmp_path: Path) -> None:
    """It has status 200, and no model has read the prompt: nothing is estimated."""
    live = _submitted(answer, kind, tmp_path / "calls.jsonl")
    found = live.summary()
    live.close()

    assert (found.calls, found.failed, found.prompt_tokens) == (1, 1, 0)
    line = json.loads((tmp_path / "calls.jsonl").read_text())
    assert (line["status"], line["failed"], line["answered"]) == (200, "bad_answer", None)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b'{"id": "r", "choices": []}', "application/json"),
        (b'data: {"id": "r", "choices": []}\n\ndata: [DONE]\n\n', "text/event-stream"),
        (b"\x00\x00\x00\x9a\x00\x00\x00\x42", "application/vnd.amazon.eventstream"),
        (b"", "application/json"),
    ],
)
def test_all_else_that_a_provider_sends_is_an_answer(answer: bytes, kind: str) -> None:
    """Whole, streamed, in frames, or larger than what is kept."""
    live = _submitted(answer, kind)
    found = live.summary()
    live.close()

    assert (found.calls, found.failed) == (1, 0)


def test_what_failed_already_keeps_its_reason(tmp_path: Path) -> None:
    """A page that broke off is a connection that did."""
    live = _submitted(b"<html>", "text/html", tmp_path / "calls.jsonl", failed="dropped")
    live.close()

    assert json.loads((tmp_path / "calls.jsonl").read_text())["failed"] == "dropped"


def test_a_batch_is_written_and_in_no_figure(tmp_path: Path) -> None:
    """As the page says: its answers come later and elsewhere."""
    live = Live(output=tmp_path / "calls.jsonl")
    body = {"requests": [{"custom_id": "a", "params": messages(0)}]}
    url = "https://api.anthropic.com/v1/messages/batches"
    live.recorder.submit(
        exchange(json.dumps(body).encode(), b'{"id": "msgbatch_1"}', **{**SENT, "url": url})
    )
    found = live.summary()
    live.close()

    assert (found.calls, found.missed) == (0, 0)
    assert len((tmp_path / "calls.jsonl").read_text().splitlines()) == 1
