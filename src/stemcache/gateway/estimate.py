"""How many tokens a text has, learned from answers that say how many there were."""

__all__ = ["TokenEstimate"]

_PRIOR_BYTES = 4.0
_LEAST_BYTES, _MOST_BYTES = 1.0, 64.0
_STEP = 0.05
_MOST_MODELS = 256


class TokenEstimate:
    """Bytes a token, by model: a moving average over answers. Bounded; O(1)."""

    def __init__(self) -> None:
        self._bytes_a_token: dict[str | None, float] = {}

    def bytes_a_token(self, model: str | None) -> float:
        """At least one."""
        return self._bytes_a_token.get(model, _PRIOR_BYTES)

    def tokens(self, model: str | None, text_bytes: int) -> int:
        """An estimate: at least 1, and no more than there are bytes."""
        return round(text_bytes / self._bytes_a_token.get(model, _PRIOR_BYTES)) or 1

    def learn(self, model: str | None, text_bytes: int, tokens: int) -> None:
        """An answer said how many tokens the text had.

        Of a short text most are its template's: what would be more than one a byte is that, and not
        so for longer ones.
        """
        if tokens <= 0 or text_bytes <= 0:
            return
        seen = text_bytes / tokens
        if not _LEAST_BYTES <= seen <= _MOST_BYTES:
            seen = min(_MOST_BYTES, max(_LEAST_BYTES, seen))
        known = self._bytes_a_token.get(model)
        if known is None:
            if len(self._bytes_a_token) >= _MOST_MODELS:
                return  # names come from clients; the prior serves the rest
            self._bytes_a_token[model] = seen
        else:
            self._bytes_a_token[model] = known + _STEP * (seen - known)
