r"""Where a text may be cut so that its parts have the token ids that the whole has.

```
… "<|im_end|>" "\n" │ "<|im_start|>" "user\nHi" "<|im_end|>" "\n" │ "<|im_start|>" …
                    cut                                            cut
```
A tokenizer of this kind first takes *added tokens* out of the text, from left to right, the longest
where several begin at one place, and then treats each run between them on its own. So a cut just
before an added token changes nothing, if

1. no added token can begin before the cut and end behind it,
2. the added token takes no space or word boundary from what is before it, and
3. the part behind the cut begins with it, so that nothing else in that part is "first".

The tokens for which this holds are read off the vocabulary when it is loaded, and a probe compares
parts with wholes; where a probe disagrees there are no cuts, and texts are tokenized whole.
"""

import re
from collections.abc import Iterable

from stemcache.text.file_tokenizer import AddedToken, FileTokenizer

__all__ = ["Cutter"]

_SPACING_BYTES = 256
"""Closer cuts are passed over: each costs a digest, and a text may be nothing but boundaries."""
_CLINGS = re.compile(r"\w|\s|\Z")
_PROBES = ("a", " b ", "\n", "1 2", "\u00e9\u4e16 \U0001f600", "a\tb  ")


class Cutter:
    """Finds the cuts of UTF-8 text for one tokenizer."""

    def __init__(self, tokenizer: FileTokenizer) -> None:
        added = tokenizer.added_tokens()
        names = [name.text for name in added]
        safe = [name.text for name in added if _is_plain(name) and _never_inside(name.text, names)]
        if safe and not _agrees(tokenizer, safe):
            safe = []
        self.tokens = frozenset(safe)
        """Before these a text is cut; empty: nowhere."""
        spelled = b"|".join(re.escape(name.encode()) for name in sorted(safe))
        self._pattern = re.compile(spelled) if safe else None

    def pieces(self, text: bytes) -> list[memoryview]:
        """The text in parts, one or more. Equal beginnings are cut alike up to where they part.

        Linear in the text; the parts are views of it.
        """
        view = memoryview(text)
        if self._pattern is None:
            return [view]
        pieces = []
        start = 0
        find = self._pattern.search
        while (found := find(text, start + _SPACING_BYTES)) is not None:
            pieces.append(view[start : found.start()])
            start = found.start()
        pieces.append(view[start:])
        return pieces


def _is_plain(name: AddedToken) -> bool:
    return not (name.normalized or name.left or name.word or _CLINGS.match(name.text))


def _never_inside(name: str, others: Iterable[str]) -> bool:
    """Whether no added token that begins before this one can reach into it."""
    for other in others:
        for i in range(1, len(other)):
            rest = other[i:]
            if name.startswith(rest) or rest.startswith(name):
                return False
    return True


def _agrees(tokenizer: FileTokenizer, names: list[str]) -> bool:
    for name in names:
        for before in _PROBES:
            for after in _PROBES:
                parts = [names[0] + before + after, name + before + after]
                whole = tokenizer.encode("".join(parts), add_special_tokens=False)
                apart = [tokenizer.encode(part, add_special_tokens=False) for part in parts]
                if whole != [token for ids in apart for token in ids]:
                    return False
    return True
