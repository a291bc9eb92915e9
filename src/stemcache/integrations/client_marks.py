"""Marks placed in a request that is about to be sent: the body read, marked, and written anew.

```
httpx.Request(POST …/v1/messages, {"system": "You are …", …})
      │ stemcache.prompt.remark.marked: where marks earn most under the provider's rule and prices
      ▼
httpx.Request(POST …/v1/messages, {"system": [{…, "cache_control": …}], …})
```
A request that is marked by its maker is left alone, and so is one that is signed, compressed,
streamed or larger than 8 MiB, one that asks for no answer, and whatever cannot be read. Placing
takes milliseconds for a prompt of 100,000 tokens. A system prompt that was not seen lately is first
looked through for what will change, a second a megabyte. Async clients do both in a thread.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import msgspec

from stemcache.prompt.remark.marked import marked
from stemcache.wire.api import api_of, api_of_path

__all__ = ["are_placed", "marks_placed", "with_marks"]

_LOGGER: Final = logging.getLogger("stemcache.live")
_MOST_BYTES: Final = 8 * 2**20
_SIGNED: Final = "AWS4-"
_here: ContextVar[bool] = ContextVar("stemcache_marks", default=False)


@contextmanager
def marks_placed() -> Iterator[None]:
    """Have marks placed in what is sent within, by the clients that are watched."""
    before = _here.set(True)
    try:
        yield
    finally:
        _here.reset(before)


def are_placed() -> bool:
    """Whether this is within `marks_placed`."""
    return _here.get()


def with_marks(request: Any, whole: type[Any]) -> Any:
    """The request with marks, or itself. Never raises. `whole` is the class of bodies of bytes."""
    try:
        body = _body(request, whole)
        if body is None:
            return request
        path = request.url.path
        api = api_of(body, path)
        # What counts a prompt, compacts it or keeps it asks for no answer, and may know no marks.
        if api is None or api is not api_of_path(path):
            return request
        found = marked(body, api, host=request.url.host)
        if found.placement is None or found.body == body:
            return request
        headers = [
            (name, value)
            for name, value in request.headers.multi_items()
            if name.lower() not in {"content-length", "transfer-encoding"}
        ]
        return type(request)(
            request.method,
            request.url,
            headers=headers,
            content=msgspec.json.encode(found.body),
            extensions=request.extensions,
        )
    except Exception:  # the call goes on, without marks
        _LOGGER.debug("no marks were placed", exc_info=True)
        return request


def _body(request: Any, whole: type[Any]) -> dict[str, Any] | None:
    """What is sent, where it may be changed."""
    headers = request.headers
    if request.method != "POST" or not isinstance(request.stream, whole):
        return None
    if "content-encoding" in headers or _SIGNED in headers.get("authorization", ""):
        return None
    content = b"".join(request.stream)
    if len(content) > _MOST_BYTES or not content.startswith(b"{"):
        return None
    body = msgspec.json.decode(content)
    return body if isinstance(body, dict) else None
