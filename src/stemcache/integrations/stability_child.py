"""The process of its own that a builder is called in: `stability_process` starts it.

Reads a pickle of what to do from standard input and writes JSON to the file that it names, so that
what the builder prints goes nowhere near it. The builder's modules are imported in the changed
world, so that what they make at import is seen too.
"""

import importlib
import importlib.util
import os
import pickle
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stemcache.errors import UsageError
from stemcache.integrations.stability_run import Raised, placed, run

__all__ = ["main"]


def main() -> None:
    """Do what standard input says."""
    asked = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - our own parent's
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115 - for builders that ask
    os.dup2(2, 1)
    sys.path[:] = asked["path"]
    sys.argv[:] = asked["argv"]
    kind, text = _told(asked)
    Path(asked["answer"]).write_text(f"{kind}\n{text}", encoding="utf-8", errors="surrogatepass")
    os._exit(0)  # threads that the builder left behind are no reason to wait


def _told(asked: Mapping[str, Any]) -> tuple[str, str]:
    world, scratch = asked["world"], Path(asked["scratch"])
    with placed(world, scratch):
        try:
            for name, file in asked["modules"]:
                _import(name, file)
            builder = pickle.loads(asked["builder"])  # noqa: S301 - as above
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a module of the user's may raise any
            failed = Raised.of(error)
            return "unable", f"{failed.said}\n{failed.trace}"
    try:
        outcome = run(builder, world, scratch)
    except UsageError as error:
        return "unable", f"{error}\n"
    if isinstance(outcome, Raised):
        return "raised", f"{outcome.said}\n{outcome.trace}"
    return "seen", outcome.to_json()


def _import(name: str, file: str | None) -> None:
    """A module by its name; by its path where that leads to another file, or nowhere."""
    if file is not None and not _leads_to(name, file):
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise ImportError(f"{file} is no module of Python's")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return
    importlib.import_module(name)


def _leads_to(name: str, file: str) -> bool:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return False
    return spec is not None and spec.origin is not None and Path(spec.origin).samefile(file)
