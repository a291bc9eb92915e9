import asyncio
import contextlib
import json
import os
import select
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import httpx
import pytest

from stemcache.errors import UsageError
from stemcache.server.run import _listen, bind
from tests.server.live_server import LiveServer, serve

ENDLESS: dict[str, Any] = {
    "model": "toy",
    "prompt": "Go on",
    "max_tokens": 3000,
    "ignore_eos": True,
}


@contextmanager
def sent(server: LiveServer, body: dict[str, Any]) -> Iterator[socket.socket]:
    """A connection on which a request for a completion has been sent; closed in the end."""
    host, port = server.url.removeprefix("http://").split(":")
    content = json.dumps(body).encode()
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(
            b"POST /v1/completions HTTP/1.1\r\nhost: toy\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\n\r\n%b" % (len(content), content)
        )
        yield connection


def answer(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer on a raw connection, read to its end."""
    response = HTTPResponse(connection, method="POST")
    response.begin()
    body = response.read()
    response.close()
    return response.status, {k.lower(): v for k, v in response.getheaders()}, body


@pytest.fixture(scope="module")
def slow() -> Iterator[LiveServer]:
    """A server that computes one token a step, runs one request and lets two wait."""
    flags = ("--chunk-tokens", "1", "--max-running", "1", "--max-waiting", "2")
    with serve(*flags, "--log-level", "debug") as server:
        yield server


def test_a_client_that_leaves_during_its_prompt_frees_its_pages(slow: LiveServer) -> None:
    """A disconnect before the first token cancels in the engine; nothing was generated."""
    before = slow.wait_until_idle()
    with sent(slow, {**ENDLESS, "prompt": [7] * 4000, "max_tokens": 90}):
        slow.wait_for("stemcache_requests_running", 1)
    after = slow.wait_until_idle()
    assert after["stemcache_cancelled_requests_total"] == (
        before["stemcache_cancelled_requests_total"] + 1
    )
    assert after["stemcache_completion_tokens_total"] == before["stemcache_completion_tokens_total"]
    assert after["stemcache_requests_total{client_left}"] >= 1


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_during_its_answer_frees_its_pages(
    slow: LiveServer, stream: object
) -> None:
    """A disconnect during the answer cancels in the engine, streamed or not."""
    before = slow.wait_until_idle()
    with sent(slow, {**ENDLESS, "stream": stream, "n": 2}) as connection:
        if stream:
            assert connection.recv(1)
        slow.wait_for("stemcache_requests_running", 1)
    after = slow.wait_until_idle()
    cancelled = "stemcache_cancelled_requests_total"
    assert after[cancelled] == before[cancelled] + 2
    assert after["stemcache_completion_tokens_total"] < 6000


def test_a_full_queue_is_a_503_at_once(slow: LiveServer) -> None:
    """One runs, two wait, the next is refused with Retry-After; those who wait are answered."""
    slow.wait_until_idle()
    short = {**ENDLESS, "max_tokens": 3}
    with sent(slow, {**ENDLESS, "stream": True}) as running:
        assert running.recv(1)
        with sent(slow, short) as first, sent(slow, short) as second:
            slow.wait_for("stemcache_requests_waiting", 2)
            response = httpx.post(f"{slow.url}/v1/completions", json=short)
            assert response.status_code == 503
            assert response.headers["retry-after"] == "1"
            error = response.json()["error"]
            assert error["message"] == ("2 requests wait, and the queue takes 2; try again later")
            assert (error["type"], error["code"]) == ("service_unavailable_error", "queue_full")
            running.close()
            for connection in (first, second):
                assert answer(connection)[0] == 200
    assert slow.wait_until_idle()["stemcache_requests_total{busy}"] == 1


def test_a_reader_that_stops_reading_delays_nobody(slow: LiveServer) -> None:
    """Its tokens, bounded by max_tokens, wait for it; the engine goes on with others."""
    slow.wait_until_idle()
    with sent(slow, {**ENDLESS, "stream": True, "logprobs": 20}) as lazy:
        slow.wait_for("stemcache_requests_running", 1)
        response = httpx.post(
            f"{slow.url}/v1/completions", json={**ENDLESS, "max_tokens": 3}, timeout=60
        )
        assert response.status_code == 200
        _, _, body = answer(lazy)
    *events, done = body.decode().removesuffix("\n\n").split("\n\n")
    assert done == "data: [DONE]"
    choices = [json.loads(event.removeprefix("data: "))["choices"][0] for event in events]
    assert sum(len(choice["logprobs"]["tokens"]) for choice in choices) == 3000
    slow.wait_until_idle()


def test_sigterm_lets_running_requests_finish() -> None:
    """What runs is answered whole, what is new is refused with Retry-After, the exit code is 0."""
    with serve("--chunk-tokens", "1") as server:
        body = {**ENDLESS, "max_tokens": 1500}
        with (
            sent(server, {**body, "stream": True}) as stream,
            sent(server, body) as whole,
            httpx.Client() as kept,
        ):
            assert kept.get(f"{server.url}/health").json() == {"status": "ok"}
            assert stream.recv(1)
            server.wait_for("stemcache_requests_running", 2)
            server.process.send_signal(signal.SIGTERM)
            while kept.get(f"{server.url}/health").status_code == 200:
                pass
            assert kept.get(f"{server.url}/health").json() == {"status": "draining"}
            refused = kept.post(f"{server.url}/v1/completions", json=body)
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "5"
            assert "the server is shutting down; send the request to another" in refused.text
            status, _, content = answer(whole)
            assert status == 200
            assert json.loads(content)["usage"]["completion_tokens"] == 1500
            assert stream.makefile("rb").read().endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
        assert server.process.wait(60) == 0


def test_after_the_grace_running_requests_end_with_an_error() -> None:
    """A stream ends with an error event, a whole answer is a 503, and the exit code is 0."""
    with serve("--chunk-tokens", "1", "--grace", "0.05", "--max-running", "40") as server:
        body = {**ENDLESS, "n": 40}
        with sent(server, {**body, "stream": True}) as stream, sent(server, body) as whole:
            assert stream.recv(1)
            server.wait_for("stemcache_requests_waiting", 40)
            server.process.send_signal(signal.SIGTERM)
            status, headers, content = answer(whole)
            message = "the server is shutting down and the answer took longer than its --grace"
            assert status == 503
            assert headers["retry-after"] == "5"
            assert message in content.decode()
            last = stream.makefile("rb").read().decode().split("data: ")[-1]
            assert message in last
            assert '"code":"shutting_down"' in last
        assert server.process.wait(60) == 0


def test_a_reader_that_stops_reading_does_not_hold_up_the_end() -> None:
    """Its connection is cut after the grace and a little more, and the exit code is 0."""
    body = {**ENDLESS, "stream": True, "logprobs": 20, "n": 3}
    with serve("--grace", "0.05") as server, sent(server, body):
        server.wait_for("stemcache_requests_running", 3)
        server.wait_for("stemcache_requests_running", 0)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0
    assert "Traceback" not in str(server.log)
    assert [line for line in server.log if line.get("message") == "stopped"]


def test_a_second_signal_ends_the_grace() -> None:
    """A hurried user need not wait for what runs."""
    with serve("--chunk-tokens", "1", "--max-running", "1") as server:
        with sent(server, {**ENDLESS, "n": 60}) as whole:
            server.wait_for("stemcache_requests_running", 1)
            server.process.send_signal(signal.SIGTERM)
            while httpx.get(f"{server.url}/health").status_code == 200:
                pass
            server.process.send_signal(signal.SIGINT)
            assert answer(whole)[0] == 503
        assert server.process.wait(60) == 0


def _worker(server: LiveServer) -> int:
    """The engine's process: the child that is no resource tracker."""
    pid = server.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for child in children:
        if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text():
            return int(child)
    raise AssertionError(f"no engine among {children}")


def test_a_dead_engine_fails_its_requests_and_ends_the_server() -> None:
    """Running requests get a 500 that says so, and the exit code tells a supervisor."""
    with serve("--chunk-tokens", "1", "--max-running", "1") as server:
        with (
            sent(server, {**ENDLESS, "n": 40}) as whole,
            sent(server, {**ENDLESS, "stream": True}) as waiting,
        ):
            server.wait_for("stemcache_requests_waiting", 40)
            os.kill(_worker(server), signal.SIGKILL)
            for connection in (whole, waiting):
                status, _, content = answer(connection)
                assert status == 500
                error = json.loads(content)["error"]
                assert error["message"].startswith("the engine's process has ended; restart")
                assert (error["type"], error["code"]) == ("server_error", "engine_error")
        assert server.process.wait(60) == 2


def test_a_dead_server_takes_its_engine_along() -> None:
    """The engine ends when the other end of its socket is gone, even in the middle of work."""
    with serve("--chunk-tokens", "1", "--max-running", "1") as server:
        worker = os.pidfd_open(_worker(server))
        with sent(server, {**ENDLESS, "n": 40}):
            server.wait_for("stemcache_requests_running", 1)
            server.process.kill()
            server.process.wait()
        try:
            assert select.select([worker], [], [], 30)[0], "the engine outlives the server"
        finally:
            os.close(worker)


def test_ten_thousand_requests_leave_nothing_behind() -> None:
    """Pages return, memory does not grow, and no answer is lost over 10,000 requests."""
    total, connections = 10_000, 50
    with serve("--kv-memory", "256KiB", "--log-level", "warning") as server:

        async def client(numbers: Iterator[int], statuses: list[int]) -> None:
            host, port = server.url.removeprefix("http://").split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            for number in numbers:
                # Shared beginnings, different ends; some are streamed, some are wrong.
                body = {
                    "model": "toy" if number % 17 else "none",
                    "prompt": f"Request of group {number % 5}. " * 3 + str(number),
                    "max_tokens": 2 + number % 3,
                    "stream": number % 2 == 0,
                }
                content = json.dumps(body).encode()
                writer.write(
                    b"POST /v1/completions HTTP/1.1\r\nhost: toy\r\n"
                    b"content-length: %d\r\n\r\n%b" % (len(content), content)
                )
                head = await reader.readuntil(b"\r\n\r\n")
                statuses.append(int(head.split()[1]))
                if b"transfer-encoding: chunked" in head:
                    await reader.readuntil(b"0\r\n\r\n")
                else:
                    length = int(head.split(b"content-length: ")[1].split()[0])
                    await reader.readexactly(length)
            writer.close()
            await writer.wait_closed()

        async def run(count: int) -> list[int]:
            numbers, statuses = iter(range(count)), list[int]()
            await asyncio.gather(*(client(numbers, statuses) for _ in range(connections)))
            return statuses

        def memory() -> int:
            pids = (server.process.pid, _worker(server))
            return (
                sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids) * 4096
            )

        asyncio.run(run(1000))
        before = memory()
        statuses = asyncio.run(run(total))
        assert statuses.count(404) == len(range(0, total, 17))
        assert statuses.count(200) == total - statuses.count(404)
        metrics = server.wait_until_idle()
        assert memory() - before < 20_000_000
        admitted = metrics["stemcache_admitted_requests_total"]
        assert admitted == metrics["stemcache_requests_total{answered}"]
        assert metrics["stemcache_evicted_blocks_total"] > 0
        reset = httpx.post(f"{server.url}/reset_prefix_cache").json()
        assert reset["success"]
        metrics = server.metrics()
        assert metrics["stemcache_pages{free}"] == metrics["stemcache_pages_capacity"]


