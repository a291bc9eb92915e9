"""Checkpoints that transformers and our decoder both read."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import transformers

from stemcache.engine.model import Step
from stemcache.engine.torch.model import TorchModel

Ints = npt.NDArray[np.int32]

FAMILIES = {
    "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
    "mistral": (transformers.MistralConfig, transformers.MistralForCausalLM),
    "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM),
    "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM),
}


@dataclass(frozen=True, slots=True)
class Twin:
    """A checkpoint on disk, and what transformers computes from it."""

    path: Path
    oracle: transformers.PreTrainedModel

    def logits(self, tokens: Ints) -> npt.NDArray[np.float32]:
        """Logits behind every token."""
        with torch.inference_mode():
            out = self.oracle(torch.from_numpy(tokens.astype(np.int64))[None]).logits[0]
        return np.asarray(out.float().numpy(), np.float32)

    def load(self, *, pages: int = 64, block_size: int = 16) -> TorchModel:
        """Our model of the same weights, its pool allocated."""
        model = TorchModel.load(self.path, dtype="float32")
        model.allocate(pages, block_size)
        return model


MakeTwin = Callable[..., Twin]


def step(tokens: Ints, start: int, end: int, pages: Ints, *, sample: bool = True) -> Step:
    """Compute positions `start .. end - 1` of `tokens`."""
    return Step(tokens[start:end], start, pages, sample)
