"""A trace sent to a live server at its own pace, and what came of it.

```
trace ─► selection ─► schedule ─┐
           isolation ─► prompts ─┤─► run ─► outcomes ─► report ─► compare
                        target ──┘    │
                                      └── wire: pool, connection, sse, events
```
Everything but `run` and the connections under it is pure.
"""
