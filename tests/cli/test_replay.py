"""`stemcache replay` as users run it, most of it against the toy model's server."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from stemcache.cli.main import stemcache
from stemcache.cli.replay import replay
from stemcache.errors import StemcacheError, UsageError
from stemcache.replay.prompts import PromptMaker, TextPrompts, TokenPrompts, TokenRange
from stemcache.replay.report import read_report
from stemcache.replay.selection import select
from stemcache.trace.open import open_trace
from tests.server.live_server import LiveServer, serve

TOY_RANGE = "32-250"
NO_EOS = ("--extra-body", '{"ignore_eos": true}')


@pytest.fixture(scope="module")
def server() -> Iterator[LiveServer]:
    """With room for everything that a test sends."""
    with serve("--kv-memory", "8MiB", "--max-running", "16") as one:
        yield one


class Done(NamedTuple):
    """What a command did."""

    returncode: int
    stdout: str
    stderr: str


def command(*arguments: str, **environment: str) -> Done:
    """`stemcache replay`, to its end, in this process: starting one takes longer than the runs."""
    runner = CliRunner(env={"COLUMNS": "200", **environment})
    result = runner.invoke(stemcache, ["replay", *arguments])
    if isinstance(result.exception, StemcacheError):
        return Done(2, result.stdout, f"{result.stderr}stemcache: {result.exception}\n")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout, result.stderr)


def process(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """The same as users run it."""
    return subprocess.run(
        [sys.executable, "-m", "stemcache", "replay", *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "COLUMNS": "200", **environment},
    )


def fails(*arguments: str, **environment: str) -> str:
    """What it says on stderr when it exits with 2, in one line and no traceback."""
    done = command(*arguments, **environment)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


def trace_of(path: Path, rows: list[dict[str, Any]]) -> Path:
    """A trace in Mooncake's form, blocks of 512."""
    lines = []
    for number, row in enumerate(rows):
        ids = row["hash_ids"]
        whole = {"timestamp": 20 * number, "input_length": 512 * len(ids), "output_length": 3}
        lines.append(json.dumps(whole | row))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Conversations of three that grow, and a document that all of another three share."""
    rows: list[dict[str, Any]] = []
    for turn in range(1, 5):
        for talk in range(3):
            rows.append({"hash_ids": [1000 * talk + at for at in range(turn)]})
            tail = {"hash_ids": [9000, 9001, 9100 + len(rows)], "input_length": 1500}
            rows.append(tail)
    return trace_of(tmp_path / "t.jsonl", rows)


def predicted(prompts: list[list[int]], block: int = 16) -> int:
    """Cached tokens of prompts asked one after another, of a cache that keeps everything.

    A prefix in whole blocks, and never the last token: the model has to compute something.
    """
    seen: set[tuple[int, ...]] = set()
    cached = 0
    for prompt in prompts:
        blocks = 0
        while (blocks + 1) * block < len(prompt) and tuple(prompt[: (blocks + 1) * block]) in seen:
            blocks += 1
        cached += blocks * block
        seen |= {tuple(prompt[:end]) for end in range(block, len(prompt) + 1, block)}
    return cached


def prompts_of(trace: Path, maker: PromptMaker, tokens_per_block: int) -> list[Any]:
    """What is sent, decoded."""
    with open_trace(trace) as reader:
        chosen = select(reader, tokens_per_block=tokens_per_block)
    return [
        json.loads(maker.opening + b"".join(maker.pieces(each)) + maker.closing)
        for each in chosen.planned
    ]


def test_hit_rates_by_usage_by_metrics_and_by_arithmetic_agree(
    server: LiveServer, trace: Path, tmp_path: Path
) -> None:
    """Token prompts, one at a time: to the token."""
    path = tmp_path / "r.json"
    done = process(
        *(str(trace), "--target", server.url, "--concurrency", "1", "--tokens-per-block", "32"),
        *("--token-range", TOY_RANGE, "--salt", "pepper", "--json", str(path), *NO_EOS),
    )
    assert done.returncode == 0, done.stderr
    report = read_report(path)
    prompts = prompts_of(trace, TokenPrompts("pepper", TokenRange(32, 250)), 32)
    usage, metrics = report.hit_rates
    assert usage.cached_tokens == metrics.cached_tokens == predicted(prompts) > 500
    assert usage.prompt_tokens == metrics.prompt_tokens == sum(map(len, prompts))
    assert report.asked_prompt_tokens == report.measured_prompt_tokens == usage.prompt_tokens
    assert usage.answers == report.counts.ok == 24
    assert report.notes == ()
    assert report.output_tokens == 72
    assert "hit rate, usage" in done.stdout
    assert "hit rate, metrics" in done.stdout


def test_the_radix_form_agrees_with_arithmetic_to_the_token(trace: Path, tmp_path: Path) -> None:
    """It finds prefixes that end inside a block."""
    path = tmp_path / "r.json"
    with serve("--index", "radix", "--kv-memory", "8MiB") as radix:
        done = command(
            *(str(trace), "--target", radix.url, "--concurrency", "1", "--tokens-per-block", "32"),
            *("--token-range", TOY_RANGE, "--salt", "salt", "--json", str(path), *NO_EOS),
            # By chance an answer, or the probe's random prompt, may go on as a later prompt does,
            # and one token more is cached. One token of answer is never computed on, nor kept.
            *("--max-tokens", "1", "--no-probe"),
        )
    assert done.returncode == 0, done.stderr
    prompts = prompts_of(trace, TokenPrompts("salt", TokenRange(32, 250)), 32)
    usage, metrics = read_report(path).hit_rates
    assert usage.cached_tokens == metrics.cached_tokens == predicted(prompts, 1) > 500
    assert usage.prompt_tokens == metrics.prompt_tokens == sum(map(len, prompts))


def test_chats_agree_with_arithmetic_too(server: LiveServer, trace: Path, tmp_path: Path) -> None:
    """The toy model's tokens are bytes, its template is `user: …`."""
    path = tmp_path / "r.json"
    done = command(
        *(str(trace), "--target", f"{server.url}/v1/chat/completions", "--concurrency", "1"),
        *("--tokens-per-block", "16", "--salt", "mint", "--json", str(path)),
    )
    assert done.returncode == 0, done.stderr
    report = read_report(path)
    texts = prompts_of(trace, TextPrompts("mint"), 16)
    prompts = [list(f"user: {text}\nassistant: ".encode()) for text in texts]
    usage, metrics = report.hit_rates
    assert usage.prompt_tokens == metrics.prompt_tokens == sum(map(len, prompts))
    assert usage.cached_tokens == metrics.cached_tokens == predicted(prompts) > 500
    assert any(note.startswith("prompts are ") for note in report.notes)
    assert report.load.encoding == "text"


