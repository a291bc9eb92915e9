"""Writing without waiting for the others' turn.

```
uvloop   64 sockets readable ─► 64 x (read, handle, write) ─► 64 x send     each waits for all
at once  64 sockets readable ─► 64 x (read, handle, send)                   the first waits for none
```
uvloop keeps what is written until all that was readable has been handled, but sends it at once
where it would have to tell the writer to pause: with no room to keep anything, that is always. A
write that the system does not take whole pauses the writer then, whatever its size, until all of it
is taken.
"""

import asyncio

__all__ = ["write_at_once"]


def write_at_once(transport: asyncio.Transport) -> None:
    """From now on. Not over TLS, which keeps what it encrypts in a buffer of its own."""
    if transport.get_extra_info("sslcontext") is None:
        transport.set_write_buffer_limits(high=0)
