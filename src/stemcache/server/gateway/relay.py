"""One request on its way to a replica, and its answer on the way back.

```
start ─► intake ─► choose ─► send ─────► head ─► first part of the body ─► … ─► complete
            │ refused   ▲ none: 503       │            │ written to the client from here on
            ▼           │                 │            ▼
          answer        └── failed before it, or a status that is tried elsewhere
```
The head of an answer is held until its body begins: servers send it before the first token, and a
replica that dies in between is replaced without the client's noticing. After that, a stream that
breaks off ends in an error event, and any other answer with the connection.
"""

import asyncio
from http import HTTPStatus
from typing import Protocol

from stemcache.gateway.decision import Decision
from stemcache.gateway.router import Flight
from stemcache.gateway.usage import AnswerUsage
from stemcache.server.gateway.event_stream import EventStream
from stemcache.server.gateway.gateway import Gateway
from stemcache.server.gateway.heads import answer_head, request_head, request_id
from stemcache.server.gateway.intake import Intake
from stemcache.server.gateway.pool import CannotConnect, Line
from stemcache.server.gateway.refusals import Refusal, refusal_bytes, stream_error
from stemcache.server.gateway.request import Request
from stemcache.server.gateway.upstream import Upstream
from stemcache.server.gateway.usage_reader import JsonUsage

__all__ = ["ClientSide", "Relay"]

_RETRY_AFTER_S = 1
_WITH_BODY = frozenset({b"POST", b"PUT", b"PATCH"})
_ERRORS = 400
"""Statuses from here on are no answer to a prompt."""
_BLAMED = frozenset({502, 503, 504})
"""Statuses that say that the server is unwell. A 500 is the request's as often as the server's, and
who sends such requests must not be able to close the whole fleet."""


class ClientSide(Protocol):
    """**Protocol**: the client's connection, as a relay needs it."""

    deadline_s: float
    """When `Relay.late` is called."""

    def write(self, data: bytes) -> None:
        """Send to the client."""
        ...

    def finished(self, *, keep: bool) -> None:
        """The answer is written. `keep`: the connection can take another request."""
        ...

    def cut(self, *, reset: bool) -> None:
        """Close at once: what was written is no whole answer."""
        ...

    @property
    def closing(self) -> bool:
        """Whether the connection is to be closed after this answer."""
        ...

    @property
    def congested(self) -> bool:
        """Whether what was written waits for the client."""
        ...


# Plain numbers: a member of an enumeration costs a call each time it is named.
_CONNECTING = 0
_WAITING = 1
"""For the first part of the answer's body."""
_ANSWERING = 2
_ENDED = 3


