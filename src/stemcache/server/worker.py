"""The engine's process: takes commands between steps, sleeps when idle.

It ends when the server's end of the socket closes, however that came about, so it never outlives
the server. Once loaded it ignores signals: a terminal's ^C and a service manager's SIGTERM reach
both processes, and the server wants to finish what is running.
"""

import gc
import select
import signal
import socket
import traceback
from dataclasses import dataclass

from stemcache.clock import MonotonicClock
from stemcache.engine.config import EngineConfig, EngineDials
from stemcache.engine.engine import Engine
from stemcache.engine.model import Model
from stemcache.errors import (
    ContextOverflowError,
    QueueFullError,
    RequestError,
    StemcacheError,
    UsageError,
    worded,
)
from stemcache.server.frames import (
    HEADER_BYTES,
    Commands,
    Loaded,
    LoadFailed,
    Refused,
    Report,
    decode_commands,
    frame,
    frame_length,
)
from stemcache.server.source import Source

__all__ = ["EngineSettings", "pages_that_fit", "run_worker"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings(EngineDials):
    """The engine's dials before the model is known, which says how many pages fit the memory."""

    kv_memory_bytes: int


def pages_that_fit(settings: EngineSettings, kv_bytes_per_token: int) -> int:
    """Whole pages in the memory given. Raises UsageError if there is not even one."""
    page_bytes = kv_bytes_per_token * settings.block_size
    pages = settings.kv_memory_bytes // page_bytes
    if pages < 1:
        raise UsageError(
            f"--kv-memory is {settings.kv_memory_bytes} bytes, less than one page of "
            f"{page_bytes} bytes; give more memory or a smaller --block-size"
        )
    return pages


class _Inbox:
    """Whole messages from a socket, without ever waiting for one."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._buffer = bytearray()
        self.closed = False

    def wait(self) -> None:
        """Sleep until there is something to read."""
        select.select((self._sock,), (), ())

    def drain(self) -> list[Commands]:
        """All messages that have arrived whole."""
        while not self.closed:
            try:
                part = self._sock.recv(1 << 20, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except ConnectionError:
                part = b""
            self.closed = not part
            self._buffer += part
        messages = []
        at = 0
        while len(self._buffer) - at >= HEADER_BYTES:
            start = at + HEADER_BYTES
            end = start + frame_length(self._buffer[at:start])
            if len(self._buffer) < end:
                break
            messages.append(decode_commands(bytes(self._buffer[start:end])))
            at = end
        del self._buffer[:at]
        return messages


def run_worker(sock: socket.socket, source: Source, settings: EngineSettings) -> None:
    """Load, then serve until the other end closes. The main function of the process."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # while loading: end without a traceback
    try:
        try:
            engine, model, config = _load(source, settings)
        except StemcacheError as error:
            sock.sendall(frame(LoadFailed(str(error))))
            return
        except Exception as error:  # noqa: BLE001  torch and file formats raise anything
            traceback.print_exc()
            sock.sendall(
                frame(
                    LoadFailed(
                        f"the model {source.name!r} cannot be loaded: {worded(error)}; "
                        "see the traceback above"
                    )
                )
            )
            return
        # What is loaded stays; the collector need not look at it again and again.
        gc.collect()
        gc.freeze()
        for ignored in (signal.SIGINT, signal.SIGTERM):
            signal.signal(ignored, signal.SIG_IGN)
        sock.sendall(frame(Loaded(model.info, config.pages, engine.stats())))
        _serve(sock, engine)
    except (BrokenPipeError, ConnectionResetError):
        pass  # the server is gone, and with it whoever waited for an answer
    finally:
        sock.close()


def _load(source: Source, settings: EngineSettings) -> tuple[Engine, Model, EngineConfig]:
    model = source.load_model()
    config = EngineConfig.of(
        settings, pages=pages_that_fit(settings, model.info.kv_bytes_per_token)
    )
    try:
        return Engine(model, config, clock=MonotonicClock()), model, config
    except MemoryError:
        raise UsageError(
            f"--kv-memory is {settings.kv_memory_bytes} bytes, more than this machine gives; "
            "give less"
        ) from None


def _serve(sock: socket.socket, engine: Engine) -> None:
    inbox = _Inbox(sock)
    received = 0
    while True:
        if engine.idle:
            inbox.wait()
        refused: list[Refused] = []
        resets: list[int] = []
        commands = inbox.drain()
        if inbox.closed:
            return
        for command in commands:
            for request_id in command.cancel:
                engine.cancel(request_id)
            resets.extend(engine.reset() for _ in range(command.resets))
            for request in command.submit:
                received += 1
                try:
                    engine.submit(request)
                except (RequestError, QueueFullError) as error:
                    refused.append(_refused(request.request_id, error))
        progress = engine.step()
        sock.sendall(frame(Report(engine.stats(), received, progress, refused, resets)))


def _refused(request_id: str, error: RequestError | QueueFullError) -> Refused:
    if isinstance(error, QueueFullError):
        return Refused(request_id, str(error), "full", retry_after_s=error.retry_after_s)
    kind = "context" if isinstance(error, ContextOverflowError) else "request"
    return Refused(request_id, str(error), kind, param=error.param)
