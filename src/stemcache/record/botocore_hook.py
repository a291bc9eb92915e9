"""Hooks on a Bedrock client of botocore (and so of boto3) that record what it sends.

```python
client = boto3.client("bedrock-runtime")
record_bedrock(client, "calls.jsonl")
```
A proxy cannot stand in front of Bedrock: the signature covers the name of the host. Each attempt
is a call of its own.

```
before-send ──► Exchange, kept for the thread ──► response-received ──► recorded, or, of a stream,
                (one attempt is one thread's)                           after-call: listened to
```
"""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from stemcache.record.exchange import Exchange, Headers
from stemcache.record.library import obtain
from stemcache.record.record import Keep
from stemcache.record.recorder import Recorder

__all__ = ["record_bedrock"]

_OPERATIONS = ("Converse", "ConverseStream", "InvokeModel", "InvokeModelWithResponseStream")
_STREAMED = ("body", "stream")
"""Fields of a parsed answer that read from the network."""
_RUNNING = "stemcache.record"


def record_bedrock(
    client: Any, output: Path | str | Recorder, *, keep: Keep | None = None
) -> Recorder:
    """Record the calls of this `bedrock-runtime` client from now on; returns what records them.

    Raises UsageError where the file cannot be written. After that nothing of the recorder's ever
    reaches the caller.
    """
    hook = _Hook(obtain(output, keep))
    events = client.meta.events
    for operation in _OPERATIONS:
        name = f"bedrock-runtime.{operation}"
        events.register(f"before-send.{name}", hook.before_send)
        events.register(f"response-received.{name}", hook.response_received)
        events.register(f"after-call.{name}", hook.after_call)
    return hook.recorder


class _Hook:
    """Handlers. None of them raises or returns anything: botocore would take it for an answer."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._here = threading.local()

    def before_send(self, request: Any, **_: Any) -> None:
        """An attempt begins."""
        try:
            exchange = Exchange(
                time_s=time.time(),
                method=request.method,
                url=request.url,
                headers=_headers(request.headers),
                request=self.recorder.capture(),
                response=self.recorder.capture(),
            )
            body = request.body
            if isinstance(body, str):
                body = body.encode("utf-8")
            if isinstance(body, bytes | bytearray):
                exchange.request.add(bytes(body))
            self._here.exchange = exchange
        except Exception:  # noqa: BLE001 - the call goes on, whatever it is
            self.recorder.lose(None, "a mistake of stemcache's while it ran")

    def response_received(
        self, response_dict: Any, context: Any, exception: Any = None, **_: Any
    ) -> None:
        """An attempt has been answered, or has failed."""
        exchange = getattr(self._here, "exchange", None)
        self._here.exchange = None
        if exchange is None:
            return
        try:
            exchange.answered_s = None if response_dict is None else time.time()
            if response_dict is None:
                self._end(exchange, _reason(exception))
                return
            exchange.status = response_dict["status_code"]
            exchange.response_headers = _headers(response_dict["headers"])
            body = response_dict.get("body")
            if isinstance(body, bytes):
                exchange.response.add(body)
                self._end(exchange, None)
            else:
                context[_RUNNING] = exchange
        except Exception:  # noqa: BLE001 - see above
            self.recorder.lose(exchange, "a mistake of stemcache's while it ran")

    def after_call(self, parsed: Any, context: Any, **_: Any) -> None:
        """The caller gets a stream: listen to it."""
        exchange = context.pop(_RUNNING, None)
        if exchange is None:
            return
        try:
            exchange.answered_s = None
            for name in _STREAMED:
                stream = parsed.get(name)
                inner = getattr(stream, "_raw_stream", None)
                if inner is not None:
                    stream._raw_stream = _Heard(inner, exchange, self._end)  # noqa: SLF001
                    return
            self._end(exchange, "error")
        except Exception:  # noqa: BLE001 - see above
            self.recorder.lose(exchange, "a mistake of stemcache's while it ran")

    def _end(self, exchange: Exchange, failed: str | None) -> None:
        if exchange.ended_s is None:
            exchange.ended_s = time.time()
            exchange.failed = failed
            self.recorder.submit(exchange)


class _Heard:
    """The raw stream of an answer as botocore reads it, listened to."""

    def __init__(self, inner: Any, exchange: Exchange, end: Any) -> None:
        self._inner = inner
        self._exchange = exchange
        self._end = end

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __iter__(self) -> Iterator[bytes]:
        return self._through(iter(self._inner))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stream(self, *arguments: Any, **options: Any) -> Iterator[bytes]:
        """As urllib3's."""
        return self._through(self._inner.stream(*arguments, **options))

    def read(self, amt: int | None = None, *arguments: Any, **options: Any) -> bytes:
        """As urllib3's."""
        try:
            data: bytes = self._inner.read(amt, *arguments, **options)
        except BaseException:
            self._end(self._exchange, "dropped")
            raise
        self._add(data)
        if amt is None or (amt and not data):
            self._end(self._exchange, None)
        return data

    def readinto(self, buffer: Any) -> int:
        """As urllib3's."""
        count: int = self._inner.readinto(buffer)
        self._add(bytes(memoryview(buffer)[:count]))
        if not count and len(buffer):
            self._end(self._exchange, None)
        return count

    def readlines(self) -> list[bytes]:
        """As urllib3's."""
        lines: list[bytes] = self._inner.readlines()
        self._add(b"".join(lines))
        self._end(self._exchange, None)
        return lines

    def close(self) -> None:
        """As urllib3's. Whoever closes before the end has left."""
        try:
            self._inner.close()
        finally:
            self._end(self._exchange, "client_left")

    def _through(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        try:
            for part in parts:
                self._add(part)
                yield part
        except GeneratorExit:
            raise  # nobody listens any more; `close` tells
        except BaseException:
            self._end(self._exchange, "dropped")
            raise
        self._end(self._exchange, None)

    def _add(self, data: bytes) -> None:
        exchange = self._exchange
        if data and exchange.response is not None and exchange.ended_s is None:
            if exchange.answered_s is None:
                exchange.answered_s = time.time()
            exchange.response.add(data)


def _headers(headers: Any) -> Headers:
    return [(_text(name).lower(), _text(value)) for name, value in headers.items()]


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _reason(exception: Any) -> str:
    name = type(exception).__name__
    if name in {"EndpointConnectionError", "ConnectTimeoutError", "SSLError"}:
        return "no_connection"
    if name == "ConnectionClosedError":
        return "no_answer"
    return "client_left" if name == "ReadTimeoutError" else "error"
