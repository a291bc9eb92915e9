"""A relay in front of a provider: bytes go through as they come, a copy goes to the recorder.

```
client ══ ClientConnection ══ Relay ══ Upstream ══ provider
             HTTP/1.1           │  one of each for one client's connection
                                └──► Exchange ──► Recorder
```
Each connection of a client has one to the provider, no more and no longer: whatever the client
would see of a provider's connections without the proxy, it sees with it.
"""
