"""Turning a GGUF file into a directory of safetensors, once, so that later loads take no time."""

import shutil
import tempfile
from pathlib import Path

import torch
from safetensors.torch import save_file

from stemcache.engine.torch.gguf import find_gguf, read_gguf, read_gguf_tokenizer
from stemcache.errors import ModelError

__all__ = ["convert"]


def convert(source: Path, target: Path, *, dtype: torch.dtype = torch.float32) -> None:
    """Write `source` (a GGUF file, or a directory with one) as safetensors into `target`.

    `target` also gets the configuration, the tokenizer and its chat template; it must not exist,
    and appears only when complete. float32 keeps every bit of the dequantised weights.
    """
    file = find_gguf(source)
    if file is None:
        raise ModelError(f"no GGUF file at {source}; give a .gguf file or a directory with one")
    if target.exists():
        raise ModelError(f"{target} exists already; give a directory to be made")
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        model = read_gguf(file, dtype)
        save_file(model.tensors, partial / "model.safetensors", metadata={"format": "pt"})
        model.config.save_pretrained(partial)
        if model.generation is not None:
            model.generation.save_pretrained(partial)
        read_gguf_tokenizer(file).save_pretrained(partial)
        partial.chmod(0o755)
        partial.rename(target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
