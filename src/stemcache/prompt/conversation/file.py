"""Conversations in files: a turn is written once, where it belongs, and nothing is written twice.

```
save(conversation, path)      first: the whole file, at once      later: the messages it lacks
load(path)                    all messages; the same digest, the same bytes as before
replace(conversation, path)   another conversation in its place, whole or not at all
```
One file holds one conversation, a line a message (`conversation.line`), and is readable by its
owner alone: it holds what people said. Lines are appended under a lock on the file. What a killed
process or a full disk left of a line is no line: it has no end, and is dropped with a warning.

`save` takes the conversation to be the file's where it holds the file's last digest; a file that
has gone on otherwise is an error, never mixed. With `sync` it returns once the disk has what was
written; without, a power cut may take the last turns, and leaves the rest to be read.
"""

import fcntl
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkstemp

from stemcache.errors import UsageError
from stemcache.prompt.conversation import chain as chains
from stemcache.prompt.conversation.conversation import Conversation
from stemcache.prompt.conversation.line import HEAD, check_head, digest_of, line_of, read_line
from stemcache.prompt.given import check_type

__all__ = ["TornLineWarning", "load", "replace", "save"]

_PIECE_BYTES = 2**16


class TornLineWarning(UserWarning):
    """The last line of a file had no end and was dropped."""


def save(conversation: Conversation, path: str | Path, *, sync: bool = False) -> int:
    """Write the messages that the file lacks, at their cost, and return how many.

    A file that is not there, or empty, is made. Raises UsageError where it holds another
    conversation, goes on where this one ends, or cannot be written; then it is left as it was.
    """
    _check_conversation(conversation)
    target = _target(path)
    with _failures(path), _locked(target) as descriptor:
        if descriptor is not None and os.fstat(descriptor).st_size:
            return _append(conversation, descriptor, path, sync=sync)
        if _write_whole(conversation, target, sync=sync, over=descriptor is not None):
            return len(conversation)
    return save(conversation, path, sync=sync)  # another process was first


def replace(conversation: Conversation, path: str | Path) -> None:
    """Write the whole conversation in place of whatever the file held; returns once it is on disk.

    The file is the old one or the new one at every moment. Raises UsageError where it cannot be
    written.
    """
    _check_conversation(conversation)
    target = _target(path)
    with _failures(path), _locked(target):
        # A name must not come to stand for less than it did before, whatever happens to the power.
        _write_whole(conversation, target, sync=True, over=True)


def load(path: str | Path, *, most_bytes: int = 2**31) -> Conversation:
    """Read a conversation. Linear in the file; one of more than `most_bytes` is an error.

    A last line without its end is dropped with TornLineWarning. Raises UsageError, naming the line,
    for all else that `save` has not written.
    """
    target = _target(path)
    _check_file(target, path)
    with _failures(path), target.open("rb") as stream:
        if os.fstat(stream.fileno()).st_size > most_bytes:
            raise UsageError(
                f"{path} is larger than {most_bytes} bytes; pass most_bytes where that is meant"
            )
        head = stream.readline(len(HEAD) + 256)
        if not head:
            raise UsageError(f"{path} is empty; name a file that stemcache.prompt saved")
        check_head(head, str(path))
        end = chains.EMPTY
        for number, line in enumerate(stream, start=2):
            if not line.endswith(b"\n"):
                _warn_torn(path, len(line), stacklevel=3)
                break
            end = read_line(end, line, str(path), number)
    return Conversation.of(end)


def _check_conversation(given: object) -> None:
    check_type(given, Conversation, "what is to be saved", "give a Conversation")


def _append(conversation: Conversation, descriptor: int, path: str | Path, *, sync: bool) -> int:
    """Under the lock. Returns how many messages were written."""
    check_head(os.pread(descriptor, len(HEAD), 0), str(path))
    _narrow(descriptor)
    size, torn_bytes = _whole_lines(descriptor)
    if torn_bytes:
        _warn_torn(path, torn_bytes, stacklevel=4)
        os.ftruncate(descriptor, size)
    held = _last_digest(descriptor, size, path)
    lacking = conversation.behind(held)
    if lacking is None:
        raise UsageError(_differs(conversation, path))
    data = b"".join(map(line_of, lacking))
    try:
        _write(descriptor, data)
        if sync:
            os.fsync(descriptor)
    except OSError:
        with suppress(OSError):
            os.ftruncate(descriptor, size)
        raise
    return len(lacking)


