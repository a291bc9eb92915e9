"""A local replica's process: the command line, ended when the gateway that started it is gone.

The gateway holds the other end of its standard input. That closes with the gateway, however it
ends, and then this process gets the SIGTERM that it would have sent.
"""

import os
import runpy
import signal
import sys
import threading

__all__ = ["main"]


def main() -> None:
    """Run `stemcache` with this process's arguments."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    runpy.run_module("stemcache", run_name="__main__", alter_sys=True)


def _end_with_parent() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
