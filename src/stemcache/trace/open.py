"""Open a trace of any format and read it once, line by line.

```
source ──chunks──► lines ──first one──► sniffers ──► a format's reader ──► TraceRequest …
 bytes_read         numbers                              bad lines: stop, or count and go on
```

Memory is bounded by the longest line, however large the file is.
"""

import os
from collections.abc import Iterator
from itertools import chain
from types import TracebackType
from typing import Literal, Self

from stemcache.errors import UsageError, unknown_choice
from stemcache.trace.bodies.prompt import PromptReader
from stemcache.trace.format import Format, LineReader, ReadOptions, Unit
from stemcache.trace.formats import FORMAT_NAMES, FORMATS, check_options, foreign, sniffed
from stemcache.trace.lines import (
    ENDLESS_BYTES,
    MAX_LINE_BYTES,
    EndlessLineError,
    Line,
    numbered_lines,
)
from stemcache.trace.problem import BadLineError, Problem
from stemcache.trace.record import TraceRequest
from stemcache.trace.source import BrokenStreamError, Source, open_source

__all__ = ["FORMAT_NAMES", "OnBad", "TraceReader", "open_trace"]

OnBad = Literal["stop", "skip"]

_SNIFFED_LINES = 1000
"""Bad lines at the start that are skipped, if skipping is asked for, before giving up."""
_KEPT_PROBLEMS = 5
_SKIP_HINT = "or leave such lines out with --skip-bad-lines"


class TraceReader:
    """The requests of a trace, in the file's order. Reads once; close it, or use it in a `with`.

    What it says of itself is true of what was read so far, so ask again at the end.
    """

    def __init__(
        self,
        source: Source,
        *,
        format: str,  # noqa: A002  # as the flag is called
        on_bad: OnBad,
        options: ReadOptions,
    ) -> None:
        """Reads the first record. Raises UsageError where there is none that can be read."""
        self.name = source.name
        """The path, or `standard input`."""
        self.requests = 0
        self.skipped = 0
        """Lines left out; those that were cut off or too long count as one each."""
        self.problems: list[Problem] = []
        """What was wrong with the first few of the lines that were left out."""
        self._source = source
        self._on_bad = on_bad
        self._lines = self._numbered()
        self._last_line = 0
        self._entered = False
        head: list[Line] = []
        found = self._found(head) if format == "auto" else FORMATS[format]
        check_options(found, options, self.name)
        self.format = found.name
        self._reader: LineReader = found.reader(options)
        self._ready = self._read(chain(head, self._lines))
        self._first = next(self._ready, None)
        if self._first is None:
            raise self._empty()

    @property
    def unit(self) -> Unit:
        """What lengths of prompts and of blocks count."""
        return self._reader.unit

    @property
    def joined_lines(self) -> int:
        """Lines so far that were taken for more of the session of an earlier one."""
        return self._reader.joined_lines

    @property
    def bytes_read(self) -> int:
        """Stored bytes so far, compressed ones where the file is compressed."""
        return self._source.bytes_read

    @property
    def bytes_total(self) -> int | None:
        """None where it cannot be known, as for a pipe."""
        return self._source.bytes_total

    def __iter__(self) -> Iterator[TraceRequest]:
        """Once only. Raises UsageError for the first bad line, or skips and counts them."""
        assert not self._entered, "a trace is read once; open it again"
        self._entered = True
        assert self._first is not None, "there is a first request"
        for request in chain((self._first,), self._ready):
            self.requests += 1
            yield request

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Harmless twice."""
        self._source.close()

    def _numbered(self) -> Iterator[Line]:
        try:
            for line in numbered_lines(self._source.chunks()):
                self._last_line = line.number
                if line.text is None:
                    limit = f"{MAX_LINE_BYTES // 2**20} MiB"
                    self._bad(line.number, BadLineError(f"the line is longer than {limit}"))
                else:
                    yield line
        except EndlessLineError as error:
            # Also when skipping: what may come behind it would be left out without a word.
            raise UsageError(
                f"{self.name}, line {error.number}: no line ends within "
                f"{ENDLESS_BYTES // 2**30} GiB; give a file of lines"
            ) from None
        except BrokenStreamError as error:
            fix = "fetch the file again, or read what is there"
            self._bad(self._last_line + 1, BadLineError(str(error), fix=fix))

    def _found(self, head: list[Line]) -> Format:
        """Take lines into `head` until one tells the format."""
        for line in self._lines:
            assert line.text is not None, "long lines do not come here"
            head.append(line)
            try:
                return sniffed(line.text)
            except BadLineError as error:
                self._stop(line.number, error)
            if len(head) > _SNIFFED_LINES:
                raise UsageError(
                    f"the first {_SNIFFED_LINES} lines of {self.name} are of no known format; "
                    f"name it with --format ({', '.join(FORMATS)})"
                )
        raise self._empty()

    def _read(self, lines: Iterator[Line]) -> Iterator[TraceRequest]:
        read = self._reader.read
        for line in lines:
            assert line.text is not None, "long lines do not come here"
            try:
                made = read(line.text)
            except BadLineError as error:
                self._bad(line.number, foreign(line.text, self.format) or error)
            else:
                yield from made

    def _bad(self, line: int, error: BadLineError) -> None:
        self._stop(line, error)
        self.skipped += 1
        if len(self.problems) < _KEPT_PROBLEMS:
            self.problems.append(Problem(line, error.reason))

    def _stop(self, line: int, error: BadLineError) -> None:
        if self._on_bad == "stop":
            raise UsageError(
                f"{self.name}, line {line}: {error.reason}; {error.fix}, {_SKIP_HINT}"
            ) from None

    def _empty(self) -> UsageError:
        if self.problems:
            return UsageError(
                f"nothing in {self.name} can be read: all {self.skipped:,} lines were skipped, "
                f"the first for this: {self.problems[0]}; give another file or --format"
            )
        if self._last_line:
            return UsageError(
                f"{self.name} holds no request; give a trace with at least one line for one"
            )
        return UsageError(f"{self.name} is empty; give a trace with at least one line")


def open_trace(
    path: str | os.PathLike[str],
    *,
    format: str = "auto",  # noqa: A002  # as the flag is called
    on_bad: OnBad = "stop",
    block_tokens: int | None = None,
    tokenizer: PromptReader | None = None,
    chain_ids: bool = False,
) -> TraceReader:
    """Open a file, or standard input for `-`, and read up to its first request.

    `block_tokens` is for traces that do not say their block size: 512 for Mooncake, 64 for
    sessions, 16 for the others unless given. `tokenizer`, from `load_model_prompts`, turns prompts
    of bodies into tokens; without it they are read as characters. `chain_ids` is for hash traces
    whose ids stand for a block's own content. With `on_bad="skip"` bad lines are counted in
    `skipped` and told in `problems`. Raises UsageError, also while iterating.
    """
    if format not in FORMAT_NAMES:
        raise UsageError(unknown_choice("format", format, "--format", FORMAT_NAMES))
    options = ReadOptions(block_tokens=block_tokens, prompts=tokenizer, chain_ids=chain_ids)
    source = open_source(path)
    try:
        return TraceReader(source, format=format, on_bad=on_bad, options=options)
    except BaseException:
        source.close()
        raise
