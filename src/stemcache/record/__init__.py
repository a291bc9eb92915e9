"""Calls as they were sent, written down without standing in their way.

```
proxy ──────────────┐
httpx_transport ────┼─► Exchange ─► Recorder ─queue─► one thread: record.line ─► Output
botocore_hook ──────┘   (bytes)     (never raises,    credentials dropped,       (a file, mode 600)
                                     never waits)     answer reduced
```
A call does not depend on its record: what cannot be recorded is counted and said, and goes on.
"""
