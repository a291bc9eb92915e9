"""A recorder inside the program that makes the calls: its talk is logged, its end is the program's.

Log messages go to the logger `stemcache.record`, as warnings.
"""

import atexit
import logging
from pathlib import Path

from stemcache.record.record import Keep
from stemcache.record.recorder import Recorder

__all__ = ["obtain"]


def obtain(output: Path | str | Recorder, keep: Keep | None) -> Recorder:
    """The recorder given, or one of its own for a file, flushed when the program ends.

    Raises UsageError where the file cannot be written; no call has been made then.
    """
    if isinstance(output, Recorder):
        return output
    recorder = Recorder(output, keep=keep, tell=logging.getLogger("stemcache.record").warning)
    atexit.register(recorder.close)
    return recorder
