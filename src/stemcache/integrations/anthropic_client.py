"""Watch Anthropic's client in one line: what it sends, what that costs, what breaks its prefixes.

```python
from anthropic import Anthropic
from stemcache.integrations.anthropic_client import watch

client = Anthropic()
watch(client)                           # or watch(client, output="calls.jsonl")
...
print(watch(client).summary())
```
For `Anthropic`, `AsyncAnthropic`, and the forms of both for Bedrock, Vertex and Foundry; copies
that `with_options` makes are watched with it. Messages, plain and streamed, of the beta too.
Batches are not calls: nothing of them comes back by this way.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import anthropic

from stemcache.errors import UsageError
from stemcache.integrations.client_watch import Watched, watch_http
from stemcache.lint.finding import Finding
from stemcache.lint.options import Options
from stemcache.record.record import Keep

__all__ = ["watch"]

_PLATFORMS = ("", "AWS", "Bedrock", "BedrockMantle", "Foundry", "GoogleCloud", "Vertex")


class _Client(Protocol):
    _client: Any


def watch(
    client: _Client,
    *,
    output: Path | str | None = None,
    keep: Keep | None = None,
    options: Options | None = None,
    tell: Callable[[Finding], None] | None = None,
    into: Watched | None = None,
    marks: bool = False,
) -> Watched:
    """Watch a client, or give what watches it. Calls are not held up, and only `marks` change them.

    `output` is a file as `stemcache record` writes it, `keep` what of a call is in it; `options`
    are lint's. `tell` is given each finding once (by default it is logged, by `stemcache.live`).
    `into` is what watches another client: both are one log then. `marks`: place marks where they
    earn most, in requests without any (see `client_marks`). Raises UsageError for what is no
    such client, for a file that cannot be written, and for settings of one that is watched already.
    """
    if not isinstance(client, _clients()):
        raise UsageError(
            f"a {type(client).__module__}.{type(client).__qualname__} is no client of anthropic; "
            "give an Anthropic or AsyncAnthropic, or one of their forms for a platform"
        )
    http = client._client  # noqa: SLF001  # it has no public name
    return watch_http(
        http, output=output, keep=keep, options=options, tell=tell, into=into, marks=marks
    )


def _clients() -> tuple[type, ...]:
    """Those that this version of the package has."""
    names = [f"{mode}Anthropic{platform}" for platform in _PLATFORMS for mode in ("", "Async")]
    return tuple(getattr(anthropic, name) for name in names if hasattr(anthropic, name))
