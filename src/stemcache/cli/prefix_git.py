"""An earlier state of a project, from git: its lock, and its files to build prefixes from."""

import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stemcache.cli.printable import printable
from stemcache.errors import UsageError

__all__ = ["NoHistoryError", "checked_out", "commit_of", "last_commit", "lock_at", "locks_up_to"]

_TIMEOUT_S = 120
_MOST_LOCK_BYTES = 2**26


class NoHistoryError(UsageError):
    """There is no repository, no such commit, or nothing of the kind in it."""


def last_commit(lock: Path) -> str:
    """The last commit that wrote the lock."""
    found = _git(lock.parent, "log", "-1", "--format=%H", "--", lock.name).strip()
    if not found:
        raise NoHistoryError(f"{lock.name} is in no commit; commit it, or name one with --base")
    return found


def commit_of(folder: Path, revision: str) -> str:
    """The full name of a commit that somebody names. Raises NoHistoryError."""
    if revision.startswith("-"):
        raise NoHistoryError(f"{revision!r} from --base is no revision; name a commit or branch")
    try:
        return _git(
            folder, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}"
        ).strip()
    except NoHistoryError as error:
        shown = printable(revision, most_characters=80)
        raise NoHistoryError(
            f"no commit {shown!r} from --base ({error}); fetch it first: in CI, check out with "
            "its history (fetch-depth: 0)"
        ) from None


def lock_at(commit: str, lock: Path) -> str | None:
    """The text of the lock in that commit; None where it is not in it."""
    place = _git(lock.parent, "rev-parse", "--show-prefix").strip() + lock.name
    listed = _git(lock.parent, "ls-tree", "--full-tree", "--name-only", "-z", commit, "--", place)
    if not listed:
        return None
    text = _git(lock.parent, "show", f"{commit}:{place}")
    if len(text) > _MOST_LOCK_BYTES:
        raise NoHistoryError(f"{lock.name} in {commit[:12]} is too large for a lock")
    return text


def locks_up_to(commit: str, lock: Path, *, most: int) -> Iterator[tuple[str, str]]:
    """Texts of the lock in the commits that wrote it, that one and the newest first, by name.

    A process of git each, as they are asked for. Of a shallow clone those that there are.
    """
    listed = _git(lock.parent, "log", f"-{most}", "--format=%H", commit, "--", lock.name)
    for one in listed.split():
        text = lock_at(one, lock)
        if text is not None:
            yield one, text


@contextmanager
def checked_out(folder: Path, commit: str) -> Iterator[Path]:
    """That folder as it is in a commit, in a temporary place. The work tree is not touched."""
    if not hasattr(tarfile, "data_filter"):
        raise NoHistoryError("earlier files are unpacked by Python 3.11.4 and later; use one")
    prefix = _git(folder, "rev-parse", "--show-prefix").strip()
    top = Path(_git(folder, "rev-parse", "--show-toplevel").rstrip("\n"))
    with tempfile.TemporaryDirectory(prefix="stemcache-") as place:
        packed, files = Path(place) / "tree.tar", Path(place) / "tree"
        files.mkdir()
        _git(top, "archive", "--format=tar", f"--output={packed}", commit)
        try:
            with tarfile.open(packed) as tree:
                tree.extractall(files, filter="data")
        except (tarfile.TarError, OSError) as error:
            raise NoHistoryError(f"{commit[:12]} cannot be unpacked: {error}") from None
        packed.unlink()
        then = files / prefix
        if not then.is_dir():
            raise NoHistoryError(f"{prefix} is not in {commit[:12]}")
        yield then


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603  # git, with arguments of ours
            ["git", *arguments],  # noqa: S607  # the user's own
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except FileNotFoundError:
        raise NoHistoryError("git is not installed") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoHistoryError(f"git failed: {error}") from None
    if done.returncode:
        said = done.stderr.strip().splitlines()
        told = said[-1].removeprefix("fatal: ") if said else f"code {done.returncode}"
        raise NoHistoryError(printable(f"git: {told}", most_characters=200))
    return done.stdout
