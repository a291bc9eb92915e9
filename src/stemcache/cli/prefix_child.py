"""Builds prefixes with the user's code, in a process of its own: `prefix_build` starts it.

Reads what to build as JSON from standard input, and writes a line of JSON a prefix to the file
that it is told, so that what the user's code prints goes nowhere near it. Every prefix is tried,
whatever became of those before.
"""

import asyncio
import importlib
import json
import os
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeGuard

from stemcache.errors import UsageError
from stemcache.prompt.lock.portions import Portion, portions_of_body, portions_of_text
from stemcache.wire.api import Api

if TYPE_CHECKING:
    from stemcache.prompt.layout import Layout

__all__ = ["main"]

_OURS = f"{Path(__file__).parents[1]}{os.sep}"
_PYTHON = f"{Path(os.__file__).parent}{os.sep}"
_PACKAGES = f"{os.sep}site-packages{os.sep}"
_LONGEST_SAID = 300


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


def _write(answer: TextIO, line: dict[str, Any]) -> None:
    answer.write(json.dumps(line) + "\n")
    answer.flush()


def _built(one: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    try:
        portions = _portions(one, folder)
    except BaseException as error:  # noqa: BLE001  # sys.exit() of a script among them
        return {"error": _told(error, folder)}
    return {"portions": [asdict(portion) for portion in portions]}


def _portions(one: Mapping[str, Any], folder: Path) -> tuple[Portion, ...]:
    api = None if one["api"] is None else Api(one["api"])
    if one["path"] is not None:
        text = (folder / one["path"]).read_bytes().decode("utf-8")
        if api is None:
            return portions_of_text(text)
        return _taken(json.loads(text), api, one["path"])
    module, _, attribute = one["object"].partition(":")
    value: Any = importlib.import_module(module)
    for name in attribute.split("."):
        value = getattr(value, name)
    if callable(value):
        value = value()
        if asyncio.iscoroutine(value):
            value = asyncio.run(value)
    return _taken(value, api, one["object"])


def _taken(value: object, api: Api | None, name: str) -> tuple[Portion, ...]:
    if _is_layout(value):
        from stemcache.prompt.lock.layout import portions_of_layout  # noqa: PLC0415  # if needed

        return portions_of_layout(value)
    if isinstance(value, str):
        return portions_of_text(value)
    if isinstance(value, Mapping):
        if api is None:
            raise UsageError(
                f"{name} is a dictionary, and nothing says for which API; add "
                f'api = "messages" to the prefix ({", ".join(Api)})'
            )
        return portions_of_body(value, api)
    raise UsageError(
        f"{name} is of type {type(value).__name__}; name a Layout, a request body (a "
        "dictionary), a text, or a function without arguments that returns one of them"
    )


def _is_layout(value: object) -> TypeGuard["Layout"]:
    """Without loading what makes layouts where nobody has made one."""
    module = sys.modules.get("stemcache.prompt.layout")
    return module is not None and isinstance(value, module.Layout)


def _told(error: BaseException, folder: Path) -> dict[str, Any]:
    """The last line of the traceback, and the user's place that it came from."""
    said = str(error) if isinstance(error, UsageError) else ""
    said = said or traceback.format_exception_only(error)[-1].strip()
    file, line = _place(error, folder)
    if file is not None:
        with suppress(ValueError):  # elsewhere: a library's
            file = str(Path(file).resolve().relative_to(folder.resolve()))
    return {"said": said[:_LONGEST_SAID], "file": file, "line": line}


def _place(error: BaseException, folder: Path) -> tuple[str | None, int | None]:
    """The last place in the project; else in what it uses, but for Python itself and ourselves."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        return error.filename, error.lineno
    own = f"{folder.resolve()}{os.sep}"
    frames = [
        frame
        for frame in reversed(traceback.extract_tb(error.__traceback__))
        if not frame.filename.startswith((_OURS, "<"))
        and (_PACKAGES in frame.filename or not frame.filename.startswith(_PYTHON))
    ]
    for frame in frames:
        if str(Path(frame.filename).resolve()).startswith(own) and _PACKAGES not in frame.filename:
            return frame.filename, frame.lineno
    return (frames[0].filename, frames[0].lineno) if frames else (None, None)


if __name__ == "__main__":
    main()
