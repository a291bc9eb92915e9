"""Builds prefixes with the user's code, in a process of its own: `prefix_build` starts it.

Reads what to build as JSON from standard input, and writes a line of JSON a prefix to the file
that it is told, so that what the user's code prints goes nowhere near it. Every prefix is tried,
whatever became of those before.
"""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from stemcache.cli.prefix_portions import failure, portions_of_object
from stemcache.wire.api import Api

__all__ = ["main"]


def main() -> None:
    """Build what standard input names."""
    asked = json.loads(sys.stdin.buffer.read())
    os.dup2(2, 1)  # what builders print is talk
    sys.path[:0] = asked["sources"]
    with Path(asked["answer"]).open("a", encoding="utf-8") as answer:
        for one in asked["prefixes"]:
            _write(answer, {"began": one["name"]})
            _write(answer, {"name": one["name"], **_built(one, Path(asked["folder"]))})
        _write(answer, {"done": True})
    # Threads and handlers that a builder left behind are no reason to wait, or to fail.
    os._exit(0)


def _built(one: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    try:
        portions = portions_of_object(one["object"], one["api"] and Api(one["api"]))
    except BaseException as error:  # noqa: BLE001  # sys.exit() of a script among them
        return {"error": failure(error, folder)}
    return {"portions": [asdict(portion) for portion in portions]}


def _write(answer: TextIO, line: dict[str, Any]) -> None:
    answer.write(json.dumps(line) + "\n")
    answer.flush()


if __name__ == "__main__":
    main()
