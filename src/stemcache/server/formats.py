"""Choices to OpenAI's answers: chat completions and completions, whole and in chunks. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec
from msgspec import UNSET

from stemcache.server.answer import Piece, Shown, Spelled
from stemcache.wire.answers import (
    ChatAnswer,
    ChatChoice,
    ChatChunk,
    ChatChunkChoice,
    ChatLogprob,
    ChatLogprobs,
    ChatMessage,
    ChatTopLogprob,
    Completion,
    CompletionChoice,
    CompletionLogprobs,
    Delta,
    Finish,
    UsageReport,
)

__all__ = ["ChatFormat", "CompletionFormat", "Format", "Heading", "Whole"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What every part of one answer repeats."""

    id: str
    created: int
    model: str
    system_fingerprint: str
    logprobs: bool
    """Whether log-probabilities were asked for."""
    usage_in_stream: bool
    """Whether chunks have a `usage`, null but in the last."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A finished choice."""

    text: str
    shown: tuple[Shown, ...]
    finish: Finish


class Format(Protocol):
    """**Protocol**: shapes the choices of one request."""

    def opening(self, index: int) -> msgspec.Struct | None:
        """What a stream says of a choice before its first text."""
        ...

    def chunk(self, index: int, piece: Piece) -> Sequence[msgspec.Struct]:
        """Events for what a step added to a choice; none if it added nothing to show."""
        ...

    def usage_chunk(self, usage: UsageReport) -> msgspec.Struct:
        """The last event of a stream that asked for usage."""
        ...

    def whole(self, choices: Sequence[Whole], usage: UsageReport) -> msgspec.Struct:
        """The answer without a stream."""
        ...


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """Chat completions."""

    heading: Heading

    def opening(self, index: int) -> ChatChunk:
        """The role, as OpenAI sends it first."""
        return self._chunk([ChatChunkChoice(index=index, delta=Delta("assistant", ""))])

    def chunk(self, index: int, piece: Piece) -> list[ChatChunk]:
        """The text, and the finish reason in an event of its own."""
        chunks = []
        if piece.text or piece.shown:
            choice = ChatChunkChoice(
                index=index, delta=Delta(content=piece.text), logprobs=self._logprobs(piece.shown)
            )
            chunks.append(self._chunk([choice]))
        if piece.finish is not None:
            choice = ChatChunkChoice(index=index, delta=Delta(), finish_reason=piece.finish)
            chunks.append(self._chunk([choice]))
        return chunks

    def usage_chunk(self, usage: UsageReport) -> ChatChunk:
        """No choices, only usage."""
        return self._chunk([], usage)

    def whole(self, choices: Sequence[Whole], usage: UsageReport) -> ChatAnswer:
        """One message a choice."""
        return ChatAnswer(
            id=self.heading.id,
            created=self.heading.created,
            model=self.heading.model,
            system_fingerprint=self.heading.system_fingerprint,
            choices=[
                ChatChoice(
                    index=index,
                    message=ChatMessage(choice.text),
                    logprobs=self._logprobs(choice.shown),
                    finish_reason=choice.finish,
                )
                for index, choice in enumerate(choices)
            ],
            usage=usage,
        )

    def _chunk(self, choices: list[ChatChunkChoice], usage: UsageReport | None = None) -> ChatChunk:
        return ChatChunk(
            id=self.heading.id,
            created=self.heading.created,
            model=self.heading.model,
            system_fingerprint=self.heading.system_fingerprint,
            choices=choices,
            usage=usage if self.heading.usage_in_stream else UNSET,
        )

    def _logprobs(self, shown: Sequence[Shown]) -> ChatLogprobs | None:
        if not self.heading.logprobs:
            return None
        return ChatLogprobs(
            [
                ChatLogprob(
                    token=one.chosen.text,
                    logprob=one.chosen.logprob,
                    bytes=list(one.chosen.raw),
                    top_logprobs=[
                        ChatTopLogprob(other.text, other.logprob, list(other.raw))
                        for other in one.top
                    ],
                )
                for one in shown
            ]
        )


@dataclass(frozen=True, slots=True)
class CompletionFormat:
    """Completions."""

    heading: Heading

    def opening(self, index: int) -> None:
        """Nothing: a completion has no role."""

    def chunk(self, index: int, piece: Piece) -> list[Completion]:
        """Text and finish reason together."""
        if not (piece.text or piece.shown or piece.finish):
            return []
        return [self._completion([self._choice(index, piece.text, piece.shown, piece.finish)])]

    def usage_chunk(self, usage: UsageReport) -> Completion:
        """No choices, only usage."""
        return self._completion([], usage)

    def whole(self, choices: Sequence[Whole], usage: UsageReport) -> Completion:
        """One text a choice."""
        heading = self.heading
        return Completion(
            id=heading.id,
            created=heading.created,
            model=heading.model,
            system_fingerprint=heading.system_fingerprint,
            choices=[
                self._choice(index, choice.text, choice.shown, choice.finish)
                for index, choice in enumerate(choices)
            ],
            usage=usage,
        )

    def _completion(
        self, choices: list[CompletionChoice], usage: UsageReport | None = None
    ) -> Completion:
        return Completion(
            id=self.heading.id,
            created=self.heading.created,
            model=self.heading.model,
            system_fingerprint=self.heading.system_fingerprint,
            choices=choices,
            usage=usage if self.heading.usage_in_stream else UNSET,
        )

    def _choice(
        self, index: int, text: str, shown: Sequence[Shown], finish: Finish | None
    ) -> CompletionChoice:
        return CompletionChoice(
            index=index, text=text, logprobs=self._logprobs(shown), finish_reason=finish
        )

    def _logprobs(self, shown: Sequence[Shown]) -> CompletionLogprobs | None:
        if not self.heading.logprobs:
            return None
        return CompletionLogprobs(
            tokens=[one.chosen.text for one in shown],
            token_logprobs=[one.chosen.logprob for one in shown],
            top_logprobs=[_by_text(one.top) for one in shown],
            text_offset=[one.offset for one in shown],
        )


def _by_text(top: Sequence[Spelled]) -> dict[str, float]:
    # Two tokens may have one spelling; the more probable comes first and stays.
    by_text: dict[str, float] = {}
    for one in top:
        by_text.setdefault(one.text, one.logprob)
    return by_text