def test_a_rerun_is_not_warmed_by_the_last_unless_asked(server: LiveServer, trace: Path) -> None:
    """By default each run has a salt of its own; a kept-warm one hits all it can."""

    def cached(*flags: str) -> float:
        done = command(
            *(str(trace), "--target", server.url, "--concurrency", "1", "--tokens-per-block", "32"),
            *("--token-range", TOY_RANGE, "--output-format", "json", *flags),
        )
        assert done.returncode == 0, done.stderr
        return float(json.loads(done.stdout)["hit_rates"][0]["cached_tokens"])

    first = cached()
    assert cached() == first
    assert cached("--cache-salt") == first
    assert cached("--cache-salt") == first
    assert cached("--keep-warm") == first
    assert cached("--keep-warm") > 1.2 * first
    assert cached("--reset") == first


def test_an_open_loop_keeps_the_traces_times(
    server: LiveServer, trace: Path, tmp_path: Path
) -> None:
    """Scaled; and a line for each request says when everything happened."""
    records = tmp_path / "r.jsonl"
    done = command(
        *(str(trace), "--target", f"{server.url}/v1", "--speed", "2", "--max-tokens", "2"),
        *("--tokens-per-block", "32", "--token-range", TOY_RANGE, "--records", str(records)),
        *("--slo", "ttft=30s,e2e=30s", *NO_EOS),
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in records.read_text().splitlines()]
    assert [row["due_s"] for row in rows] == pytest.approx([0.01 * n for n in range(24)])
    assert all(row["sent_s"] >= row["due_s"] for row in rows)
    assert {row["usage"]["output_tokens"] for row in rows} == {2}
    assert "goodput" in done.stdout
    assert "100.0% within ttft 30,000 ms, e2e 30,000 ms" in done.stdout


