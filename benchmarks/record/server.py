"""A provider that costs little: it says when it sent each part, by the machine's monotonic clock.

`/plain` is answered whole, `--wait-ms` after the request was complete; `/stream` in `--tokens`
events, the first one after as long, and one more each `--gap-ms`. Every event and every plain
answer hold the moment of their write. Prints its URL.
"""

import argparse
import asyncio
import sys
import time
from typing import cast

import httptools
import uvloop

STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)
USAGE = (
    b'"usage":{"prompt_tokens":9000,"completion_tokens":9,'
    b'"prompt_tokens_details":{"cached_tokens":8000}}'
)
EVENT = (
    b'data: {"id":"chatcmpl-1","sent":%.9f,"choices":[{"index":0,"delta":{"content":" a"}}]}\n\n'
)
LAST = b'data: {"id":"chatcmpl-1","choices":[],' + USAGE + b"}\n\ndata: [DONE]\n\n"


class Server(asyncio.Protocol):
    """One connection."""

    def __init__(self, tokens: int, wait_s: float, gap_s: float) -> None:
        self._tokens = tokens
        self._wait_s = wait_s
        self._gap_s = gap_s
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._url = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Parse."""
        self._parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        """Keep it."""
        self._url = url

    def on_message_complete(self) -> None:
        """Answer, later."""
        begin = self._stream if self._url == b"/stream/chat/completions" else self._plain
        self._loop.call_later(self._wait_s, begin)

    def _plain(self) -> None:
        body = b'{"id":"chatcmpl-1","sent":%.9f,"choices":[],%b}' % (time.monotonic(), USAGE)
        self._write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
            % (len(body), body)
        )

    def _stream(self, number: int = 0) -> None:
        event = EVENT % time.monotonic()
        data = b"%x\r\n%b\r\n" % (len(event), event)
        if number == 0:
            data = STREAM_HEAD + data
        self._write(data)
        if number + 1 < self._tokens:
            self._loop.call_later(self._gap_s, self._stream, number + 1)
        else:
            self._write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(LAST), LAST))

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)


async def serve(tokens: int, wait_s: float, gap_s: float) -> None:
    """Until the process is ended."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Server(tokens, wait_s, gap_s), "127.0.0.1", 0)
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--wait-ms", type=float, default=50.0)
    parser.add_argument("--gap-ms", type=float, default=10.0)
    options = parser.parse_args()
    uvloop.run(serve(options.tokens, options.wait_ms / 1e3, options.gap_ms / 1e3))
