"""What can go wrong, as one tree.

```
StemcacheError                 everything this package raises on purpose
├── UsageError                 a flag, a file or a value of the user's cannot be used
│   ├── ModelError             a model directory or file cannot be loaded
│   └── VolatileError          text that will change where it is to stay; made in `prompt`
├── RequestError               one request cannot be served as asked (HTTP 4xx)
│   ├── ContextOverflowError   prompt and answer do not fit the context or the KV memory
│   └── UnsupportedError       a documented parameter that this server does not implement
├── HttpError                  refused with a status of its own; drawn here, made in `server`
├── QueueFullError             too many requests wait; try again later (HTTP 503)
└── EngineError                the engine cannot go on (HTTP 500)
```

A message has three parts: what is wrong, which value and where it came from, what to do.
Broken invariants of our own are `AssertionError`, not part of this tree.
"""

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = [
    "ContextOverflowError",
    "EngineError",
    "ModelError",
    "QueueFullError",
    "RequestError",
    "StemcacheError",
    "UnsupportedError",
    "UsageError",
    "unknown_choice",
    "worded",
]


class StemcacheError(Exception):
    """Base of every error that this package raises on purpose."""


class UsageError(StemcacheError):
    """A flag, a file or a value of the user's cannot be used. The command line exits with 2."""


class ModelError(UsageError):
    """A model directory or file cannot be loaded."""


class RequestError(StemcacheError):
    """One request cannot be served as asked.

    `param` names the field of the request body, as OpenAI's error object does.
    """

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


class ContextOverflowError(RequestError):
    """The prompt and its answer do not fit the model's context or the KV memory."""


class UnsupportedError(RequestError):
    """The request asks for a documented parameter that this server does not implement."""


class QueueFullError(StemcacheError):
    """Too many requests wait. `retry_after_s` is when to try again, in seconds."""

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class EngineError(StemcacheError):
    """The engine cannot go on; requests that it held have failed."""


def worded(error: BaseException) -> str:
    """An error of any origin in a few words: its kind, and its text if it has one."""
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def unknown_choice(kind: str, value: str, source: str, choices: Iterable[str]) -> str:
    """Word the message for a value outside a closed set, with the nearest choice if one is near.

    Members of a `StrEnum` are shown as users write them: by their values.
    """
    given = str(value)
    names = sorted(map(str, choices))
    near = get_close_matches(given, names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ";"
    return f"unknown {kind} {given!r} from {source}{hint} ({', '.join(names)})"
