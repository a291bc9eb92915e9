"""Bytes of a prompt's text to tokens, without a tokenizer.

```
tokens
  ▲                                   ╭── reported prompt tokens of this call
  │                          ╭────────╯
  │                 ╭────────╯ ◄── a knot: what the parent reported, where it is a prefix
  │        ╭────────╯
  └────────┴─────────────────────────► bytes
```
Where a call reports its prompt tokens, they are spread over its bytes, so that the whole is exact
and a part is as good as the text is even. Where it does not, the ratio of the model's calls so far
is taken, and before there is one, a quarter of a token a byte: about right for English in every
tokenizer in use, too low for source code by a tenth and too high for Chinese by a third.
"""

from dataclasses import dataclass

__all__ = ["BYTES_PER_TOKEN", "Scale", "Scales"]

BYTES_PER_TOKEN = 4.0
_LEARNED_FROM_BYTES = 20_000
"""Below so much text a ratio says more of the envelope than of the tokenizer."""


@dataclass(frozen=True, slots=True)
class Scale:
    """One call's conversion: monotonic, and 0 at 0 unless the log does not show all tokens."""

    total_bytes: int
    total_tokens: int
    reported: bool
    """Whether `total_tokens` is the provider's figure."""
    hidden_tokens: int = 0
    """Tokens before the first byte: tools and system prompt that the log does not hold."""
    knot_bytes: int = 0
    knot_tokens: int = 0
    """A point in between that is known; none where both are 0."""

    def tokens(self, at_bytes: int) -> int:
        """Tokens before a byte."""
        if at_bytes <= 0:
            return self.hidden_tokens
        if at_bytes >= self.total_bytes:
            return self.total_tokens
        low_bytes, low_tokens = 0, self.hidden_tokens
        high_bytes, high_tokens = self.total_bytes, self.total_tokens
        if self.knot_bytes:
            if at_bytes <= self.knot_bytes:
                high_bytes, high_tokens = self.knot_bytes, self.knot_tokens
            else:
                low_bytes, low_tokens = self.knot_bytes, self.knot_tokens
        width = high_bytes - low_bytes
        return low_tokens + (at_bytes - low_bytes) * (high_tokens - low_tokens) // max(1, width)

    def with_knot(self, at_bytes: int, tokens: int) -> "Scale":
        """The same with one point known; itself where the point cannot be right."""
        if not 0 < at_bytes < self.total_bytes or not self.hidden_tokens < tokens:
            return self
        if tokens > self.total_tokens:
            return self
        return Scale(
            self.total_bytes,
            self.total_tokens,
            self.reported,
            self.hidden_tokens,
            at_bytes,
            tokens,
        )


class Scales:
    """Learns the ratio of each model from the calls that report."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int]] = {}

    def of(
        self, model: str | None, prompt_bytes: int, reported: int | None, *, whole: bool
    ) -> Scale:
        """The scale of one call; learns from it if it reports. `whole`: the log shows all of it."""
        if reported is None:
            tokens = round(prompt_bytes / self._bytes_per_token(model))
            return Scale(prompt_bytes, tokens, reported=False)
        if not whole:
            visible = round(prompt_bytes / BYTES_PER_TOKEN)
            return Scale(prompt_bytes, reported, True, hidden_tokens=max(0, reported - visible))
        tokens_so_far, bytes_so_far = self._seen.get(model or "", (0, 0))
        self._seen[model or ""] = (tokens_so_far + reported, bytes_so_far + prompt_bytes)
        # A prompt without text (an image, an empty question) has tokens all the same.
        hidden = 0 if prompt_bytes else reported
        return Scale(prompt_bytes, reported, reported=True, hidden_tokens=hidden)

    def _bytes_per_token(self, model: str | None) -> float:
        tokens, size = self._seen.get(model or "", (0, 0))
        if size < _LEARNED_FROM_BYTES or not tokens:
            return BYTES_PER_TOKEN
        return min(16.0, max(1.0, size / tokens))
