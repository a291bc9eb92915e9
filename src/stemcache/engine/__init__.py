"""KV pages and the step: admits requests, shares their prefixes, schedules and samples.

Synchronous and single-threaded; reads no clock and no socket of its own. Knows nothing of HTTP or
text. `torch` appears only in `engine.torch`.
"""
