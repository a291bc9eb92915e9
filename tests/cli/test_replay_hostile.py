"""`stemcache replay` against targets that answer anything but what they should."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from stemcache.cli.replay import replay
from tests.replay.scripted import (
    Answer,
    Asked,
    anthropic_stream,
    json_answer,
    sse,
    stream,
    threaded,
    token,
    usage,
    whole,
)


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """Six requests, 10 ms apart."""
    path = tmp_path / "t.jsonl"
    rows = [
        {"timestamp": 10 * n, "input_length": 512, "output_length": 2, "hash_ids": [n]}
        for n in range(6)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def ran(trace: str, answer: Answer, *flags: str, path: str = "", close: bool = False) -> Result:
    """What a run against such a target prints."""
    with threaded(answer, close_after=close) as server:
        return CliRunner().invoke(
            replay,
            [
                *(trace, "--target", server.url + path, "--tokens-per-block", "8"),
                *("--model", "m", "--no-metrics", "--timeout", "5s", "--quiet", *flags),
            ],
            env={"COLUMNS": "200"},
        )


def reported(result: Result) -> dict[str, Any]:
    """The report on stdout."""
    values: dict[str, Any] = json.loads(result.output)
    return values


HOSTILE: list[tuple[Answer, str, bool]] = [
    (b"\x00\xff garbage \r\n\r\n", "not_http", False),
    (b"", "no_answer", True),
    (whole("500 Internal Server Error", b"<html>oops</html>"), "http_500", False),
    (whole("429 Too Many Requests", b'{"error": "slow down"}'), "http_429", False),
    (whole("301 Moved Permanently", b"", "location: http://127.0.0.1:1/"), "http_301", False),
    (json_answer({"choices": [{"text": "not streamed"}]}), "not_a_stream", False),
    (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 50_000, "head_too_large", False),
    (stream(b"data: " + b"z" * 6_000_000), "event_too_large", False),
    (stream(b"data: <html>\n\n"), "bad_event", False),
    (stream(sse({"error": {"message": "worker died"}})), "stream_error", False),
    (stream(sse(token())), "truncated", False),
    (stream(sse(token()), end=False), "dropped", True),
]


@pytest.mark.parametrize(("answer", "kind", "close"), HOSTILE, ids=[kind for _, kind, _ in HOSTILE])
def test_every_request_ends_with_a_kind_of_failure(
    trace: str, answer: Answer, kind: str, *, close: bool
) -> None:
    """And the run with a report: no traceback, no latency, exit code 1."""
    result = ran(trace, answer, "--no-probe", "--output-format", "json", close=close)
    assert isinstance(result.exception, SystemExit)
    assert result.exit_code == 1
    report = reported(result)
    assert [error["kind"] for error in report["errors"]] == [kind]
    assert report["counts"]["failed"] == report["counts"]["planned"] == 6
    assert report["ttft_s"] is None
    assert report["hit_rates"][0]["hit_rate"] is None
    assert all(len(text) <= 300 for text in report["errors"][0]["examples"])


@pytest.mark.parametrize(("answer", "kind", "close"), HOSTILE, ids=[kind for _, kind, _ in HOSTILE])
def test_the_probe_finds_it_before_the_run(
    trace: str, answer: Answer, kind: str, *, close: bool
) -> None:
    """One message that says what to check; nothing on stdout."""
    if kind in {"not_http", "no_answer", "head_too_large", "dropped"}:
        expected = f"({kind}: "  # it is not even reachable
    else:
        expected = f"failed with {kind}: "
    result = ran(trace, answer, close=close)
    assert expected in str(result.exception)
    assert result.output == ""


def test_a_target_that_fails_now_and_then_is_measured_by_the_rest(trace: str) -> None:
    """Answers and failures side by side."""
    seen = 0

    def every_other(_: Asked) -> bytes | list[bytes]:
        nonlocal seen
        seen += 1
        return stream() if seen % 2 else whole("503 Service Unavailable", b"busy")

    result = ran(trace, every_other, "--no-probe", "--output-format", "json")
    report = reported(result)
    assert (result.exit_code, report["counts"]["ok"], report["counts"]["failed"]) == (1, 3, 3)
    assert report["errors"] == [{"kind": "http_503", "count": 3, "examples": ["busy"]}]
    assert report["ttft_s"]["count"] == 3
    assert report["hit_rates"][0]["hit_rate"] == pytest.approx(0.4)


def test_anthropics_messages_are_replayed_as_they_want_it(trace: str) -> None:
    """Key, version and marker; the prompt counts what was read and written too."""
    asked: list[Asked] = []

    def answer(one: Asked) -> list[bytes]:
        asked.append(one)
        return anthropic_stream()

    marker = json.dumps({"cache_control": {"type": "ephemeral"}})
    result = ran(
        *(trace, answer, "--no-probe", "--output-format", "json", "--api-key", "sk-1"),
        *("--extra-body", marker),
        path="/v1/messages",
    )
    report = reported(result)
    assert (result.exit_code, report["target"]["api"]) == (0, "anthropic-messages")
    assert report["hit_rates"][0] | {"source": ""} == {
        "source": "",
        "prompt_tokens": 60,
        "cached_tokens": 36,
        "hit_rate": 0.6,
        "answers": 6,
        "silent_answers": 0,
        "floor": None,
    }
    assert {one.headers["x-api-key"] for one in asked} == {"sk-1"}
    body = json.loads(asked[0].body)
    assert body["cache_control"] == {"type": "ephemeral"}
    assert len(body["messages"][0]["content"].split(" ")) == 8
    assert "sk-1" not in result.output


def test_a_silent_target_has_an_unknown_hit_rate(trace: str) -> None:
    """On the screen too, with a hint."""
    quiet = stream(sse(token("a", "stop")), sse(usage(8, None, 1), "[DONE]"))
    result = ran(trace, quiet, "--no-probe")
    assert result.exit_code == 0
    assert "hit rate, usage  unknown" in result.output
    assert "vLLM says it with --enable-prompt-tokens-details" in result.output


def test_tenants_of_a_log_of_bodies_are_told_apart(tmp_path: Path) -> None:
    """Each with its own latency and hit rate."""
    path = tmp_path / "bodies.jsonl"
    rows = [
        {
            "timestamp": 1000.0 + n / 100,
            "tenant": f"team-{n % 2}",
            "body": {"messages": [{"role": "user", "content": "hello there, you " * (n + 1)}]},
        }
        for n in range(6)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = ran(
        *(str(path), stream(), "--no-probe", "--output-format", "json"),
        *("--concurrency", "1", "--max-tokens", "2"),
    )
    assert result.exit_code == 0, result.output
    report = reported(result)
    assert report["counts"]["ok"] == 6
    assert any("lengths are characters" in note for note in report["notes"])
    if not report["tenants"]:
        pytest.skip("logs of bodies name their tenants otherwise")
    assert {part["tenant"]: part["requests"] for part in report["tenants"]} == {
        "team-0": 3,
        "team-1": 3,
    }
