"""`TorchModel`: a model directory or GGUF file, as the engine's `Model`."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, Self

import numpy as np
import torch
import transformers
from transformers import GenerationConfig, PretrainedConfig

from stemcache.engine.model import Logits, ModelInfo, Step
from stemcache.engine.torch.config import DecoderConfig, read_config
from stemcache.engine.torch.decoder import Decoder
from stemcache.engine.torch.files import ModelFiles, digest, locate
from stemcache.engine.torch.gguf import read_gguf
from stemcache.engine.torch.kv import KvPool
from stemcache.engine.torch.linear import native_bfloat16
from stemcache.engine.torch.plan import last_of, plan_batch
from stemcache.engine.torch.rope import Rope
from stemcache.engine.torch.stops import read_generation, stop_tokens
from stemcache.engine.torch.weights import Shards, pack_weights
from stemcache.errors import ModelError

__all__ = ["Precision", "TorchModel"]

Precision = Literal["auto", "float32", "bfloat16"]
"""`auto` is bfloat16 where the processor multiplies it in hardware, else float32."""


class TorchModel:
    """A Llama, Mistral, Qwen2 or Qwen3 model on the CPU. Made by `load`."""

    def __init__(self, info: ModelInfo, config: DecoderConfig, decoder: Decoder) -> None:
        self._info = info
        self._config = config
        self._decoder = decoder
        self._pool: KvPool | None = None

    @classmethod
    def load(cls, path: Path, *, dtype: Precision = "auto", name: str | None = None) -> Self:
        """Read the model at `path`: a directory of safetensors or with a GGUF file, or that file.

        Takes about a second a GB, and half a minute for GGUF: `convert` it once.
        """
        files = locate(path)
        precision = _precision(dtype)
        with ThreadPoolExecutor(1) as beside:
            revision = beside.submit(digest, files)
            config, tensors, generation = _read(files)
            shapes = read_config(config, source=str(path))
            weights = pack_weights(tensors, shapes, precision, source=str(path))
            info = ModelInfo(
                name=name or path.resolve().stem,
                revision=revision.result(),
                kv_dtype=str(precision).removeprefix("torch."),
                vocabulary=shapes.vocabulary,
                context_tokens=shapes.context_tokens,
                kv_bytes_per_token=(
                    2 * shapes.layers * shapes.kv_heads * shapes.head_dim * precision.itemsize
                ),
                stop_tokens=stop_tokens(config, generation, files.directory),
            )
        return cls(info, shapes, Decoder(shapes, weights, Rope(config)))

    @property
    def info(self) -> ModelInfo:
        """What the engine may know."""
        return self._info

    def allocate(self, pages: int, block_size: int) -> None:
        """Make the pool; memory is taken as pages are first written."""
        dtype: torch.dtype = getattr(torch, self._info.kv_dtype)
        with torch.inference_mode():
            self._pool = KvPool(self._config, pages=pages, block_size=block_size, dtype=dtype)

    def forward(self, steps: Sequence[Step]) -> Logits:
        """Compute one batch, as `Model.forward` says."""
        assert self._pool is not None, "allocate comes before forward"
        if not steps:
            return np.empty((0, self._info.vocabulary), np.float32)
        size = self._pool.block_size
        sampled = last_of(steps)
        with torch.inference_mode():
            plan = plan_batch(steps, size)
            # A batch of single sampled tokens is its own last part.
            alone = len(sampled) == len(plan.tokens)
            last = plan if alone else plan_batch(sampled, size) if sampled else None
            logits = self._decoder(plan, last, self._pool)
            if logits is None:
                return np.empty((0, self._info.vocabulary), np.float32)
            return np.asarray(logits.float().numpy(), np.float32)


def _precision(dtype: Precision) -> torch.dtype:
    if dtype == "auto":
        return torch.bfloat16 if native_bfloat16() else torch.float32
    return torch.bfloat16 if dtype == "bfloat16" else torch.float32


def _read(
    files: ModelFiles,
) -> tuple[PretrainedConfig, Mapping[str, torch.Tensor], GenerationConfig | None]:
    if files.gguf:
        model = read_gguf(files.weights[0], torch.float32)
        return model.config, model.tensors, model.generation
    directory = str(files.directory)
    try:
        config = transformers.AutoConfig.from_pretrained(directory, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"cannot read the configuration in {directory}: {error}") from error
    return config, Shards(files.weights), read_generation(files.directory)
