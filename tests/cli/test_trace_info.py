import json
from pathlib import Path

import pytest

from tests.cli.trace_runs import run
from tests.trace.traces import DATA, write_lines


def rows(*arguments: object) -> dict[str, str]:
    """The figures by their names."""
    done = run("info", *arguments)
    assert done.code == 0
    assert done.err == ""
    return {line[:18].strip(): line[18:] for line in done.out.splitlines()}


def test_a_trace_is_told_in_figures() -> None:
    """A line each, names to the left."""
    path = DATA / "mooncake.jsonl"
    assert rows(path) == {
        "trace": str(path),
        "format": "mooncake, lengths in tokens",
        "requests": "5",
        "time": "12.1 min, 0.00689 requests a second",
        "prompts": "9,132 tokens; mean 1,826, p50 2,012, p90 2,184, max 2,290",
        "answers": "1,602 tokens; mean 320, p50 324, p90 348, max 354",
        "blocks": "20 of 512 tokens",
        "distinct blocks": "13",
        "distinct prompts": "5",
        "tenants": "no tenants given",
        "sessions": "no sessions given",
        "out of order": "0",
        "skipped lines": "0",
    }


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    """Times, lengths of answers, and clocks that are no one's."""
    body = {"model": "m", "prompt": "some text"}
    path = write_lines(tmp_path / "t", [{"ts": 1, "body": body}, body])
    found = rows(path)
    assert found["format"] == "bodies, lengths in characters"
    assert found["time"] == "0 s; 1 requests without a time"
    assert found["answers"] == "lengths not given"
    assert rows(write_lines(path, [body]))["time"] == "none given"
    answered = {"body": body, "usage": {"completion_tokens": 4}}
    assert rows(write_lines(path, [answered, body]))["answers"] == (
        "4 tokens; mean 4, p50 4, p90 4, max 4; 1 not given"
    )
    assert rows(DATA / "sessions.jsonl")["time"] == (
        "3.1 min in the median session, each with its own clock"
    )


def test_ids_that_are_no_prefixes_are_noticed(tmp_path: Path) -> None:
    """With the flag that mends it."""
    lines = [{"input_length": 1536, "hash_ids": ids} for ids in ([1, 2, 3], [4, 2, 3])]
    path = write_lines(tmp_path / "t", lines)
    out = run("info", path).out
    assert out.endswith(
        "\n\n1 times an id followed another id than before, so ids stand for blocks, not for "
        "prefixes: use --chain-ids.\n"
    )
    assert "--chain-ids" not in run("info", path, "--chain-ids").out


def test_figures_come_as_json(tmp_path: Path) -> None:
    """What is not known is null; skipped lines are there with their reasons, and on stderr."""
    lines = [*(DATA / "bailian.jsonl").read_text().splitlines(), "{", "{"]
    path = write_lines(tmp_path / "t", lines)
    done = run("info", path, "--output-format", "json", "--skip-bad-lines")
    assert done.code == 0
    assert done.err == (
        f"skipped 2 bad lines of {path}:\n"
        "  line 5: the JSON ends early\n"
        "  line 6: the JSON ends early\n"
    )
    assert json.loads(done.out) == {
        "trace": str(path),
        "format": "bailian",
        "unit": "tokens",
        "bytes": path.stat().st_size,
        "requests": 4,
        "block_tokens": 16,
        "prompts": {
            "known": 4,
            "total": 153,
            "mean": 38.25,
            "p50": 36.5,
            "p90": pytest.approx(56.8),
            "max": 64,
        },
        "answers": {
            "known": 4,
            "total": 100,
            "mean": 25.0,
            "p50": 9.5,
            "p90": pytest.approx(59.6),
            "max": 80,
        },
        "blocks": 11,
        "distinct_blocks": {"count": 8, "exact": True},
        "distinct_prompts": {"count": 4, "exact": True},
        "unchained_blocks": 0,
        "tenants": {"count": 0, "exact": True},
        "sessions": {"count": 2, "exact": True},
        "session_clock": False,
        "timed": 4,
        "span_s": 30.5,
        "requests_per_s": 4 / 30.5,
        "out_of_order": 0,
        "joined_lines": 0,
        "skipped_lines": 2,
        "problems": [
            {"line": 5, "reason": "the JSON ends early"},
            {"line": 6, "reason": "the JSON ends early"},
        ],
    }


def test_a_files_name_is_safe_to_print(tmp_path: Path) -> None:
    """Also one that is not UTF-8, for people and for programs."""
    line = (DATA / "mooncake.jsonl").read_text().splitlines()[0]
    path = write_lines(tmp_path / "t\x1b[2J\u202e\n\udcff", [line])
    assert rows(path)["trace"].endswith(r"/t\x1b[2J\u202e\n\udcff")
    told = json.loads(run("info", path, "--output-format", "json").out)["trace"]
    assert told == str(path).replace("\udcff", r"\udcff")