class Relay:
    """One request. Implements `Sink` for its connections to replicas."""

    __slots__ = (
        "_attempts",
        "_body",
        "_chunked",
        "_client",
        "_connecting",
        "_decision",
        "_events",
        "_exclude",
        "_first_told",
        "_flight",
        "_fresh",
        "_gateway",
        "_headers",
        "_id",
        "_intake",
        "_json",
        "_keep",
        "_line",
        "_phase",
        "_reason",
        "_request",
        "_sized",
        "_status",
        "_upstream",
    )

    def __init__(
        self, gateway: Gateway, client: ClientSide, request: Request, intake: Intake
    ) -> None:
        self._gateway = gateway
        self._client = client
        self._request = request
        self._intake = intake
        self._body: bytes = intake.body
        self._phase = _CONNECTING
        self._upstream: Upstream | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._line: Line | None = None
        self._decision: Decision | None = None
        self._flight: Flight | None = None
        self._exclude: frozenset[int] = frozenset()
        self._attempts = 0
        self._fresh = False
        self._id = request_id(request.fields.get(b"x-request-id"), gateway.rng.getrandbits(128))
        self._status = 0
        self._reason = b""
        self._headers: list[tuple[bytes, bytes]] | None = None
        self._sized = self._chunked = False
        self._keep = False
        self._first_told = False
        self._events: EventStream | None = None
        self._json: JsonUsage | None = None

    def start(self) -> None:
        """Choose a seat and send."""
        gateway = self._gateway
        gateway.in_flight += 1
        gateway.counters.requests += 1
        now_s = gateway.clock.now()
        decision = gateway.router.choose(self._intake.prompt, now_s=now_s)
        if decision is None:
            gateway.counters.no_seat += 1
            self._refuse(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "no replica can take the request now; try again later",
                "no_replica",
                retry_after_s=_RETRY_AFTER_S,
            )
            return
        self._attempt(decision, now_s)

    def client_left(self) -> None:
        """Stop at once, at the replica too."""
        if self._phase == _ENDED:
            return
        self._gateway.counters.client_left += 1
        self._stop("client-left")

    def read(self, *, on: bool) -> None:
        """The client has caught up, or cannot take more."""
        if self._upstream is not None:
            self._upstream.read(on=on)

    def late(self) -> None:
        """No progress until the deadline."""
        if self._phase == _CONNECTING:
            return  # that has a limit of its own
        if self._client.congested:
            self._stop("client-stalled")
            self._client.cut(reset=True)
            return
        if self._upstream is not None:
            self._upstream.abort()
        self.failed("timeout", "did not go on with its answer in time")

    # --- from the replica ------------------------------------------------------------------

    def head(
        self, status: int, reason: bytes, headers: list[tuple[bytes, bytes]], *, sized: bool
    ) -> None:
        """Keep it until the body begins, or try elsewhere."""
        gateway = self._gateway
        if status in gateway.settings.retries.statuses:
            upstream = self._upstream
            assert upstream is not None, "somebody answers"
            now_s = gateway.clock.now()
            self._fail_flight(f"status-{status}", now_s, blame=status in _BLAMED)
            other = self._next_seat(now_s)
            if other is not None:
                self._upstream = None
                upstream.abandon()
                self._attempt(other, now_s)
                return
        self._status, self._reason, self._headers = status, reason, headers
        self._read_answer(status, headers, sized=sized)

    def received(self, data: bytes, *, complete: bool) -> None:
        """Pass a part of the body on, behind the head if it is the first."""
        client = self._client
        now_s = self._gateway.clock.now()
        if complete:
            self._upstream = None
        if self._json is not None and data:
            self._json.add(data)
        elif self._events is not None:
            data = self._events.feed(data)
            if complete:
                data += self._events.finish()
        begins = self._headers is not None
        if begins:
            if not data and not complete:
                return  # of an event, not whole yet
            head = self._begin()
        else:
            head = b""
        if not self._first_told and data:
            self._tell_first(data, now_s)
        if self._chunked:
            end = b"0\r\n\r\n" if complete else b""
            out = b"%b%x\r\n%b\r\n%b" % (head, len(data), data, end) if data else head + end
        else:
            out = head + data if begins else data
        if out:
            client.write(out)
        if complete:
            self._complete(now_s)
            return
        client.deadline_s = now_s + self._gateway.settings.limits.idle_s
        if begins and client.congested and self._upstream is not None:
            self._upstream.read(on=False)

    def failed(self, kind: str, detail: str) -> None:
        """The connection is lost: try elsewhere, or end what has begun."""
        upstream, self._upstream = self._upstream, None
        if self._phase == _ANSWERING:
            self._break_off(kind, detail)
            return
        if kind == "no-answer" and upstream is not None and upstream.reused and not self._fresh:
            # Closed by the replica while it was idle, as the request was on its way: no fault.
            self._fresh = True
            self._gateway.counters.stale += 1
            assert self._line is not None, "it was sent somewhere"
            self._connect(self._line)
            return
        self._elsewhere(kind, detail)

    # --- attempts --------------------------------------------------------------------------

    def _attempt(self, decision: Decision, now_s: float) -> None:
        gateway = self._gateway
        self._attempts += 1
        self._fresh = False
        self._headers = None
        self._events = self._json = None
        self._decision = decision
        self._flight = gateway.router.sent(decision, self._intake.prompt, now_s=now_s)
        line = self._line = gateway.pool.line(decision.replica)
        upstream = line.take()
        if upstream is not None:
            self._send(upstream, line, now_s)
        else:
            self._connect(line)

    def _connect(self, line: Line) -> None:
        self._phase = _CONNECTING
        self._connecting = asyncio.get_running_loop().create_task(self._connected(line))

    async def _connected(self, line: Line) -> None:
        try:
            upstream = await line.connect(self._gateway.settings.retries.connect_s)
        except CannotConnect as error:
            self._connecting = None
            self._elsewhere(error.kind, str(error))
        else:
            self._connecting = None
            if upstream.closed:
                self._elsewhere("no-answer", "closed the connection at once")
            else:
                self._send(upstream, line, self._gateway.clock.now())

    def _send(self, upstream: Upstream, line: Line, now_s: float) -> None:
        request, decision = self._request, self._decision
        assert decision is not None, "a seat was chosen"
        self._upstream = upstream
        self._phase = _WAITING
        self._client.deadline_s = now_s + self._gateway.settings.limits.first_byte_s
        body = self._body
        head = request_head(
            request.method,
            line.path + request.target if line.path else request.target,
            request.headers,
            authority=line.authority,
            body_bytes=len(body) if body or request.method in _WITH_BODY else None,
            request_id=self._id,
            credential=line.credential,
            drop_credentials=self._gateway.has_keys,
            rank=decision.rank,
            is_prompt=self._intake.prompt.api is not None,
        )
        upstream.begin(self, head, body, bodiless=request.method == b"HEAD")

    def _next_seat(self, now_s: float) -> Decision | None:
        """Another that has not failed this request, if it may be tried again."""
        gateway = self._gateway
        if self._attempts >= gateway.settings.retries.attempts:
            return None
        assert self._decision is not None, "a seat has failed"
        self._exclude |= {self._decision.seat}
        decision = gateway.router.choose(self._intake.prompt, now_s=now_s, exclude=self._exclude)
        if decision is not None:
            gateway.counters.retries += 1
        return decision

    def _elsewhere(self, kind: str, detail: str) -> None:
        gateway = self._gateway
        now_s = gateway.clock.now()
        decision = self._decision
        assert decision is not None, "a seat has failed"
        gateway.log.warning(
            "attempt failed",
            replica=decision.replica.name,
            kind=kind,
            detail=detail,
            request=self._id.decode("ascii"),
        )
        self._fail_flight(kind, now_s, blame=True)
        if kind in {"refused", "timeout"}:
            # The process is not there: its other ranks are not either.
            self._exclude |= gateway.seats_of(decision.replica.name)
        other = self._next_seat(now_s)
        if other is not None:
            self._attempt(other, now_s)
            return
        status = HTTPStatus.GATEWAY_TIMEOUT if kind == "timeout" else HTTPStatus.BAD_GATEWAY
        tried = f"{self._attempts} attempt{'s' if self._attempts > 1 else ''}"
        self._refuse(
            status,
            f"no replica answered ({tried}; the last: {kind}); try again later",
            "replica_" + kind.replace("-", "_"),
            retry_after_s=_RETRY_AFTER_S,
        )

    # --- the answer ------------------------------------------------------------------------

    def _read_answer(self, status: int, headers: list[tuple[bytes, bytes]], *, sized: bool) -> None:
        """See how it is to be framed, and whether usage can be read in it."""
        kind = b""
        plain = True
        for name, value in headers:
            length = len(name)
            if length == 12 and name.lower() == b"content-type":
                kind = value.lower()
            elif length == 16 and name.lower() == b"content-encoding":
                plain = value.strip().lower() == b"identity"
        if plain and self._intake.prompt.api is not None and status < _ERRORS:
            if kind.startswith(b"text/event-stream"):
                self._events = EventStream(strip_usage=self._intake.strip_usage)
                sized = sized and not self._intake.strip_usage
            elif kind.startswith(b"application/json"):
                self._json = JsonUsage()
        self._sized = sized
        self._chunked = not sized and not self._request.old
        self._keep = (
            self._request.keep_alive
            and not self._client.closing
            and (sized or not self._request.old)
        )

    def _begin(self) -> bytes:
        """From here on there is no other attempt."""
        headers, self._headers = self._headers, None
        assert headers is not None, "the head has come"
        decision = self._decision
        assert decision is not None, "somebody answers"
        self._phase = _ANSWERING
        self._body = b""
        self._gateway.release(self._request)
        shown = self._gateway.settings.decision_header
        return answer_head(
            self._status,
            self._reason,
            headers,
            decision=decision.header() if shown else None,
            sized=self._sized,
            chunked=self._chunked,
            close=not self._keep,
        )

    def _tell_first(self, data: bytes, now_s: float) -> None:
        if self._events is not None and data.startswith(b":") and b"data:" not in data:
            return  # a comment to keep the connection alive
        self._first_told = True
        if self._flight is not None and self._status < _ERRORS:
            self._gateway.router.first(self._flight, now_s=now_s)

    def _complete(self, now_s: float) -> None:
        self._end()
        flight, self._flight = self._flight, None
        if flight is not None:
            if self._status < _ERRORS:
                self._gateway.router.done(flight, self._usage(), now_s=now_s)
            else:
                blame = self._status in _BLAMED
                self._gateway.router.failed(
                    flight, f"status-{self._status}", now_s=now_s, blame=blame
                )
        self._gateway.counters.answered(self._status)
        self._client.finished(keep=self._keep)

    def _usage(self) -> AnswerUsage | None:
        if self._events is not None:
            return self._events.usage()
        return None if self._json is None else self._json.finish()

    def _break_off(self, kind: str, detail: str) -> None:
        """The replica is gone in the middle of its answer."""
        gateway = self._gateway
        events = self._events
        self._fail_flight(kind, gateway.clock.now(), blame=True)
        gateway.counters.broken_off += 1
        assert self._decision is not None, "somebody answered"
        gateway.log.warning(
            "answer broken off",
            replica=self._decision.replica.name,
            kind=kind,
            detail=detail,
            request=self._id.decode("ascii"),
        )
        self._end()
        if events is None or self._sized or not events.between_events:
            self._client.cut(reset=self._request.old)
            return
        out = b""
        if not events.finished:
            message = "the replica that answered was lost; send the request again"
            out = stream_error(self._request.target, message)
        if self._chunked:
            out = (b"%x\r\n%b\r\n" % (len(out), out) if out else b"") + b"0\r\n\r\n"
        self._client.write(out)
        self._client.finished(keep=self._keep)

    def _refuse(
        self, status: int, message: str, code: str, *, retry_after_s: int | None = None
    ) -> None:
        request = self._request
        refusal = Refusal(status=status, message=message, code=code, retry_after_s=retry_after_s)
        keep = request.keep_alive and not self._client.closing
        extra = b"x-request-id: %b\r\n" % self._id
        self._end()
        self._gateway.counters.answered(status)
        self._client.write(
            refusal_bytes(
                request.target,
                refusal,
                close=not keep,
                bodiless=request.method == b"HEAD",
                extra=extra,
            )
        )
        self._client.finished(keep=keep)

    # --- ends ------------------------------------------------------------------------------

    def _fail_flight(self, kind: str, now_s: float, *, blame: bool) -> None:
        flight, self._flight = self._flight, None
        if flight is not None:
            self._gateway.router.failed(flight, kind, now_s=now_s, blame=blame)

    def _stop(self, kind: str) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
            self._connecting = None
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.abort()
        self._fail_flight(kind, self._gateway.clock.now(), blame=False)
        self._end()

    def _end(self) -> None:
        if self._phase == _ENDED:
            return
        self._phase = _ENDED
        self._body = b""
        self._gateway.release(self._request)
        self._gateway.in_flight -= 1
