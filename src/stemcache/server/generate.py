"""From a plan to an answer: send to the engine, take its steps, write a stream or one body."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from stemcache.engine.request import GenerationRequest, Progress, Usage
from stemcache.server.answer import Answer, Piece, Shown
from stemcache.server.engine_client import Flight
from stemcache.server.exchange import Exchange
from stemcache.server.formats import Format, Whole
from stemcache.server.service import Service
from stemcache.wire.answers import Finish, PromptDetails, UsageReport, sse

__all__ = ["generate"]

_DONE = b"data: [DONE]\n\n"


@dataclass(slots=True)
class _Choice:
    """One engine request and the text it has become."""

    index: int
    answer: Answer
    usage: Usage | None = None
    last_token_s: float | None = None
    texts: list[str] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)
    finish: Finish | None = None
    completion_tokens: int = 0


class _Run:
    """All choices of one HTTP request."""

    def __init__(
        self,
        service: Service,
        exchange: Exchange,
        requests: Sequence[GenerationRequest],
        stops: Sequence[str],
        choices_per_prompt: int,
    ) -> None:
        self._service = service
        self._exchange = exchange
        self._requests = requests
        self._per_prompt = choices_per_prompt
        self.choices = {
            request.request_id: _Choice(index, Answer(service.text.tokenizer, stops))
            for index, request in enumerate(requests)
        }
        self._first_token = False

    def take(self, progress: Progress, flight: Flight) -> tuple[_Choice, Piece]:
        """Take in one step of one choice; a stop string ends it in the engine too."""
        choice = self.choices[progress.request_id]
        if choice.usage is None and choice.index % self._per_prompt == 0:
            usage = progress.usage
            self._service.metrics.cached_share.observe(usage.cached_tokens / usage.prompt_tokens)
        choice.usage = progress.usage
        if progress.tokens:
            self._time(choice)
        piece = choice.answer.feed(progress)
        if piece.finish is not None:
            choice.finish = piece.finish
            if progress.finish is None:
                flight.cancel(progress.request_id)
                choice.completion_tokens = choice.answer.completion_tokens
            else:
                choice.completion_tokens = progress.usage.completion_tokens
        else:
            choice.completion_tokens = progress.usage.completion_tokens
        return choice, piece

    def _time(self, choice: _Choice) -> None:
        now = self._service.clock.now()
        if not self._first_token:
            self._first_token = True
            ttft_s = now - self._exchange.arrived_s
            self._service.metrics.first_token_s.observe(ttft_s)
            self._exchange.log["ttft_s"] = round(ttft_s, 6)
        if choice.last_token_s is not None:
            self._service.metrics.inter_token_s.observe(now - choice.last_token_s)
        choice.last_token_s = now

    def usage(self) -> UsageReport:
        """Each prompt once, every choice's completion."""
        firsts = [c for c in self.choices.values() if c.index % self._per_prompt == 0]
        prompt = sum(len(request.prompt) for request in self._requests[:: self._per_prompt])
        cached = sum(c.usage.cached_tokens for c in firsts if c.usage is not None)
        completion = sum(c.completion_tokens for c in self.choices.values())
        return UsageReport(
            prompt_tokens=prompt,
            completion_tokens=completion,
            total_tokens=prompt + completion,
            prompt_tokens_details=PromptDetails(cached),
        )

    def log_usage(self) -> None:
        """Tell the log line what the request took, however it ended."""
        usage = self.usage()
        self._exchange.log |= {
            "prompt_tokens": usage.prompt_tokens,
            "cached_tokens": usage.prompt_tokens_details.cached_tokens,
            "completion_tokens": usage.completion_tokens,
        }


async def generate(
    service: Service,
    exchange: Exchange,
    requests: Sequence[GenerationRequest],
    *,
    stops: Sequence[str],
    choices_per_prompt: int,
    form: Format,
    stream: bool,
    include_usage: bool,
) -> None:
    """Answer one HTTP request. Whatever ends it early, its engine requests are cancelled.

    A stream begins with the first step's news, so that what the engine refuses is still an answer
    with a status of its own.
    """
    run = _Run(service, exchange, requests, stops, choices_per_prompt)
    try:
        async with service.client.submit(requests) as flight:
            if stream:
                await _stream(exchange, run, flight, form, include_usage=include_usage)
            else:
                await _whole(exchange, run, flight, form)
    finally:
        run.log_usage()


async def _stream(
    exchange: Exchange, run: _Run, flight: Flight, form: Format, *, include_usage: bool
) -> None:
    opened: set[int] = set()
    while arrived := await flight.arrivals():
        events = bytearray()
        for progress in arrived:
            if run.choices[progress.request_id].finish is not None:
                continue  # it came in while a stop string was being found
            choice, piece = run.take(progress, flight)
            if choice.index not in opened and (progress.tokens or piece.finish):
                opened.add(choice.index)
                opening = form.opening(choice.index)
                if opening is not None:
                    events += sse(opening)
            for chunk in form.chunk(choice.index, piece):
                events += sse(chunk)
        if events:
            await exchange.send_events(bytes(events))
    last = sse(form.usage_chunk(run.usage())) if include_usage else b""
    await exchange.end_events(last + _DONE)


async def _whole(exchange: Exchange, run: _Run, flight: Flight, form: Format) -> None:
    while arrived := await flight.arrivals():
        for progress in arrived:
            if run.choices[progress.request_id].finish is None:
                choice, piece = run.take(progress, flight)
                choice.texts.append(piece.text)
                choice.shown.extend(piece.shown)
    wholes = []
    for choice in run.choices.values():
        assert choice.finish is not None, f"choice {choice.index} ended without a reason"
        wholes.append(Whole("".join(choice.texts), tuple(choice.shown), choice.finish))
    await exchange.send_json(HTTPStatus.OK, form.whole(wholes, run.usage()))
