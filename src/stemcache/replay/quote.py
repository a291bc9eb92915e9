"""What is shown of a target's own words: a beginning, without keys and without the prompt. Pure."""

import re
from collections.abc import Callable, Sequence

__all__ = ["opening_of", "quoted"]

_MOST_CHARS = 120
_LOOK_BYTES = 2048
"""Of a body, in which its prompt begins."""
_PROMPT = re.compile(rb'"(?:prompt|content)":[\["]([^\]"]*)')
_ENOUGH = 3
"""So many tokens or words in the prompt's own order are the prompt, not a coincidence."""


def opening_of(parts: Sequence[bytes]) -> tuple[str, ...]:
    """The first tokens or words of the prompt within a request's body; as many as tell it."""
    body = b"".join(part[:_LOOK_BYTES] for part in parts[:4])
    found = _PROMPT.search(body)
    if found is None:
        return ()
    return tuple(word.decode() for word in re.findall(rb"[0-9a-zA-Z]+", found[1])[:_ENOUGH])


def quoted(message: str, redact: Callable[[str], str], opening: Sequence[str] = ()) -> str:
    """A message that can be shown. Keys go first: one that is cut in two would not be known."""
    message = redact(message)
    if len(opening) > 1:
        # However it is written there, and all that follows it in the same way.
        first = r"[\s,]+".join(map(re.escape, opening))
        message = re.sub(rf"\b{first}\b(?:[\s,]+\w+)*", "…", message)
    return message if len(message) <= _MOST_CHARS else message[:_MOST_CHARS] + "…"
