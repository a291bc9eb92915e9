"""Prefixes built by the user's code, twice, under two hash seeds, in processes with a time limit.

```
objects ─► prefix_child, PYTHONHASHSEED=1 ─► portions ─┐ equal: built
       └─► prefix_child, PYTHONHASHSEED=2 ─► portions ─┘ else:  named as unstable
files   ─► portions
```
A builder that orders a set, or writes an id or a clock, is found here and not by its provider.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import IO, Any

from stemcache.cli.prefix_portions import failure, portions_of_file
from stemcache.cli.prefix_settings import PrefixSpec
from stemcache.cli.printable import printable
from stemcache.errors import UsageError
from stemcache.prompt.lock.portions import Portion
from stemcache.trace.spans.span import SpanKind
from stemcache.wire.section import Section

__all__ = ["SEEDS", "Built", "build"]

SEEDS = ("1", "2")
"""Under which strings of a set come in different orders."""
_TAIL_BYTES = 4_096
_MOST_ANSWER_BYTES = 2**28
_LONGEST_SAID = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What builders gave."""

    portions: Mapping[str, tuple[Portion, ...]]
    """By name of prefix: the first run's."""
    unstable: Mapping[str, tuple[Portion, ...]] = field(default_factory=dict)
    """The second run's, of those that differ from it."""


def build(
    prefixes: Sequence[PrefixSpec], *, folder: Path, sources: Sequence[str], timeout_s: float
) -> Built:
    """Build all, in the folder that their paths are relative to. Raises UsageError.

    The error names the first builder that failed, the last line of its traceback, file and line.
    """
    files: dict[str, tuple[Portion, ...]] = {}
    failed: list[str] = []
    for one in prefixes:
        if one.path is not None:
            try:
                files[one.name] = portions_of_file(one.path, one.api, folder)
            except Exception as error:  # noqa: BLE001  # a file may hold anything
                failed.append(_failed(one, failure(error, folder)))
    objects = [one for one in prefixes if one.path is None]
    runs: list[dict[str, tuple[Portion, ...]]] = []
    for seed in SEEDS:
        if objects:
            lines, ended = _run(
                objects, folder=folder, sources=sources, timeout_s=timeout_s, seed=seed
            )
            made, more = _read(lines, objects, ended, timeout_s)
            failed += more
            runs.append(made)
        if failed:
            also = f" ({len(failed) - 1} more failed too)" if len(failed) > 1 else ""
            raise UsageError(failed[0] + also)
    first, second = runs or ({}, {})
    return Built(
        portions=files | first,
        unstable={name: made for name, made in second.items() if made != first[name]},
    )


def _run(
    prefixes: Sequence[PrefixSpec],
    *,
    folder: Path,
    sources: Sequence[str],
    timeout_s: float,
    seed: str,
) -> "tuple[list[dict[str, Any]], _Ended]":
    """What the process wrote, a line a mapping, and how it ended."""
    with tempfile.TemporaryDirectory(prefix="stemcache-") as place:
        answer = Path(place) / "answer.jsonl"
        asked = {
            "answer": str(answer),
            "folder": str(folder),
            "sources": [str((folder / one).resolve()) for one in sources],
            "prefixes": [
                {"name": one.name, "object": one.object, "api": one.api} for one in prefixes
            ],
        }
        ended = _asked(json.dumps(asked).encode(), folder, timeout_s, seed)
        return _lines(answer), ended


@dataclass(frozen=True, slots=True)
class _Ended:
    """How the process ended."""

    code: int | None
    """None: it was stopped at the time limit."""
    last_line: str


def _asked(asked: bytes, folder: Path, timeout_s: float, seed: str) -> _Ended:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"}
    with _started(folder, environment) as process:
        tail = bytearray()
        assert process.stderr is not None and process.stdin is not None, "both are pipes"
        reader = Thread(target=_keep_tail, args=(process.stderr, tail), daemon=True)
        reader.start()
        with suppress(BrokenPipeError):
            process.stdin.write(asked)
            process.stdin.close()
        try:
            code: int | None = process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            code = None
        _stop(process)
        reader.join(timeout=1)
    said = tail.decode("utf-8", "replace").strip().splitlines()
    return _Ended(code, said[-1] if said else "")


@contextmanager
def _started(folder: Path, environment: Mapping[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        [sys.executable, "-m", "stemcache.cli.prefix_child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=dict(environment),
        start_new_session=True,  # so that what builders start can be stopped with them
    )
    try:
        yield process
    finally:
        _stop(process)
        for pipe in (process.stdin, process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """End the process and all that it started."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def _keep_tail(pipe: IO[bytes], tail: bytearray) -> None:
    """The end of what is printed, however much that is."""
    with suppress(OSError, ValueError):
        while data := pipe.read1(_TAIL_BYTES):  # type: ignore[attr-defined]  # it is buffered
            tail += data
            del tail[:-_TAIL_BYTES]


def _lines(answer: Path) -> list[dict[str, Any]]:
    try:
        if answer.stat().st_size > _MOST_ANSWER_BYTES:
            raise UsageError(
                f"prefixes of more than {_MOST_ANSWER_BYTES // 2**20} MiB were built; name fewer"
            )
        text = answer.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    whole = text[: text.rfind("\n") + 1]  # the last line of a process that was stopped may be cut
    return [json.loads(line) for line in whole.splitlines()]


def _read(
    lines: Sequence[Mapping[str, Any]],
    prefixes: Sequence[PrefixSpec],
    ended: _Ended,
    timeout_s: float,
) -> tuple[dict[str, tuple[Portion, ...]], list[str]]:
    """Portions by name, and a message for each that has none."""
    by_name = {one.name: one for one in prefixes}
    found: dict[str, tuple[Portion, ...]] = {}
    failed: list[str] = []
    at = prefixes[0]
    for line in lines:
        if "began" in line:
            at = by_name[line["began"]]
        elif "error" in line:
            failed.append(_failed(by_name[line["name"]], line["error"]))
        elif "portions" in line:
            found[line["name"]] = tuple(_portion(one) for one in line["portions"])
    if not any("done" in line for line in lines):
        failed.append(_broken(at, ended, timeout_s))
    return found, failed


def _failed(spec: PrefixSpec, error: Mapping[str, Any]) -> str:
    place = "" if error["file"] is None else f" at {error['file']}:{error['line']}"
    said = printable(f"{error['said']}{place}", most_characters=_LONGEST_SAID)
    return f"prefix {spec.name!r} from {spec.where} cannot be built: {said}"


def _broken(spec: PrefixSpec, ended: _Ended, timeout_s: float) -> str:
    said = printable(ended.last_line, most_characters=_LONGEST_SAID)
    last = f"; it last said: {said}" if said else ""
    if ended.code is None:
        return (
            f"prefix {spec.name!r} from {spec.where} was not built within {timeout_s:g} s; make "
            f"its builder faster, or raise lock.timeout{last}"
        )
    return (
        f"prefix {spec.name!r} from {spec.where} ended the process that builds it, with code "
        f"{ended.code}; a builder has to return{last}"
    )


def _portion(fields: Mapping[str, Any]) -> Portion:
    return Portion(
        **{**fields, "section": Section(fields["section"]), "kind": SpanKind(fields["kind"])}
    )