def _differs(conversation: Conversation, path: str | Path) -> str:
    other = load(path)
    shared = conversation.shared_with(other)
    if shared == len(conversation):
        return (
            f"{path} goes on where the conversation ends: it has {len(other)} messages, this one "
            f"{shared}; load it and go on from there, or save to another file"
        )
    return (
        f"{path} holds another conversation, which differs from message {shared} on; save to "
        "another file, or replace() it"
    )


def _whole_lines(descriptor: int) -> tuple[int, int]:
    """Bytes up to the end of the last whole line, and those behind it."""
    size = os.fstat(descriptor).st_size
    end = _line_end(descriptor, size)
    return end, size - end


def _line_end(descriptor: int, before: int) -> int:
    """Behind the last line feed of the first `before` bytes."""
    while before > 0:
        start = max(0, before - _PIECE_BYTES)
        found = os.pread(descriptor, before - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        before = start
    return 0


def _last_digest(descriptor: int, size: int, path: str | Path) -> bytes:
    """The digest of the conversation in a file of whole lines."""
    if size <= len(HEAD):
        return chains.EMPTY.digest
    start = max(0, size - 256)
    tail = os.pread(descriptor, size - start, start)
    # A line is longer than its digest, which stands at its end.
    found = digest_of(tail)
    try:
        return bytes.fromhex(found or "none")
    except ValueError:
        raise UsageError(
            f"the last line of {path} has no digest; restore the file, or replace() it"
        ) from None


def _write_whole(conversation: Conversation, target: Path, *, sync: bool, over: bool) -> bool:
    """Make the file at once; False where `over` is not asked for and there is one by now."""
    descriptor, name = mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    beside = Path(name)  # open to its owner alone, as mkstemp makes files
    try:
        try:
            _write(descriptor, HEAD + b"".join(map(line_of, conversation.links())))
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if over:
            beside.replace(target)
        else:
            target.hardlink_to(beside)
    except FileExistsError:
        return False
    finally:
        beside.unlink(missing_ok=True)
    if sync:
        directory = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    return True


@contextmanager
def _locked(target: Path) -> Iterator[int | None]:
    """The file, open for appending and locked; None where there is none."""
    while True:
        _check_file(target, target)
        try:
            descriptor = os.open(target, os.O_RDWR | os.O_APPEND)
        except FileNotFoundError:
            yield None
            return
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _stands_for(target, descriptor):
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _stands_for(target: Path, descriptor: int) -> bool:
    """Whether the name is still that of the open file: another process may have replaced it."""
    with suppress(FileNotFoundError):
        return os.path.samestat(target.stat(), os.fstat(descriptor))
    return False


def _check_file(target: Path, path: str | Path) -> None:
    with _failures(path):
        if target.exists() and not target.is_file():
            raise UsageError(f"{path} is no regular file; name a file for the conversation")


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _narrow(descriptor: int) -> None:
    """Take the file's rights from others."""
    found = os.fstat(descriptor)
    if found.st_mode & 0o077 and found.st_uid == os.geteuid():
        os.fchmod(descriptor, 0o600)


def _target(path: str | Path) -> Path:
    """What is written, links followed: a link stays a link."""
    check_type(path, str | os.PathLike, "the path of a conversation", "give a str or a Path")
    with _failures(path):
        return Path(os.path.realpath(path))


def _warn_torn(path: str | Path, torn_bytes: int, *, stacklevel: int) -> None:
    warnings.warn(
        f"the last line of {path} has no end: {torn_bytes} bytes that a broken-off save left were "
        "dropped; give the message that was in it again",
        TornLineWarning,
        stacklevel=stacklevel,
    )


@contextmanager
def _failures(path: str | Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(
            f"{path} cannot be used for a conversation: {reason}; name a file in a directory that "
            "exists and can be written to"
        ) from None
