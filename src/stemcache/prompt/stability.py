"""How long a piece of a prompt stays as it is, in the words that a layout orders by."""

from enum import StrEnum

__all__ = ["Stability"]


class Stability(StrEnum):
    """The more stable first; `rank` says so as a number."""

    STATIC = "static"
    """Changes with a release of the program: rules, tools, examples. Shared by everybody."""
    REFERENCE = "reference"
    """Changes when it is edited: documents, a catalogue. Shared by many conversations."""
    SESSION = "session"
    """Fixed for one conversation: who asks, what they may do."""
    TURN = "turn"
    """May be another with every request: the time, what was just found."""

    @property
    def rank(self) -> int:
        """0 for what stays longest."""
        return tuple(Stability).index(self)
