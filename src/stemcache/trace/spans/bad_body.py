"""A body that is no request of the API that it is said to be for."""

__all__ = ["BadBodyError"]


class BadBodyError(Exception):
    """A body holds no prompt. Readers count it as a skipped line.

    `reason` says names of fields and types, never what a prompt says. `fix` is what to do about it.
    """

    def __init__(self, reason: str, *, fix: str = "log the whole request body") -> None:
        super().__init__(reason)
        self.reason = reason
        self.fix = fix