def test_a_stuck_engine_does_not_hold_up_the_end() -> None:
    """It is killed a few seconds after the grace, even where it no longer takes what is sent."""
    with serve("--grace", "0.2", "--max-body", "64MiB", "--max-waiting", "100") as server:
        worker = _worker(server)
        os.kill(worker, signal.SIGSTOP)
        with contextlib.ExitStack() as stack:
            for _ in range(60):  # 60 times 3,900 tokens of four bytes fill the socket
                stack.enter_context(
                    sent(server, {**ENDLESS, "prompt": [7] * 3900, "max_tokens": 9})
                )
            for _ in range(20):  # its metrics stand still, so this only gives it time to send
                server.metrics()
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(20) == 0
        assert not Path(f"/proc/{worker}/cmdline").exists()
    assert "Traceback" not in str(server.log)


def test_an_unfinished_body_does_not_hold_up_the_end() -> None:
    """Nothing of it runs yet, so it is refused at once, as what comes later is."""
    with (
        serve("--grace", "30") as server,
        socket.create_connection(("127.0.0.1", int(server.url.rsplit(":", 1)[1]))) as connection,
    ):
        connection.sendall(
            b"POST /v1/completions HTTP/1.1\r\nhost: toy\r\ncontent-length: 99\r\n"
            b"expect: 100-continue\r\n\r\n"
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 100")
        connection.sendall(b"{")
        server.process.send_signal(signal.SIGTERM)
        status, headers, content = answer(connection)
        assert (status, headers["retry-after"], headers["connection"]) == (503, "5", "close")
        assert json.loads(content)["error"]["message"] == (
            "the server is shutting down before it had read the request; "
            "send the request to another server, or again later"
        )
        assert server.process.wait(20) == 0
    assert "Traceback" not in str(server.log)


def test_of_two_servers_on_one_port_the_second_says_so() -> None:
    """Both can take the address while neither listens; no traceback tells the loser."""
    first = bind("127.0.0.1", 0)
    port = first.getsockname()[1]
    second = bind("127.0.0.1", port)
    with first, second:
        _listen(first)
        with pytest.raises(UsageError) as caught:
            _listen(second)
    assert str(caught.value) == (
        f"cannot listen on --host 127.0.0.1 --port {port}: Address already in use; "
        "choose another, or 0 for any free port"
    )


def test_a_host_that_is_no_name_is_told() -> None:
    """An empty label is none."""
    with pytest.raises(UsageError) as caught:
        bind("bad..host", 0)
    assert str(caught.value).startswith("cannot listen on --host bad..host --port 0: ")
