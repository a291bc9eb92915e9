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
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from stemcache.text.file_tokenizer import AddedToken, FileTokenizer

__all__ = ["Cutter"]

_SPACING_BYTES = 256
"""Closer cuts are passed over: each costs a digest, and a text may be nothing but cuts."""
_BATCH = 32
_CLINGS = re.compile(r"\w|\s|\Z")
_PROBES = ("a", " b ", "\n", "1 2", "\u00e9\u4e16 \U0001f600", "a\tb  ")


class Cutter:
    """Finds the cuts of text for one tokenizer. Immutable."""

    def __init__(self, tokenizer: FileTokenizer, sample: str = "", turns: int = 1) -> None:
        """`sample`: a text of `turns` turns as the template writes it.

        A token that begins or ends each of its turns is then the only one that is looked for,
        which is quicker; where there is none, every safe token is.
        """
        added = tokenizer.added_tokens()
        names = [name.text for name in added]
        safe = [name.text for name in added if _is_plain(name) and _never_inside(name.text, names)]
        often = [name for name in safe if sample.count(name) >= turns]
        if often:
            safe = [min(often, key=lambda name: (-sample.count(name), sample.index(name)))]
        if safe and not _agrees(tokenizer, safe):
            safe = []
        self.tokens = frozenset(safe)
        """Before these a text is cut; empty: nowhere."""
        spelled = sorted(name.encode() for name in safe)
        self._overlap = max(map(len, spelled), default=1) - 1
        self._only = spelled[0] if len(spelled) == 1 else None
        self._pattern = re.compile(b"|".join(map(re.escape, spelled)))

    def cut(self, chunks: Iterable[str], take: Callable[[bytes], None]) -> bytes:
        """Hand over the text in parts, each up to a cut, and give back the rest behind the last.

        Where chunks begin and end makes no difference, and equal beginnings are cut alike. Linear
        in the text and in the chunks. Raises UnicodeEncodeError for half a surrogate pair.
        """
        if not self.tokens:
            return "".join(chunks).encode()
        find = self._find
        overlap = self._overlap
        part: list[bytes] = []
        """What stands behind the last cut: `size` bytes, `tail` at their end."""
        size = 0
        tail = b""
        for raw in _batches(chunks):
            if tail:
                # A token may have begun in an earlier chunk.
                before = size - len(tail)
                at = find(tail + raw[:overlap], max(_SPACING_BYTES - before, 0))
                if 0 <= at < len(tail):
                    joined = b"".join(part)
                    take(joined[: before + at])
                    tail = tail[at:]
                    part = [tail]
                    size = len(tail)
            at = find(raw, max(_SPACING_BYTES - size, 0))
            if at >= 0:
                part.append(raw[:at])
                take(b"".join(part))
                start = at
                while (at := find(raw, start + _SPACING_BYTES)) >= 0:
                    take(raw[start:at])
                    start = at
                rest = raw[start:]
                part = [rest]
                size = len(rest)
                tail = rest[-overlap:] if overlap else b""
            else:
                part.append(raw)
                size += len(raw)
                tail = (tail + raw)[-overlap:] if overlap else b""
        return b"".join(part)

    def _find(self, text: bytes, start: int) -> int:
        if self._only is not None:
            return text.find(self._only, start)
        found = self._pattern.search(text, start)
        return -1 if found is None else found.start()


def _batches(chunks: Iterable[str]) -> Iterator[bytes]:
    # A template writes a chunk for every expression: together they cost less, and a few at a time
    # stay in the processor's cache.
    remaining = iter(chunks)
    while batch := list(islice(remaining, _BATCH)):
        yield "".join(batch).encode()


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
