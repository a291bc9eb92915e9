"""A trace sent to a live server at its own pace, and what came of it.

```
trace ─► selection ─► schedule ─┐
           isolation ─► prompts ─┤─► run ─► outcomes ─► report ─► compare
                        target ──┘    │
                                      └── wire: pool, connection, sse, events
```
`run` and what is under it (loops, sender, flights, probe, connections) live on an event loop;
everything else is pure.
"""
