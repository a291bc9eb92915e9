"""Watch OpenAI's client in one line: what it sends, what that costs, and what breaks its prefixes.

```python
from openai import OpenAI
from stemcache.integrations.openai_client import watch

client = OpenAI()
watch(client)                           # or watch(client, output="calls.jsonl")
...
print(watch(client).summary())
```
For `OpenAI`, `AsyncOpenAI`, their Azure forms, and whatever speaks the same API at another
`base_url`; copies that `with_options` makes are watched with it. Chat Completions and Responses,
plain and streamed. A stream of Chat tells its usage only where it is asked for
(`stream_options={"include_usage": True}`). Not seen: the Realtime API, and Responses by WebSocket.
"""

from collections.abc import Callable
from pathlib import Path

from openai import AsyncOpenAI, OpenAI

from stemcache.errors import UsageError
from stemcache.integrations.client_watch import Watched, watch_http
from stemcache.lint.finding import Finding
from stemcache.lint.options import Options
from stemcache.record.record import Keep

__all__ = ["watch"]


def watch(
    client: OpenAI | AsyncOpenAI,
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
    if not isinstance(client, OpenAI | AsyncOpenAI):
        raise UsageError(
            f"a {type(client).__module__}.{type(client).__qualname__} is no client of openai; "
            "give an OpenAI or AsyncOpenAI"
        )
    http = client._client  # noqa: SLF001  # it has no public name
    return watch_http(
        http, output=output, keep=keep, options=options, tell=tell, into=into, marks=marks
    )