def test_sessions_are_kept_and_long_prompts_left_out(server: LiveServer, tmp_path: Path) -> None:
    """Both are told in the report."""
    requests = [
        {"t": float(at), "type": "n", "in": 64 * (at + 1), "out": 2, "rle": [1, at + 1]}
        for at in range(4)
    ]
    path = tmp_path / "s.jsonl"
    sessions = [
        {"id": f"s{n}", "block_size": 64, "models": ["m"], "requests": requests} for n in range(2)
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in sessions))
    flags = ("--target", server.url, "--tokens-per-block", "32", "--token-range", TOY_RANGE)
    done = command(
        *(str(path), *flags, "--concurrency", "2", "--speed", "100"),
        *("--max-prompt-tokens", "100", "--output-format", "json"),
    )
    if "line 1" in done.stderr:
        pytest.skip("the form of session traces differs from this test's")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["counts"]["ok"] == 6
    assert report["trace"]["left_out_too_long"] == 2
    assert report["load"]["think"] == "recorded"
    assert "columns" not in report or report["columns"] is None


@pytest.mark.parametrize(("sign", "reason"), [(signal.SIGINT, "^C"), (signal.SIGHUP, "SIGHUP")])
def test_an_interrupt_gives_a_partial_report(
    server: LiveServer, tmp_path: Path, sign: signal.Signals, reason: str
) -> None:
    """That says so, first of all; stderr says that files are being written."""
    path = trace_of(
        tmp_path / "t.jsonl", [{"hash_ids": [n], "timestamp": 5 * n} for n in range(9999)]
    )
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # else inherited where tests run under nohup
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "stemcache", "replay", str(path), "--target", server.url),
            *("--tokens-per-block", "16", "--token-range", TOY_RANGE, "--output-format", "json"),
            *("--json", str(tmp_path / "r.json")),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    # Its first line on stderr comes ten seconds after the start; the counters are quicker.
    before = server.metrics()["stemcache_admitted_requests_total"]
    for _ in range(20_000):
        if server.metrics()["stemcache_admitted_requests_total"] >= before + 20:
            break
    process.send_signal(sign)
    out, err = process.communicate(timeout=60)
    report = json.loads(out)
    assert process.returncode == 130
    assert "writing the report …" in err
    assert read_report(tmp_path / "r.json").ended_by == report["ended_by"] == reason
    assert report["notes"][0].startswith(f"partial: {reason} ended the run with ")
    counts = report["counts"]
    assert counts["ok"] > 0
    assert (
        counts["planned"]
        == 9999
        == sum(counts[name] for name in ("ok", "failed", "unfinished", "not_sent"))
    )


def test_failed_requests_are_counted_and_the_exit_code_says_so(
    server: LiveServer, trace: Path
) -> None:
    """By kind, with the target's words."""
    done = command(
        *(str(trace), "--target", server.url, "--no-probe", "--model", "toy", "--concurrency", "2"),
        *("--tokens-per-block", "32", "--token-range", "1000-2000"),
    )
    assert done.returncode == 1
    assert "http_400" in done.stdout
    assert "the vocabulary ends at 256" in done.stdout
    assert "24 failed" in done.stdout


def test_keys_are_used_and_never_shown(trace: Path, tmp_path: Path) -> None:
    """On the screen, in files, in errors."""
    flags = ("--concurrency", "1", "--tokens-per-block", "16", "--token-range", TOY_RANGE)
    with serve(STEMCACHE_API_KEY="sk-very-secret") as locked:
        target = ("--target", locked.url)
        path = tmp_path / "r.json"
        done = command(
            *(str(trace), *target, *flags, "--json", str(path)), STEMCACHE_API_KEY="sk-very-secret"
        )
        assert done.returncode == 0, done.stderr
        again = command(str(trace), *target, *flags, OPENAI_API_KEY="sk-very-secret")
        assert again.returncode == 0, again.stderr
        message = fails(str(trace), *target, *flags, STEMCACHE_API_KEY="sk-not-right")
        assert "refuses the key (401: " in message
    everything = done.stdout + done.stderr + path.read_text() + message
    assert "sk-" not in everything


