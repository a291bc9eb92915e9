"""What one seat has to do, as seen from where requests are sent.

```
  sent ──────────► first ──────────► done            lost at any time
   │ waiting_tokens +     │ waiting_tokens -  │ in_flight -
   │ in_flight +          │                   │ rates learn the TTFT of a stream
   │ recent_s, fresh_tokens +                 │ fresh_tokens, recent_s corrected
```
Of a request that does not stream the first token is not seen: its prompt leaves the queue when it
should have been computed, or its answer is there, whichever is sooner. So rates that are wrong, as
they are before there were streams, make a queue too long for no longer than the answer takes.

Not thread-safe. Each call costs a microsecond or two; `look` a third of one.
"""

from dataclasses import dataclass
from math import exp, inf

from stemcache.policy.route.contract import Rates, View
from stemcache.policy.route.predict import LEAST_WEIGHT, MOST
from stemcache.policy.route.rates import ASSUMED, FleetRates, SeatRates

__all__ = ["Load", "Sent"]

RECENT_S = 60.0
"""Work given fades to a third in this time."""
FRESH_S = 600.0
"""Newly computed tokens fade to a third in this time: of the order of a cache's turnover."""
_MOST_TOKENS = 10**9  # of one request; what claims to have more is no better for it
_NOTICED_S = 0.02  # less fading than this is not worth its exponentials
BUSY_S = 10.0
"""Utilization is over about this time."""


@dataclass(slots=True, eq=False)
class Sent:
    """A request at the seat, until `done` or `lost`. Changes; belongs to the `Load`."""

    prompt_tokens: int
    computed_tokens: int
    """As predicted."""
    sent_s: float
    streams: bool
    ahead_tokens: float
    """To be computed before it, when it was sent; 0 of one that does not stream."""
    others: int
    """In flight when it was sent."""
    first_s: float | None = None
    ended: bool = False


