"""One choice of an answer, from tokens to text: detokenized, cut at stop strings, with log-probs.

```
Progress ──Detokenizer──► text ──StopMatcher──► Piece {text, tokens shown, finish}
```
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from stemcache.engine.request import FinishReason, Progress, TokenLogprobs
from stemcache.errors import EngineError
from stemcache.text.detokenizer import Detokenizer
from stemcache.text.stop import StopMatcher
from stemcache.text.tokenizer import Tokenizer
from stemcache.wire.answers import Finish

__all__ = ["Answer", "Piece", "Shown", "Spelled"]


@dataclass(frozen=True, slots=True)
class Spelled:
    """A token as clients see it, with its log-probability."""

    text: str
    """`bytes:\\xf0\\x9f` where its bytes are not whole characters."""
    raw: bytes
    logprob: float


@dataclass(frozen=True, slots=True)
class Shown:
    """A chosen token and its alternatives."""

    chosen: Spelled
    top: tuple[Spelled, ...]
    offset: int
    """Where its text begins in the answer, in characters."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What one step added to a choice."""

    text: str
    shown: tuple[Shown, ...]
    """The tokens behind the text so far given out, if log-probabilities were asked for."""
    finish: Finish | None


class Answer:
    """One choice so far. After a piece with `finish` it takes no more."""

    def __init__(self, tokenizer: Tokenizer, stops: Sequence[str]) -> None:
        self.completion_tokens = 0
        """Chosen so far, those behind a stop string included."""
        self._tokenizer = tokenizer
        self._detokenizer = Detokenizer(tokenizer)
        self._stops = StopMatcher(stops)
        self._made = 0
        self._given = 0
        # Tokens whose text has not been given out yet: a stop string may still swallow them.
        self._held: deque[Shown] = deque()

    def feed(self, progress: Progress) -> Piece:
        """Take in a step's tokens. Raises EngineError if the engine failed on the request."""
        texts: list[str] = []
        for i, token in enumerate(progress.tokens):
            self.completion_tokens += 1
            if progress.logprobs:
                self._held.append(self._show(token, progress.logprobs[i]))
            if self._advance(self._detokenizer.feed(token), texts):
                return self._piece(texts, "stop")
        finish = self._finish(progress)
        if finish is None:
            return self._piece(texts, None)
        if self._advance(self._detokenizer.finish(), texts):
            return self._piece(texts, "stop")
        texts.append(self._stops.finish())
        self._given += len(texts[-1])
        piece = self._piece(texts, finish)
        rest, self._held = tuple(self._held), deque()
        return Piece(piece.text, piece.shown + rest, finish)

    def _advance(self, text: str, texts: list[str]) -> bool:
        self._made += len(text)
        stopped = self._stops.feed(text)
        texts.append(stopped.text)
        self._given += len(stopped.text)
        return stopped.found

    def _piece(self, texts: list[str], finish: Finish | None) -> Piece:
        shown: list[Shown] = []
        while self._held and self._held[0].offset < self._given:
            shown.append(self._held.popleft())
        return Piece("".join(texts), tuple(shown), finish)

    def _show(self, token: int, logprobs: TokenLogprobs) -> Shown:
        top = tuple(self._spell(other, logprob) for other, logprob in logprobs.top)
        return Shown(self._spell(token, logprobs.chosen), top, self._made)

    def _spell(self, token: int, logprob: float) -> Spelled:
        raw = self._tokenizer.token_bytes(token)
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            text = "bytes:" + "".join(f"\\x{byte:02x}" for byte in raw)
        return Spelled(text, raw, logprob)

    def _finish(self, progress: Progress) -> Finish | None:
        match progress.finish:
            case None:
                return None
            case FinishReason.STOP:
                return "stop"
            case FinishReason.LENGTH:
                return "length"
            case FinishReason.ERROR:
                raise EngineError(
                    f"the engine failed on this request: {progress.error}; send it again"
                )
            case FinishReason.CANCELLED:
                raise EngineError("the engine cancelled this request; send it again")
            case _:
                assert_never(progress.finish)
