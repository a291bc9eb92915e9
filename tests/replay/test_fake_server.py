"""The replay against a server of known delays. Lower bounds only: a slow machine is only slower."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from stemcache.replay.report import Report, read_report


def measured(
    tmp_path: Path, times: list[float], *server_flags: str, client: tuple[str, ...] = ()
) -> tuple[Report, dict[str, Any]]:
    """The report of a replay of requests at these times, and the truth."""
    trace = tmp_path / "t.jsonl"
    lines = [
        {"timestamp": 1e3 * at, "input_length": 8, "output_length": 4, "hash_ids": [number]}
        for number, at in enumerate(times)
    ]
    trace.write_text("".join(json.dumps(line) + "\n" for line in lines))
    truth = tmp_path / "truth.json"
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.replay.fake_server", "--truth", str(truth), *server_flags],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        flags = ["--model", "fake", "--no-probe", "--quiet", "--json", str(tmp_path / "r.json")]
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "stemcache",
                "replay",
                str(trace),
                "--target",
                url,
                *flags,
                *client,
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
    finally:
        server.terminate()
        server.wait(60)
        assert server.stdout is not None
        server.stdout.close()
    return read_report(tmp_path / "r.json"), json.loads(truth.read_text())


def ttfts(report: Report) -> "np.typing.NDArray[np.float64]":
    """Of all requests, by number."""
    assert report.columns is not None
    return np.array(report.columns["ttft_s"], np.float64)


def test_measured_delays_are_the_true_ones_and_a_little_more(tmp_path: Path) -> None:
    """Never less; on any machine the middle is near."""
    report, truth = measured(
        tmp_path, [n * 0.01 for n in range(60)], "--tokens", "4", "--ttft-ms", "40"
    )
    true = np.sort([first - arrived for _, arrived, first, _ in truth["requests"]])
    found = np.sort(ttfts(report))
    assert len(true) == len(found) == 60
    assert (found >= true - 0.001).all()
    assert np.median(found) - np.median(true) < 0.05
    assert report.inter_token_s is not None
    assert report.inter_token_s.count == 180
    assert report.counts.failed == 0


def test_a_stall_is_charged_to_all_who_would_have_come_meanwhile(tmp_path: Path) -> None:
    """In an open loop each waits for the rest of the stall: the tail is as long as the stall."""
    times = [n * 0.01 for n in range(100)]
    flags = ("--ttft-ms", "5", "--tokens", "2", "--stall-after", "0.3", "--stall-for", "0.5")
    report, truth = measured(tmp_path, times, *flags)
    ((begin, end),) = truth["stalled"]
    assert end - begin >= 0.5
    found = ttfts(report)
    stalled = np.sort(found)[-40:]
    # Those due every 10 ms from the stall's beginning on wait 500 ms, 490 ms, and so on.
    expected = np.sort([max(0.0, 0.5 - 0.01 * n) for n in range(40)])
    assert (stalled >= expected - 0.05).all()
    assert report.ttft_s is not None
    assert report.ttft_s.p99 > 0.4
    # The server itself, which counts from arrival, has seen nothing of it for most of them.
    blind = np.percentile([first - arrived for _, arrived, first, _ in truth["requests"]], 50)
    assert blind < report.ttft_s.p90


def test_a_closed_loop_hides_a_stall_as_it_must(tmp_path: Path) -> None:
    """Only who was there is charged: that is why the open loop is the default."""
    flags = ("--ttft-ms", "5", "--tokens", "2", "--stall-after", "0.1", "--stall-for", "0.5")
    report, _ = measured(tmp_path, [0.0] * 100, *flags, client=("--concurrency", "2"))
    assert (np.sort(ttfts(report))[:-4] < 0.4).all()


def test_the_fake_server_stops_when_told(tmp_path: Path) -> None:
    """And writes its truth even if nobody came."""
    truth = tmp_path / "t.json"
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.replay.fake_server", "--truth", str(truth)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    assert server.stdout.readline().startswith("http://127.0.0.1:")
    begun = time.monotonic()
    server.terminate()
    assert server.wait(60) == 0
    assert time.monotonic() - begun < 30
    server.stdout.close()
    assert json.loads(truth.read_text()) == {"requests": [], "stalled": []}