class Load:
    """One seat's requests, and what has been learned of its speed."""

    __slots__ = (
        "_begun_s",
        "_busy_share",
        "_changed",
        "_fleet",
        "_fresh",
        "_in_flight",
        "_now_s",
        "_plain",
        "_plain_begun_s",
        "_plain_oldest",
        "_plain_tokens",
        "_recent_decode_s",
        "_recent_requests",
        "_recent_tokens",
        "_waiting",
        "_waiting_tokens",
        "rates",
    )

    def __init__(self, fleet: FleetRates | None = None) -> None:
        """`fleet`: shared by all its seats, so that a new one is taken for an average one."""
        self._fleet = FleetRates() if fleet is None else fleet
        self.rates: SeatRates = self._fleet.seat()
        self._in_flight = 0
        self._waiting: dict[Sent, None] = {}
        """Streams whose first token has not come, oldest first."""
        self._waiting_tokens = 0
        self._begun_s = 0.0
        """When the oldest of those can have begun to be computed."""
        self._plain: dict[Sent, None] = {}
        """Those that do not stream and should not have been computed yet, oldest first."""
        self._plain_tokens = 0
        self._plain_begun_s = 0.0
        """When the oldest of those should have begun to be computed: not before it was sent."""
        self._plain_oldest = 0
        """Tokens of that one."""
        self._recent_requests = 0.0
        self._recent_tokens = 0.0
        self._recent_decode_s = 0.0
        self._fresh = 0.0
        self._busy_share = 0.0
        self._now_s = inf
        """Until when time has passed; infinite before anything has happened."""
        self._changed = True
        """Since `look` was asked last."""

    @property
    def in_flight(self) -> int:
        """Requests sent and not ended."""
        return self._in_flight

    @property
    def waiting_tokens(self) -> int:
        """Prompt tokens to be computed of streams whose first token has not come."""
        return self._waiting_tokens

    def sent(
        self, prompt_tokens: int, computed_tokens: int, *, now_s: float, streams: bool = True
    ) -> Sent:
        """A request goes there now. `computed_tokens`: what it is predicted not to hold.

        Without `streams` its prompt leaves the queue when it should have been computed, or at its
        end.
        """
        self._pass(now_s)
        if not 0 <= prompt_tokens <= _MOST_TOKENS:
            prompt_tokens = min(max(0, prompt_tokens), _MOST_TOKENS)
        if not 0 <= computed_tokens <= prompt_tokens:
            computed_tokens = min(max(0, computed_tokens), prompt_tokens)
        ahead = 0.0
        if streams and (self._waiting_tokens or self._plain):
            ahead = self._ahead(self._rates(now_s).prefill_s, now_s)
        in_flight = self._in_flight
        sent = Sent(prompt_tokens, computed_tokens, now_s, streams, ahead, in_flight)
        self._in_flight = in_flight = in_flight + 1
        fleet = self._fleet
        fleet.crowd += (in_flight - fleet.crowd) * 0.02
        self._recent_requests += 1.0
        self._recent_tokens += computed_tokens
        self._fresh += computed_tokens
        self._changed = True
        if streams:
            if not self._waiting:
                self._begun_s = now_s
            self._waiting[sent] = None
            self._waiting_tokens += computed_tokens
        else:
            if not self._plain:
                self._plain_begun_s, self._plain_oldest = now_s, computed_tokens
            self._plain[sent] = None
            self._plain_tokens += computed_tokens
        return sent

    def first(self, sent: Sent, *, now_s: float) -> None:
        """The first token came. Again, or after the end, it is passed over."""
        if sent.ended or sent.first_s is not None:
            return
        self._pass(now_s)
        sent.first_s = now_s
        if sent.streams:
            self._computed(sent, now_s)

    def done(
        self,
        sent: Sent,
        *,
        now_s: float,
        streamed: bool,
        computed_tokens: int | None,
        output_tokens: int | None,
    ) -> None:
        """The answer is complete.

        `computed_tokens`: as reported, None where it was not; `streamed`: whether the first token
        was seen when it came, else the rates learn nothing.
        """
        if sent.ended:
            return
        self._end(sent, now_s)
        computed = sent.computed_tokens
        if computed_tokens is not None and computed_tokens != computed:
            computed = min(max(0, computed_tokens), _MOST_TOKENS)
            more = computed - sent.computed_tokens
            self._fresh = max(0.0, self._fresh + more)
            self._recent_tokens = max(0.0, self._recent_tokens + more)
        if streamed and sent.first_s is not None:
            self.rates.observe(
                sent.first_s - sent.sent_s,
                tokens=max(1, computed),
                ahead=sent.ahead_tokens,
                others=sent.others,
                now_s=now_s,
            )
            if output_tokens is not None:
                self.rates.observe_decode(
                    now_s - sent.first_s, output_tokens=min(output_tokens, _MOST_TOKENS)
                )
        decode_s = self.rates.decode_s
        if output_tokens is not None and decode_s:
            # A batch decodes together: a stream's share is one of those that are in one. Of the
            # fleet, or the seat with the fewest would seem to have the most to do.
            self._recent_decode_s += (
                decode_s * min(max(0, output_tokens), _MOST_TOKENS) / max(1.0, self._fleet.crowd)
            )

    def lost(self, sent: Sent, *, now_s: float) -> None:
        """It ended otherwise; nothing is learned."""
        if not sent.ended:
            self._end(sent, now_s)

    def restarted(self) -> None:
        """What the seat held is gone, so its cache is pressed by nothing."""
        self._fresh = 0.0
        self._changed = True

    def view(
        self,
        name: str,
        *,
        cached_tokens: int,
        slow_tokens: int,
        now_s: float,
        weight: float = 1.0,
        held_tokens: int = 0,
        capacity_tokens: int | None = None,
        gateways: int = 1,
    ) -> View:
        """The seat as a policy sees it, with what so many `gateways` should have there together.

        A new one at each call, of figures from anywhere: whether they make sense is looked at.
        """
        view = self.blank(name, weight=weight)
        view.cached_tokens, view.slow_tokens = cached_tokens, slow_tokens
        view.held_tokens, view.capacity_tokens = held_tokens, capacity_tokens
        self.look(view, now_s=now_s, gateways=gateways)
        self._changed = True  # for the view that is kept
        view.tidy = (
            view.tidy
            and cached_tokens + slow_tokens + held_tokens <= MOST
            and cached_tokens >= 0
            and slow_tokens >= 0
            and held_tokens >= 0
            and (capacity_tokens is None or 0 < capacity_tokens <= MOST)
        )
        return view

    def blank(self, name: str, *, weight: float) -> View:
        """A view for `look` to keep up to date, which says nothing before."""
        self._changed = True
        return View(name, 0, 0, 0, 0, 0.0, 0.0, 0.0, ASSUMED, weight)

    def look(self, view: View, *, now_s: float, gateways: int = 1) -> None:
        """Bring a view up to date in place: what is the seat's own in it. As `view`, but quicker.

        For one view of `blank`'s that is kept from call to call, as what has not changed is left as
        it is. It is tidy as long as what else is put there makes sense.
        """
        if now_s - self._now_s > _NOTICED_S:
            self._pass(now_s)
        rates = self._fleet.ready if self.rates.factor == 1.0 else None
        if rates is None:
            rates = self.rates.rates(now_s=now_s)
        ahead = 0
        if self._plain or self._waiting_tokens:
            ahead = int(self._ahead(rates.prefill_s, now_s))
        if not self._changed and rates is view.rates and gateways == 1:
            view.waiting_tokens = ahead
            return
        # By the rates of now: while they are being learned, work of before would count otherwise.
        recent_s = (
            rates.base_s * self._recent_requests
            + rates.prefill_s * self._recent_tokens
            + self._recent_decode_s
        )
        in_flight, fresh_tokens = self._in_flight, self._fresh
        if gateways > 1:
            # Of others this gateway knows only how many there are. What they have here does not
            # depend on what it has here, so they add what is usual and not as much again.
            usual = self._fleet.usual
            usual.seen(in_flight, ahead)
            in_flight += int((gateways - 1) * usual.in_flight)
            ahead += int((gateways - 1) * usual.waiting_tokens)
            recent_s *= gateways
            fresh_tokens *= gateways
        self._changed = gateways > 1
        view.in_flight, view.waiting_tokens = in_flight, ahead
        view.recent_s, view.fresh_tokens = recent_s, fresh_tokens
        view.utilization, view.rates = self._busy_share, rates
        # None of its own figures is ever negative, nor are learned rates; a sum that is not a
        # number, or not finite, fails. What is not known to be tidy is looked at one by one.
        weight = view.weight
        view.tidy = (
            in_flight + ahead + recent_s + fresh_tokens + weight <= MOST and weight > LEAST_WEIGHT
        )

    def add_others(self, view: View, in_flight: int, waiting_tokens: int) -> None:
        """Add what others say that they have at the seat, until the next look."""
        self._changed = True
        view.in_flight += in_flight
        view.waiting_tokens += waiting_tokens
        view.tidy = False  # others' figures

    def _ahead(self, prefill_s: float, now_s: float) -> float:
        """Tokens still to be computed there; of the one being computed, what should be left."""
        tokens = float(self._waiting_tokens)
        if tokens and prefill_s > 0.0:
            oldest = next(iter(self._waiting)).computed_tokens
            # Never all of it: while its first token has not come it is not done.
            tokens -= min(max(0.0, now_s - self._begun_s) / prefill_s, 0.9 * oldest)
        while self._plain:
            begun_s = self._plain_begun_s
            ends_s = begun_s + prefill_s * self._plain_oldest
            if ends_s > now_s:
                plain = float(self._plain_tokens)
                if now_s > begun_s:
                    plain -= (now_s - begun_s) / prefill_s
                return tokens + plain
            # Who does not stream, and should have been computed by now, leaves.
            self._leave(next(iter(self._plain)), ends_s)
        return tokens

    def _leave(self, sent: Sent, now_s: float) -> None:
        """One that does not stream waits no more; the next begins then if it was the oldest."""
        oldest = next(iter(self._plain))
        del self._plain[sent]
        self._plain_tokens -= sent.computed_tokens
        if sent is oldest and self._plain:
            oldest = next(iter(self._plain))
            # By the rates of now the one before may have ended before this one was sent.
            self._plain_begun_s = max(now_s, oldest.sent_s)
            self._plain_oldest = oldest.computed_tokens

    def _rates(self, now_s: float) -> Rates:
        ready = self._fleet.ready if self.rates.factor == 1.0 else None
        return ready or self.rates.rates(now_s=now_s)

    def _computed(self, sent: Sent, now_s: float) -> None:
        if sent in self._waiting:
            del self._waiting[sent]
            self._waiting_tokens -= sent.computed_tokens
            self._begun_s = now_s

    def _end(self, sent: Sent, now_s: float) -> None:
        self._pass(now_s)
        sent.ended = True
        self._in_flight -= 1
        self._changed = True
        if sent.streams:
            self._computed(sent, now_s)
        elif sent in self._plain:
            self._leave(sent, now_s)

    def _pass(self, now_s: float) -> None:
        """Let time pass: what was given fades, and the seat was busy or idle until now."""
        passed = now_s - self._now_s
        if passed <= 0.0:
            if self._now_s == inf:
                self._now_s = now_s
            return
        self._now_s = now_s
        self._changed = True
        kept = exp(-passed / RECENT_S)
        self._recent_requests *= kept
        self._recent_tokens *= kept
        if self._recent_decode_s:
            self._recent_decode_s *= kept
        self._fresh *= exp(-passed / FRESH_S)
        kept = exp(-passed / BUSY_S)
        self._busy_share *= kept
        if self._plain:
            prefill_s = self._rates(now_s).prefill_s
            if self._plain_begun_s + prefill_s * self._plain_oldest <= now_s:
                self._ahead(prefill_s, now_s)  # some leave
        if self._waiting or self._plain:
            self._busy_share += 1.0 - kept
