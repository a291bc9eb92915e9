"""One request on its way to a replica, and its answer on the way back.

```
start ─► intake ─► choose ─► send ─────► head ─► first part of the body ─► … ─► complete
            │ refused   ▲ none: refused   │            │ written to the client from here on
            ▼           │                 │            ▼
          answer        └── failed before it, or a status that is tried elsewhere
```
The head of an answer is held until its body begins: servers send it before the first token, and a
replica that dies in between is replaced without the client's noticing. After that, a stream that
breaks off ends in an error event, and any other answer with the connection. So do those that still
run when the gateway ends.
"""

import asyncio

from stemcache.gateway.decision import Decision
from stemcache.gateway.router import Flight
from stemcache.server.gateway.answer import ERRORS, Answer
from stemcache.server.gateway.client_side import ClientSide
from stemcache.server.gateway.gateway import Gateway
from stemcache.server.gateway.heads import request_head, request_id
from stemcache.server.gateway.hops import HEADER, hops_on
from stemcache.server.gateway.intake import Intake
from stemcache.server.gateway.pool import CannotConnect, Line
from stemcache.server.gateway.refusals import Refusal, nobody_answered, refusal_bytes
from stemcache.server.gateway.request import Request
from stemcache.server.gateway.retry_after import busy_s
from stemcache.server.gateway.seating import Seating
from stemcache.server.gateway.upstream import Upstream

__all__ = ["Relay"]

_WITH_BODY = frozenset({b"POST", b"PUT", b"PATCH"})
_BLAMED = frozenset({502, 503, 504})
"""Statuses that say that the server is unwell. A 500 is the request's as often as the server's, and
who sends such requests must not be able to close the whole fleet."""

# Plain numbers: a member of an enumeration costs a call each time it is named.
_CONNECTING = 0
_WAITING = 1
"""For the first part of the answer's body."""
_ANSWERING = 2
_ENDED = 3


