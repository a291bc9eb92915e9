r"""Half of a pair of UTF-16 in a JSON string, as JavaScript writes a character cut in two.

```
"cut \ud83d"    its escape is JSON by grammar, and no text: strict readers refuse the whole body
"cut \ufffd"    what is read in its place; as long, so that everything stands where it stood
```
Replicas' readers take it. So that a body with one can be read and edited, a copy is read, and the
body itself goes on, with the escape in it.
"""

import re

__all__ = ["without_lone_surrogates"]

_ANY = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def without_lone_surrogates(text: bytes) -> bytes:
    """The text with such escapes replaced; the same object where there is none.

    Where there is a surrogate, about 0.3 µs an escape of any kind; else a search.
    """
    if _ANY.search(text) is None:
        return text
    found = _ESCAPE.sub(_replaced, text)
    return text if found == text else found


def _replaced(escape: "re.Match[bytes]") -> bytes:
    return escape[0] if escape["lone"] is None else rb"\ufffd"
