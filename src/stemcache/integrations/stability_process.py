"""A builder called in a process of its own: another hash seed, other start, nothing from before.

```
builder, arguments ── pickle ──►  python, PYTHONHASHSEED=2, …  ──► imports, calls ──► passages
     │ no other process can import it (a lambda, a fixture, a client with a socket)
     └──► UnableError, with the reason
```
Functions travel by the names of their module and themselves. A test's file is imported by its path.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

from stemcache.integrations.stability_find import OutOfTime
from stemcache.integrations.stability_prompt import Seen
from stemcache.integrations.stability_run import Builder, Outcome, Raised
from stemcache.integrations.stability_world import Perturbation, World

__all__ = ["Parcel", "UnableError", "parcel", "run_apart"]

_SEED = 1
"""At level 0."""
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from stemcache.integrations.stability_child import main; main()"  # noqa: E501 - one argument
_ROOT = str(Path(__file__).parents[2])
_MOST_BYTES = 2**28
_TAIL_BYTES = 2_000


class UnableError(Exception):
    """A builder cannot be called in another process. Its text says why."""


class Parcel:
    """A builder on its way to other processes."""

    def __init__(self, data: bytes, modules: tuple[tuple[str, str | None], ...]) -> None:
        self.data = data
        self.modules = modules
        """Each with its file, to be imported before."""


def parcel(builder: Builder) -> Parcel:
    """Pack a builder and its arguments. Raises UnableError where they cannot travel."""
    function = builder.function
    while isinstance(function, partial):
        function = function.func
    name = getattr(function, "__qualname__", "")
    if "<lambda>" in name or "<locals>" in name:
        what = "a lambda" if name.endswith("<lambda>") else f"{name!r}, made inside a function"
        raise UnableError(
            f"the builder is {what}, which no other process can import; define it at the top "
            "of a module"
        )
    modules = tuple(dict.fromkeys(_modules(builder)))
    if any(module == "__main__" for module, _ in modules):
        raise UnableError(
            "the builder is of __main__, which no other process can import; move it to a module"
        )
    try:
        data = pickle.dumps(builder)
    except Exception as error:  # noqa: BLE001 - __reduce__ of anything
        raise UnableError(
            f"the builder or an argument of it cannot be sent to another process ({error}); give "
            "it values, and a function at the top of a module"
        ) from None
    return Parcel(data, modules)


def _modules(builder: Builder) -> Iterator[tuple[str, str | None]]:
    function: Any = builder.function
    while isinstance(function, partial):
        function = function.func
    owner = getattr(function, "__self__", function)
    for one in (function, owner, type(owner), *map(type, builder.args)):
        name = getattr(one, "__module__", None)
        module = sys.modules.get(name) if isinstance(name, str) else None
        if module is not None and name not in sys.stdlib_module_names:
            yield module.__name__, getattr(module, "__file__", None)


def run_apart(sent: Parcel, world: World, scratch: Path, *, left_s: float) -> Outcome:
    """Call it there. Raises UnableError where it could not be called, OutOfTime where it was slow.

    The process is ended after `left_s`.
    """
    if left_s <= 0:
        raise OutOfTime
    answer = scratch / "answer"
    answer.unlink(missing_ok=True)
    asked = {
        "answer": str(answer),
        "argv": sys.argv,
        "builder": sent.data,
        "modules": sent.modules,
        "path": [str(Path(one).resolve()) for one in sys.path],
        "scratch": str(scratch),
        "world": world,
    }
    with (scratch / "said").open("w+b") as said:
        code = _finished(pickle.dumps(asked), said, _environment(world), left_s)
        said.seek(max(0, said.seek(0, os.SEEK_END) - _TAIL_BYTES))
        tail = said.read(_TAIL_BYTES).decode("utf-8", "replace")
    return _read(answer, code, tail.strip())


def _finished(asked: bytes, said: IO[bytes], environment: Mapping[str, str], left_s: float) -> int:
    """How the process ended. It and all that it started are ended after the time."""
    with subprocess.Popen(  # noqa: S603 - this interpreter
        [sys.executable, "-c", _START, _ROOT],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=said,
        env=dict(environment),
        start_new_session=True,
    ) as process:
        try:
            process.communicate(asked, timeout=left_s)
        except subprocess.TimeoutExpired:
            raise OutOfTime from None
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode


def _environment(world: World) -> dict[str, str]:
    environment = dict(os.environ)
    environment["PYTHONHASHSEED"] = str(_SEED + world.level(Perturbation.HASH))
    if world.level(Perturbation.ENCODING):
        environment |= {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
        environment["PYTHONIOENCODING"] = "utf-8"  # what is printed is no part of a prompt
    return environment


def _read(answer: Path, code: int, tail: str) -> Outcome:
    if not answer.exists() or answer.stat().st_size > _MOST_BYTES:
        last = tail.splitlines()[-1] if tail else "nothing"
        raise UnableError(
            f"the builder ended the process that called it, with code {code}; it last said: {last}"
        )
    text = answer.read_text(encoding="utf-8", errors="surrogatepass")
    kind, _, rest = text.partition("\n")
    if kind == "seen":
        return Seen.from_json(rest)
    said, _, trace = rest.partition("\n")
    if kind == "unable":
        raise UnableError(f"its module cannot be imported there ({said})")
    return Raised(said, trace)
