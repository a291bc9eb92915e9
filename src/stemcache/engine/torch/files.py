"""Where a model's weights lie on disk, and the digest that names their revision."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stemcache.engine.torch.gguf import find_gguf
from stemcache.errors import ModelError, worded

__all__ = ["ModelFiles", "digest", "locate"]

_INDEX = "model.safetensors.index.json"
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """One model on disk."""

    directory: Path
    """Holds the configuration, and the tokenizer."""
    weights: tuple[Path, ...]
    """The safetensors shards, or the one GGUF file."""
    gguf: bool


def locate(path: Path) -> ModelFiles:
    """Find the weights at `path`: a directory with safetensors or one GGUF file, or that file."""
    if not path.exists():
        raise ModelError(f"no model at {path}; give a directory of safetensors or a .gguf file")
    if path.is_dir():
        shards = _shards(path)
        if shards:
            return ModelFiles(path, shards, gguf=False)
    file = find_gguf(path)
    if file is not None:
        return ModelFiles(file.parent, (file,), gguf=True)
    if path.is_dir() and any(path.glob("*.bin")):
        raise ModelError(
            f"{path} holds only .bin weights, which can run code when read; "
            "convert them with save_pretrained, which writes safetensors"
        )
    raise ModelError(f"no weights at {path}; give a directory of safetensors or a .gguf file")


def digest(files: ModelFiles) -> str:
    """Hash everything that decides what the weights compute: their files and the configuration.

    Reads every byte, since equal digests let KV be shared. hashlib lets other threads run.
    """
    total = hashlib.sha256()
    config = files.directory / "config.json"
    for file in (*files.weights, *([] if files.gguf else [config])):
        total.update(_digest_of(file))
    return total.hexdigest()


def _digest_of(file: Path) -> bytes:
    state = hashlib.sha256()
    buffer = memoryview(bytearray(_READ_BYTES))
    with file.open("rb", buffering=0) as stream:
        while count := stream.readinto(buffer):
            state.update(buffer[:count])
    return state.digest()


def _shards(directory: Path) -> tuple[Path, ...]:
    index = directory / _INDEX
    if not index.exists():
        single = directory / "model.safetensors"
        return (single,) if single.exists() else tuple(sorted(directory.glob("*.safetensors")))
    try:
        names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        shards = tuple(directory / name for name in sorted(names))
    except (ValueError, KeyError, TypeError, AttributeError) as error:  # no JSON, or another's
        raise ModelError(f"cannot read {index}: {worded(error)}; download it again") from error
    _require(shards, index)
    return shards


def _require(shards: Sequence[Path], index: Path) -> None:
    for shard in shards:
        if not shard.exists():
            raise ModelError(f"{index} names {shard.name}, which is missing; download it again")