class Relay:
    """One request. Implements `Sink` for its connections to replicas."""

    __slots__ = (
        "_answer",
        "_body",
        "_busy_s",
        "_client",
        "_connecting",
        "_decision",
        "_failed",
        "_first_told",
        "_flight",
        "_fresh",
        "_gateway",
        "_id",
        "_intake",
        "_line",
        "_phase",
        "_request",
        "_seating",
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
        self._failed: Flight | None = None
        self._busy_s: float | None = None
        self._seating = Seating(gateway, intake)
        self._fresh = False
        self._id = request_id(request.fields.get(b"x-request-id"), gateway.rng.getrandbits(128))
        self._answer: Answer | None = None
        self._first_told = False

    def start(self) -> None:
        """Choose a seat and send."""
        gateway = self._gateway
        gateway.in_flight += 1
        gateway.counters.requests += 1
        now_s = gateway.clock.now()
        first = self._seating.first(now_s)
        if isinstance(first, Refusal):
            self._refuse(first)
        else:
            self._attempt(first, now_s)

    def client_left(self) -> None:
        """Stop at once, at the replica too."""
        if self._phase == _ENDED:
            return
        self._gateway.counters.client_left += 1
        self.stop("client-left")

    def stop(self, kind: str) -> None:
        """End it, here and at the replica, with nothing more for the client. No replica's fault."""
        self._let_go()
        self._fail_flight(kind, self._gateway.clock.now(), blame=False)
        self._end()

    def cut_off(self, why: Refusal) -> None:
        """The gateway ends: tell the client in its stream, or in place of an answer to come."""
        if self._phase == _ENDED:
            return
        self._let_go()
        self._fail_flight("cut-off", self._gateway.clock.now(), blame=False)
        if self._phase == _ANSWERING and self._answer is not None:
            self._leave_off(self._answer, self._answer.broken_off(why))
        else:
            self._refuse(why)

    def read(self, *, on: bool) -> None:
        """The client has caught up, or cannot take more."""
        if self._upstream is not None:
            self._upstream.read(on=on)

    def late(self) -> None:
        """No progress until the deadline."""
        if self._client.congested:
            self.stop("client-stalled")
            self._client.cut(reset=True)
            return
        self._let_go()
        self.failed("timeout", "did not go on with its answer in time")

    # --- from the replica ------------------------------------------------------------------

    def head(
        self, status: int, reason: bytes, headers: list[tuple[bytes, bytes]], *, sized: bool
    ) -> None:
        """Keep it until the body begins, or try elsewhere."""
        gateway = self._gateway
        self._busy_s = busy_s(status, headers)
        if status in gateway.settings.retries.statuses:
            upstream = self._upstream
            assert upstream is not None, "somebody answers"
            now_s = gateway.clock.now()
            self._fail_flight(f"status-{status}", now_s, blame=status in _BLAMED)
            other = self._seating.next(now_s, sent=True)
            if other is not None:
                self._upstream = None
                upstream.abandon()
                self._attempt(other, now_s)
                return
        closing = self._client.closing
        self._answer = Answer(
            self._request, self._intake, status, reason, headers, sized=sized, closing=closing
        )

    def received(self, data: bytes, *, complete: bool) -> None:
        """Pass a part of the body on, behind the head if it is the first."""
        gateway, client, answer = self._gateway, self._client, self._answer
        assert answer is not None, "its head has come"
        now_s = gateway.clock.now()
        if self._line is not None:
            self._line.heard_s = now_s
        if complete:
            self._upstream = None
        begins = self._phase == _WAITING
        decision = self._shown() if begins else None
        out = answer.part(data, complete=complete, decision=decision, request_id=self._id)
        if answer.response is not None:
            self._seating.answered(answer.response)
        if begins:
            if not out:
                return
            # From here on there is no other attempt.
            self._phase = _ANSWERING
            self._body = b""
            if not complete:
                gateway.release(self._request)
        if out:
            client.write(out)
        if not self._first_told and answer.has_content:
            self._first_told = True
            at_once = complete and not self._intake.prompt.stream  # its end says the same
            if self._flight is not None and answer.status < ERRORS and not at_once:
                gateway.router.first(self._flight, now_s=now_s)
        if complete:
            self._complete(answer, now_s)
            return
        client.deadline_s = now_s + gateway.settings.limits.idle_s
        if begins and client.congested and self._upstream is not None:
            self._upstream.read(on=False)

    def chunk(self, data: bytes, size_bytes: int) -> bool:
        """Pass on a chunk of an answer that has begun. What most of a stream goes through."""
        answer = self._answer
        out = answer.chunk(data, size_bytes) if answer is not None and self._first_told else None
        if out is None:
            return False
        client, gateway = self._client, self._gateway
        client.write(out)
        now_s = gateway.clock.now()
        client.deadline_s = now_s + gateway.settings.limits.idle_s
        if self._line is not None:
            self._line.heard_s = now_s
        return True

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
        self._elsewhere(kind, detail, sent=self._phase == _WAITING)

    # --- attempts --------------------------------------------------------------------------

    def _attempt(self, decision: Decision, now_s: float) -> None:
        gateway = self._gateway
        self._seating.attempts += 1
        self._fresh = False
        self._answer = None
        self._decision = decision
        self._busy_s, prompt = None, self._intake.prompt
        self._flight = gateway.router.sent(decision, prompt, now_s=now_s, after=self._failed)
        line = self._line = gateway.pool.line(decision.replica)
        # One that was kept may be closed by now, and then nobody knows what became of the request.
        upstream = line.take() if self._intake.repeatable else None
        if upstream is not None:
            self._send(upstream, line, now_s)
        else:
            self._connect(line)

    def _connect(self, line: Line) -> None:
        self._phase = _CONNECTING
        gateway = self._gateway
        self._client.deadline_s = gateway.clock.now() + gateway.settings.limits.first_byte_s
        self._connecting = asyncio.get_running_loop().create_task(self._connected(line))

    async def _connected(self, line: Line) -> None:
        try:
            upstream = await line.connect(self._gateway.settings.retries.connect_s)
        except CannotConnect as error:
            self._connecting = None
            self._elsewhere(error.kind, str(error), sent=False)
        else:
            self._connecting = None
            if upstream.closed:
                self._elsewhere("no-answer", "closed the connection at once", sent=False)
            else:
                self._send(upstream, line, self._gateway.clock.now())

    def _send(self, upstream: Upstream, line: Line, now_s: float) -> None:
        gateway, request, decision = self._gateway, self._request, self._decision
        assert decision is not None, "a seat was chosen"
        self._upstream = upstream
        self._phase = _WAITING
        self._client.deadline_s = now_s + gateway.settings.limits.first_byte_s
        method, body = request.method, self._body
        head = request_head(
            method,
            line.path + request.target if line.path else request.target,
            request.headers,
            authority=line.authority,
            body_bytes=len(body) if body or method in _WITH_BODY else None,
            request_id=self._id,
            credential=line.credential,
            drop_credentials=gateway.has_keys,
            rank=decision.rank,
            is_prompt=self._intake.prompt.api is not None,
            hops=hops_on(request.fields.get(HEADER), gateway.hop),
        )
        upstream.begin(self, head, body, bodiless=method == b"HEAD")

    def _elsewhere(self, kind: str, detail: str, *, sent: bool) -> None:
        """`sent`: whether the replica may have got the request."""
        gateway = self._gateway
        now_s = gateway.clock.now()
        decision = self._decision
        assert decision is not None, "a seat has failed"
        self._warn("attempt failed", decision, kind, detail)
        ours = kind == "exhausted" or (
            kind == "timeout" and gateway.is_alone_with(decision.replica.name, now_s)
        )
        self._fail_flight(kind, now_s, blame=not ours)
        if kind in {"refused", "timeout"}:
            # The process is not there: its other ranks are not either.
            self._seating.leave_out(decision.replica.name)
        other = self._seating.next(now_s, sent=sent)
        if other is not None:
            self._attempt(other, now_s)
            return
        acted = sent and not self._intake.repeatable
        self._refuse(nobody_answered(kind, self._seating.attempts, acted=acted))

    # --- the answer ------------------------------------------------------------------------

    def _complete(self, answer: Answer, now_s: float) -> None:
        self._end()
        status = answer.status
        self._gateway.counters.answered(status)
        try:
            if status >= ERRORS:
                self._fail_flight(f"status-{status}", now_s, blame=status in _BLAMED)
                return
            flight, self._flight = self._flight, None
            if flight is not None:
                usage = answer.usage()
                self._seating.answered(answer.response)
                self._gateway.router.done(flight, usage, now_s=now_s)
        finally:
            # A mistake in what is learned of an answer is no reason to hold it back.
            self._client.finished(keep=answer.keep)

    def _break_off(self, kind: str, detail: str) -> None:
        """The replica is gone in the middle of its answer."""
        gateway = self._gateway
        answer, decision = self._answer, self._decision
        assert answer is not None and decision is not None, "somebody answered"
        self._fail_flight(kind, gateway.clock.now(), blame=True)
        gateway.counters.broken_off += 1
        self._warn("answer broken off", decision, kind, detail)
        self._leave_off(answer, answer.broken_off())

    def _leave_off(self, answer: Answer, out: bytes | None) -> None:
        """End one that is not whole, with these words or without any."""
        self._end()
        if out is None:
            self._client.cut(reset=self._request.old)
            return
        self._client.write(out)
        self._client.finished(keep=answer.keep)

    def _shown(self) -> bytes | None:
        """The decision, for the client."""
        decision, settings = self._decision, self._gateway.settings
        if decision is None or not settings.decision_header:
            return None
        if self._gateway.has_keys and not settings.full_decision_header:
            return decision.own_header()
        return decision.header()

    def _warn(self, event: str, decision: Decision, kind: str, detail: str) -> None:
        name, request = decision.replica.name, self._id.decode("ascii")
        self._gateway.log.warning(event, replica=name, kind=kind, detail=detail, request=request)

    def _refuse(self, refusal: Refusal) -> None:
        request, shown = self._request, self._shown()
        keep = request.keep_alive and not self._client.closing
        extra = b"x-request-id: %b\r\n" % self._id
        if shown is not None:
            extra += b"x-stemcache-decision: %b\r\n" % shown
        self._end()
        self._gateway.counters.answered(refusal.status)
        empty = request.method == b"HEAD"
        self._client.write(
            refusal_bytes(request.target, refusal, close=not keep, bodiless=empty, extra=extra)
        )
        self._client.finished(keep=keep)

    # --- ends ------------------------------------------------------------------------------

    def _let_go(self) -> None:
        """Of the replica, which hears of it by that."""
        if self._connecting is not None:
            self._connecting.cancel()
            self._connecting = None
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.abort()

    def _fail_flight(self, kind: str, now_s: float, *, blame: bool) -> None:
        flight, self._flight = self._flight, None
        if flight is not None:
            self._failed, said_s = flight, self._busy_s
            self._gateway.router.failed(flight, kind, now_s=now_s, blame=blame, busy_s=said_s)

    def _end(self) -> None:
        """What is kept of the request, the connection gives back: it is told, or ends itself."""
        if self._phase == _ENDED:
            return
        self._phase = _ENDED
        self._body = b""
        self._gateway.in_flight -= 1
