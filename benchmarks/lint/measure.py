"""One command in a process of its own: seconds, CPU seconds and the most memory it had."""

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Measured", "measure"]


@dataclass(frozen=True, slots=True)
class Measured:
    """How one run went."""

    wall_s: float
    cpu_s: float
    """Of the process and of those that it started and waited for."""
    peak_mb: float
    """Most resident memory, in MB."""
    code: int
    """Exit code, or the number of the signal, negative."""
    stopped: bool
    """Whether it ran into the limit."""
    error: str
    """End of what it wrote to stderr."""


def measure(
    command: Sequence[str | Path],
    *,
    limit_s: float,
    output: Path,
    environment: Mapping[str, str] | None = None,
) -> Measured:
    """Run the command with its answer in `output`, and kill it at the limit."""
    started = time.perf_counter()
    errors = output.with_suffix(".stderr")
    with output.open("wb") as stdout, errors.open("wb") as stderr:
        process = subprocess.Popen(
            [str(part) for part in command],
            stdout=stdout,
            stderr=stderr,
            env={**os.environ, **(environment or {})},
        )
        stopped = threading.Event()

        def stop() -> None:
            stopped.set()
            process.kill()

        timer = threading.Timer(limit_s, stop)
        timer.start()
        # wait4 gives the figures of this one child; getrusage would give the most of all so far.
        _, status, used = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - started
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return Measured(
        wall_s=wall_s,
        cpu_s=used.ru_utime + used.ru_stime,
        peak_mb=used.ru_maxrss * 1024 / 1e6,
        code=process.returncode,
        stopped=stopped.is_set(),
        error=errors.read_text(encoding="utf-8", errors="replace")[-400:],
    )
