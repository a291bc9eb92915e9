"""The key that makes digests of credentials: one for each file, beside it, readable by its owner.

```
calls.jsonl       what is recorded; scopes are digests that say nothing without the key
calls.jsonl.key   32 random bytes in hex, mode 600; calls of later runs get equal scopes by it
```
Who has the file alone cannot tell whether a key that they guess is the one that was used.
"""

import os
import secrets
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

__all__ = ["ScopeKey"]

_KEY_BYTES = 32
_SCOPE_BYTES = 8


class ScopeKey:
    """Turns what stands for an owner into 16 hex digits. Pure once made."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def passing(cls) -> "ScopeKey":
        """One that ends with the process: for what is kept in memory."""
        return cls(secrets.token_bytes(_KEY_BYTES))

    @classmethod
    def beside(cls, output: Path) -> "ScopeKey":
        """The key of this file, made if there is none.

        Where it can be neither read nor made, a key that ends with the process: scopes are then
        equal within a run only.
        """
        path = output.with_name(output.name + ".key")
        made = secrets.token_bytes(_KEY_BYTES)
        if output.exists() and not output.is_file():
            return cls(made)  # a device or a pipe
        with suppress(OSError):
            # Complete before it has its name: another process may look for it at this moment.
            part = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                os.write(descriptor, made.hex().encode() + b"\n")
            finally:
                os.close(descriptor)
            with suppress(OSError):
                os.link(part, path)
            part.unlink()
        with suppress(OSError, ValueError):
            key = bytes.fromhex(path.read_bytes()[: 4 * _KEY_BYTES].decode("ascii"))
            if len(key) == _KEY_BYTES:
                return cls(key)
        return cls(made)

    def digest(self, account: str) -> str:
        """Of an owner; empty for nobody."""
        if not account:
            return ""
        data = account.encode("utf-8", "surrogatepass")
        return blake2b(data, key=self._key, digest_size=_SCOPE_BYTES).hexdigest()
