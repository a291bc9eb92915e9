"""A server of known delays, in a process of its own: what a replay measures is compared with it.

Answers every POST with a stream of tokens. The delay of each first token is drawn from a seeded
distribution; what is written down as the truth is not the draw but what came of it: the moment of
the write minus the moment at which the request was complete, by this process's own clock.

    python -m tests.replay.fake_server --truth truth.json --tokens 16 --ttft-ms 80 --gap-ms 10
    python -m tests.replay.fake_server --truth truth.json --stall-after 5 --stall-for 2

Prints its URL. On SIGTERM it writes the truth: for each request [checksum of its body, arrived,
first write, end], in seconds of the machine's monotonic clock, and when it stalled.
"""

import argparse
import asyncio
import json
import signal
import sys
import time
import zlib
from pathlib import Path
from random import Random
from typing import cast

import httptools
import uvloop

HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
MODELS = json.dumps({"object": "list", "data": [{"id": "fake", "object": "model"}]}).encode()


def chunk(data: bytes) -> bytes:
    """Of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def event(value: object) -> bytes:
    """A server-sent event."""
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def text_event(finish: str | None) -> bytes:
    """A token, good for both of OpenAI's endpoints."""
    choice = {"index": 0, "text": " a", "delta": {"content": " a"}, "finish_reason": finish}
    return event({"id": "fake", "object": "text_completion", "model": "fake", "choices": [choice]})


def usage_event(prompt_tokens: int, tokens: int) -> bytes:
    """The last event before the end."""
    usage = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": tokens,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    return event({"id": "fake", "object": "text_completion", "choices": [], "usage": usage})


TOKEN = chunk(text_event(None))


class Fake:
    """What all connections share."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.loop = asyncio.get_running_loop()
        self.tokens: int = options.tokens
        self.ttft_s: float = options.ttft_ms / 1e3
        self.spread: float = options.spread
        self.gap_s: float = options.gap_ms / 1e3
        self.random = Random(options.seed)
        self.stall_after_s: float | None = options.stall_after
        self.stall_for_s: float = options.stall_for
        self.truth: list[tuple[int, float, float, float]] = []
        self.stalled: list[tuple[float, float]] = []
        self.begun = False

    def draw(self) -> float:
        """Seconds to a first token: log-normal, so that the tail is long."""
        return self.ttft_s * self.random.lognormvariate(0.0, self.spread)

    def begin(self) -> None:
        """The first request sets the time of the stall."""
        if not self.begun:
            self.begun = True
            if self.stall_after_s is not None:
                self.loop.call_later(self.stall_after_s, self.stall)

    def stall(self) -> None:
        """Do nothing at all for a while, as a process that is paused."""
        start = time.monotonic()
        time.sleep(self.stall_for_s)
        self.stalled.append((start, time.monotonic()))


class Connection(asyncio.Protocol):
    """One client; a request at a time."""

    def __init__(self, fake: Fake) -> None:
        self.fake = fake
        self.parser = httptools.HttpRequestParser(self)
        self.url = b""
        self.size = 0
        self.checksum = 0
        self.left = 0
        self.arrived = self.first = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.arrived = time.monotonic()
        self.parser.feed_data(data)

    def on_message_begin(self) -> None:
        self.url, self.size, self.checksum = b"", 0, 0

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_body(self, body: bytes) -> None:
        self.size += body.count(b",")
        self.checksum = zlib.crc32(body, self.checksum)

    def on_message_complete(self) -> None:
        if self.parser.get_method() != b"POST":
            found = self.url.endswith(b"/models")
            body = MODELS if found else b"nothing here"
            status = b"200 OK" if found else b"404 Not Found"
            self.transport.write(
                b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
                % (status, len(body), body)
            )
            return
        self.left = self.fake.tokens
        self.fake.begin()
        self.fake.loop.call_later(self.fake.draw(), self.speak)

    def speak(self) -> None:
        """Write a token, and plan the next."""
        if self.transport.is_closing():
            return
        self.left -= 1
        first = self.left == self.fake.tokens - 1
        if first:
            self.first = time.monotonic()
        data = HEAD + TOKEN if first else TOKEN
        if self.left == 0:
            data = HEAD if first else b""
            data += chunk(
                text_event("length") + usage_event(self.size - 3, self.fake.tokens) + event_done()
            )
            data += chunk(b"")
        self.transport.write(data)
        if self.left:
            self.fake.loop.call_later(self.fake.gap_s, self.speak)
        else:
            self.fake.truth.append((self.checksum, self.arrived, self.first, time.monotonic()))


def event_done() -> bytes:
    """What OpenAI ends its streams with."""
    return b"data: [DONE]\n\n"


async def serve(options: argparse.Namespace) -> None:
    """Until SIGTERM."""
    loop = asyncio.get_running_loop()
    fake = Fake(options)
    ended = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    server = await loop.create_server(
        lambda: Connection(fake), "127.0.0.1", options.port, backlog=4096
    )
    host, port = server.sockets[0].getsockname()
    sys.stdout.write(f"http://{host}:{port}\n")
    sys.stdout.flush()
    await ended.wait()
    server.close()
    if options.truth is not None:
        truth = {"requests": fake.truth, "stalled": fake.stalled}
        options.truth.write_text(json.dumps(truth), encoding="utf-8")


def main() -> None:
    """Read the flags and serve."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--truth", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--ttft-ms", type=float, default=80.0, help="median")
    parser.add_argument("--spread", type=float, default=0.5, help="sigma of the log-normal")
    parser.add_argument("--gap-ms", type=float, default=10.0)
    parser.add_argument("--stall-after", type=float, help="seconds from the first request")
    parser.add_argument("--stall-for", type=float, default=2.0)
    options = parser.parse_args()
    uvloop.run(serve(options))


if __name__ == "__main__":
    main()
