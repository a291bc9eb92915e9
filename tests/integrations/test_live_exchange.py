"""Calls that come as values: the same record as if they had been seen on the wire."""

import json
from pathlib import Path
from typing import Any

import pytest

from stemcache.integrations.live import Live
from stemcache.integrations.live_exchange import hand_over
from tests.integrations.asked import KEY, chat

USAGE = {"prompt_tokens": 5_000, "prompt_tokens_details": {"cached_tokens": 4_096}}


class Model:
    """As pydantic's are."""

    def __init__(self, **fields: object) -> None:
        self.fields = fields

    def model_dump(self) -> dict[str, object]:
        return self.fields


def given(live: Live, request: object, **more: Any) -> None:
    """A call that went well."""
    values: dict[str, Any] = {
        "url": "https://api.openai.com/v1/chat/completions",
        "answer": {"id": "r1", "usage": USAGE},
        "status": 200,
        "began_s": 1.8e9,
        "answered_s": 1.8e9 + 1,
        "ended_s": 1.8e9 + 2,
        **more,
    }
    hand_over(live.recorder, request=request, **values)


@pytest.mark.parametrize("form", ["mapping", "text", "bytes", "models"])
def test_a_body_may_come_in_any_form(form: str) -> None:
    """As a mapping, as JSON, or with models in it."""
    body = chat(1)
    text = json.dumps(body)
    messages = [Model(**one) for one in body["messages"]]
    forms = {
        "mapping": body,
        "text": text,
        "bytes": text.encode(),
        "models": {**body, "messages": messages},
    }
    live = Live()
    given(live, forms[form])
    found = live.summary()
    live.close()
    assert (found.calls, found.prompt_tokens, found.cached_tokens) == (1, 5_000, 4_096)
    assert found.unjudged == 0


def test_a_credential_is_a_scope_and_nothing_else(tmp_path: Path) -> None:
    """Also where it stands in the body."""
    live = Live(output=tmp_path / "calls.jsonl")
    given(live, {**chat(1), "api_key": KEY}, credential=KEY)
    live.close()
    (line,) = (tmp_path / "calls.jsonl").read_text().splitlines()
    assert KEY not in line
    assert len(json.loads(line)["scope"]) == 16


def test_what_had_no_answer_has_failed() -> None:
    """With the status, or without one."""
    live = Live()
    given(live, chat(1), answer={"error": {"type": "overloaded_error"}}, status=529)
    given(live, chat(2), answer=None, status=None, answered_s=None)
    found = live.summary()
    live.close()
    assert (found.calls, found.failed) == (2, 2)


@pytest.mark.parametrize(
    "request_", [object(), {"messages": {1, 2}}, {"x": float("nan")}, "\ud800"]
)
def test_anything_may_come(request_: object) -> None:
    """What is no request is passed over."""
    live = Live()
    given(live, request_)
    found = live.summary()
    live.close()
    assert found.calls <= 1