def test_a_page_is_written(server: LiveServer, trace: Path, tmp_path: Path) -> None:
    """If the extra is there."""
    pytest.importorskip("matplotlib")
    page = tmp_path / "r.html"
    done = command(
        *(str(trace), "--target", server.url, "--concurrency", "4", "--html", str(page)),
        *("--tokens-per-block", "16", "--token-range", TOY_RANGE, "--quiet"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "<svg" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--rate", "3", "--concurrency", "2"], "--rate paces an open loop, and --concurrency"),
        (["--max-in-flight", "3", "--concurrency", "2"], "--max-in-flight paces an open loop"),
        (["--think", "1"], "--think is for a closed loop; add --concurrency N"),
        (["--max-think", "1"], "--max-think is for a closed loop"),
        (["--rate", "3", "--speed", "2"], "--rate and --speed both set the pace"),
        (["--reset", "--keep-warm"], "--reset and --keep-warm are ways to do the same; choose one"),
        (["--reset", "--salt", "x"], "--reset salts nothing, so --salt has no use"),
        (["--salt", ""], "--salt is empty; give some text, or leave it out"),
        (["--slo", "x"], "'x' of --slo is no bound"),
        (["--token-range", "9-3"], "--token-range is 9-3; give two ids, the smaller one first"),
        (["--token-range", "x"], "'x' is no range of token ids; write 1000-30000"),
        (["--think", "long", "--concurrency", "1"], "'long' is no time; use seconds, 500ms"),
        (["--api", "openai-chat", "--encoding", "tokens"], "openai-chat takes no token ids"),
        (["--extra-body", "["], "--extra-body is no JSON object"),
        (["--header", "x"], "--header is not of the form 'Name: value'"),
        (["--no-metrics", "--metrics-url", "http://x"], "--no-metrics and --metrics-url contra"),
        (["--max-prompt-tokens", "1"], "no request of"),
        (["--json", "/no/such/dir/r.json"], "--json /no/such/dir/r.json cannot be written"),
        (["--speed", "0"], "0 is no pace; write a number from 0.000001 to 1,000,000,000, such"),
        (["--speed", "nan"], "'--speed': nan is no pace; write a number from"),
        (["--speed", "inf"], "'--speed': inf is no pace"),
        (["--speed", "1e-300"], "'--speed': 1e-300 is no pace"),
        (["--rate", "nan"], "'--rate': nan is no pace; write a number from"),
        (["--rate", "inf"], "'--rate': inf is no pace"),
        (["--rate", "fast"], "'--rate': fast is no pace"),
        (["--duration", "0"], "'--duration': 0 is too short; write 1ms or more, such as 10s or"),
        (["--timeout", "0"], "'--timeout': 0 is too short; write 1ms or more, such as 10s or 5m"),
        (["--connect-timeout", "0ms"], "'--connect-timeout': 0ms is too short"),
        (["--think", "9" * 400, "--concurrency", "1"], "9 is longer than a day; write less, such"),
        (["--slo", "ttft=0ms"], "'ttft=0ms' of --slo bounds nothing; write a time that an answer"),
        (["--slo", "ttft=" + "9" * 400], "9' of --slo bounds nothing"),
        (["--timeout", "never"], "'never' is no duration"),
    ],
)  # fmt: skip
def test_flags_that_cannot_be_meant_are_told(trace: Path, flags: list[str], message: str) -> None:
    """Before anything is sent."""
    done = CliRunner().invoke(replay, [str(trace), "--target", "http://127.0.0.1:1", *flags])
    assert done.exit_code == 2 or isinstance(done.exception, UsageError)
    assert message in done.output + str(done.exception)


def test_a_target_that_is_not_there_is_told(trace: Path) -> None:
    """In one line, with what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    done = process(str(trace), "--target", f"http://127.0.0.1:{port}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"stemcache: nothing answers at http://127.0.0.1:{port} (refused: Connection refused); "
        "start the server, or check --target\n"
    )


def test_a_vocabulary_that_is_too_small_is_told_before_the_run(
    server: LiveServer, trace: Path
) -> None:
    """Both ends of the range are tried."""
    message = fails(str(trace), "--target", server.url, "--token-range", "5-999")
    assert "failed with http_400" in message
    assert "check --token-range, --encoding and --extra-body" in message
    assert message.endswith("; for instance --token-range 0-255")


def test_a_trace_that_is_none_is_told(tmp_path: Path) -> None:
    """As everywhere."""
    assert "empty" in fails(os.devnull, "--target", "http://127.0.0.1:1")
    assert "no/such" in fails(str(tmp_path / "no/such"), "--target", "http://127.0.0.1:1")
