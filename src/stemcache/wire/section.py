"""The parts of a prompt that providers order, each in a way of its own."""

from enum import StrEnum

__all__ = ["Section"]


class Section(StrEnum):
    """A part of a prompt. Which comes first is a rule of the provider."""

    TOOLS = "tools"
    SYSTEM = "system"
    """The system prompt: `system`, `instructions`, or the leading system and developer messages of
    a body that keeps them among the others."""
    MESSAGES = "messages"
