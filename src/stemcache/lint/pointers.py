"""Pointers as they are shown: names that a model made up are text of the prompt, too."""

import re

__all__ = ["without_keys"]

_ARGUMENTS = re.compile(
    r"^(/messages/\d+/content/\d+/(?:toolUse/)?input"
    r"|/contents/\d+/parts/\d+/(?:functionCall/args|function_call/args"
    r"|functionResponse/response|function_response/response))/.*",
    re.DOTALL,
)


def without_keys(pointer: str) -> str:
    """The pointer up to the arguments of a tool's call, whose keys may say anything."""
    return _ARGUMENTS.sub(r"\1", pointer)
