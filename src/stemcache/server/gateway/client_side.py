"""What a relay needs of the connection that it answers on."""

from typing import Protocol

__all__ = ["ClientSide"]


class ClientSide(Protocol):
    """**Protocol**: the client's connection, as a relay needs it."""

    deadline_s: float
    """When `Relay.late` is called."""

    def write(self, data: bytes) -> None:
        """Send to the client."""
        ...

    def finished(self, *, keep: bool) -> None:
        """The answer is written. `keep`: the connection can take another request."""
        ...

    def cut(self, *, reset: bool) -> None:
        """Close at once: what was written is no whole answer."""
        ...

    @property
    def closing(self) -> bool:
        """Whether the connection is to be closed after this answer."""
        ...

    @property
    def congested(self) -> bool:
        """Whether what was written waits for the client."""
        ...
