"""Another machine: its name and system, how many processors it has, which Python runs on it.

```
level 0    as it is
level 1 …  another host, kernel 6.1, 6.2 …, that many processors more, a Python so many fixes later
```
Python's major and minor version stay: code that is imported in the changed world branches by them.
"""

import os
import platform
import re
import socket
import sys
from typing import NamedTuple

from stemcache.integrations.stability_patch import Patches

__all__ = ["change_machine"]

_FIX = re.compile(r"(\d+\.\d+\.)(\d+)")


class _Version(NamedTuple):
    """As `sys.version_info`, whose own type makes no second one."""

    major: int
    minor: int
    micro: int
    releaselevel: str
    serial: int


def change_machine(patches: Patches, level: int, host: str) -> None:
    """What `os`, `sys`, `platform`, `socket` and `multiprocessing` say of it, from level 1 on."""
    patches.function(socket, "gethostname", lambda: host)
    if hasattr(os, "uname"):
        system, _, _, version, machine = os.uname()
        told = os.uname_result((system, host, f"6.{level}.0-other", version, machine))
        patches.function(os, "uname", lambda: told)
    patches.attribute(platform, "_uname_cache", None)
    patches.attribute(platform, "_platform_cache", {})
    _change_processors(patches, level)
    _change_python(patches, level)


def _change_processors(patches: Patches, level: int) -> None:
    """`multiprocessing.cpu_count` and `os.process_cpu_count` ask these."""
    count = (os.cpu_count() or 1) + level
    patches.function(os, "cpu_count", lambda: count)
    if hasattr(os, "sched_getaffinity"):
        allowed = os.sched_getaffinity

        def more(process: int, /) -> set[int]:
            return allowed(process) | set(range(1_000, 1_000 + level))

        patches.function(os, "sched_getaffinity", more)


def _change_python(patches: Patches, level: int) -> None:
    """`platform.python_version` and its like read `sys.version`."""
    text = _FIX.sub(lambda found: f"{found[1]}{int(found[2]) + level}", sys.version, count=1)
    info = _Version(*sys.version_info)
    patches.attribute(sys, "version", text)
    patches.attribute(sys, "version_info", info._replace(micro=info.micro + level))
