"""What a prefix is: read from a file, or made by the user's code, which is imported and called."""

import asyncio
import importlib
import inspect
import json
import os
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from stemcache.errors import UsageError
from stemcache.prompt.layout import Layout
from stemcache.prompt.lock.layout import portions_of_layout
from stemcache.prompt.lock.portions import Portion, portions_of_body, portions_of_text
from stemcache.prompt.sendable import check_text, check_values
from stemcache.wire.api import Api

__all__ = ["failure", "portions_of_file", "portions_of_object"]

_OURS = f"{Path(__file__).parents[1]}{os.sep}"
_PYTHON = f"{Path(os.__file__).parent}{os.sep}"
_PACKAGES = f"{os.sep}site-packages{os.sep}"
_LONGEST_SAID = 300


def portions_of_file(name: str, api: Api | None, folder: Path) -> tuple[Portion, ...]:
    """Of a text, or with an API of its body as JSON. Raises what reading and parsing raise."""
    path = folder / name
    if path.exists() and not path.is_file():
        raise UsageError(f"{name} is no file; name one that holds a text, or with `api` JSON")
    text = path.read_bytes().decode("utf-8")
    return portions_of_text(text) if api is None else _taken(json.loads(text), api, name)


def portions_of_object(name: str, api: Api | None) -> tuple[Portion, ...]:
    """Of what stands at `module:attribute`, or is returned there. Raises whatever that raises."""
    module, _, attribute = name.partition(":")
    value: Any = importlib.import_module(module)
    for step in attribute.split("."):
        value = getattr(value, step)
    if callable(value):
        value = value()
        if inspect.iscoroutine(value):
            value = asyncio.run(value)
        elif inspect.isgenerator(value) or inspect.isasyncgen(value):
            raise UsageError(
                f"{name} is a generator, which gives a text piece by piece; let it return the "
                'whole: return "".join(...)'
            )
    return _taken(value, api, name)


def _taken(value: object, api: Api | None, name: str) -> tuple[Portion, ...]:
    if isinstance(value, Layout):
        return portions_of_layout(value)
    if isinstance(value, str):
        check_text(value, name)
        return portions_of_text(value)
    if isinstance(value, Mapping):
        if api is None:
            raise UsageError(
                f"{name} is a dictionary, and nothing says for which API; add "
                f'api = "messages" to the prefix ({", ".join(Api)})'
            )
        check_values(value, name)
        return portions_of_body(value, api)
    raise UsageError(
        f"{name} is of type {type(value).__name__}; name a Layout, a request body (a "
        "dictionary), a text, or a function without arguments that returns one of them"
    )


def failure(error: BaseException, folder: Path) -> dict[str, Any]:
    """The last line of the traceback, and the user's place that it came from, for JSON."""
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
