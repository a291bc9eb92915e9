"""Malformed logs through `stemcache lint`, `explain` and `rule` until the time is up.

    python -m benchmarks.fuzz.lint SEEDS --minutes 60

SEEDS is a directory of logs of all formats; `scripts/fuzz-lint` collects those that the tests
write. Every run must end with an exit code of 0, 1 or 2 and without a traceback, within a time that
is in proportion to the log. What breaks that is kept in the current directory and printed, and the
exit code is 1.
"""

import argparse
import contextlib
import hashlib
import io
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from types import FrameType

import click

from benchmarks.fuzz.mutate import mutated
from stemcache.cli.main import stemcache
from stemcache.errors import StemcacheError

_LIMIT_S = 60
_MOST_GROWTH_MIB = 300
"""By one log of a quarter MiB; the first ones load modules, too."""
_FORMATS = ("full", "concise", "json", "github", "sarif")


class _HangError(BaseException):
    pass


def _alarm(signum: int, frame: FrameType | None) -> None:
    del signum, frame
    raise _HangError


def run(arguments: list[str]) -> str:
    """Run one command in this process, and say how it ended."""
    signal.alarm(_LIMIT_S)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = stemcache.main(arguments, prog_name="stemcache", standalone_mode=False)
    except (StemcacheError, click.ClickException):
        return "refused"
    except SystemExit as ending:
        return f"exit {ending.code}" if ending.code in {0, 1, 2, None} else "odd exit code"
    except _HangError:
        return "hang"
    except BaseException:  # noqa: BLE001  # whatever it is, it is what is looked for
        return "traceback\n" + traceback.format_exc()
    finally:
        signal.alarm(0)
    return f"exit {code or 0}"


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Fuzz, report, and say by the exit code whether anything broke."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("seeds", type=Path)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    seeds = [
        path.read_bytes()
        for path in sorted(asked.seeds.rglob("*"))
        if path.is_file() and 0 < path.stat().st_size < 2**18
    ]
    if not seeds:
        print(f"no seeds in {asked.seeds}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGALRM, _alarm)
    chance = random.Random(asked.seed)
    ends: Counter[str] = Counter()
    broken = 0
    peak_mib = float(_MOST_GROWTH_MIB)
    until = time.monotonic() + 60 * asked.minutes
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        while time.monotonic() < until:
            data = mutated(chance.choice(seeds), chance)
            log.write_bytes(data)
            arguments = ["lint", str(log), "--isolated", "--output-format"]
            arguments.append(chance.choice(_FORMATS))
            if chance.random() < 0.3:
                arguments.append("--show-text")
            if chance.random() < 0.1:
                arguments = ["explain", f"{log}:2"]
            ended = run(arguments)
            grown_mib = _peak_mib() - peak_mib
            if grown_mib > _MOST_GROWTH_MIB:
                ended = f"grew by {grown_mib:.0f} MiB"
            peak_mib = _peak_mib()
            ends[ended.split("\n")[0]] += 1
            if not ended.startswith(("exit", "refused")):
                broken += 1
                kept = Path(f"broken-{hashlib.sha256(data).hexdigest()[:12]}.log")
                kept.write_bytes(data)
                print(f"{kept} {' '.join(arguments[:1] + arguments[2:])}: {ended}", flush=True)
                if broken >= 50:
                    break
    total = sum(ends.values())
    print(f"{total:,} logs from {len(seeds)} seeds, {broken} broken, peak {peak_mib:.0f} MiB")
    for ended, times in ends.most_common():
        print(f"  {ended:12} {times:,}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
