"""Where the served model comes from, as values that can be handed to another process."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from stemcache.engine.model import Model
from stemcache.errors import ModelError
from stemcache.text.chat_template import ChatTemplate, PlainTemplate, load_template
from stemcache.text.file_tokenizer import FileTokenizer
from stemcache.text.tokenizer import ByteTokenizer, Tokenizer

__all__ = ["DirectorySource", "Dtype", "Source", "TextSide", "ToySource"]

Dtype = Literal["auto", "bfloat16", "float32"]
"""Precision of weights and KV; auto is bfloat16 where the processor multiplies it in hardware."""


@dataclass(frozen=True, slots=True)
class TextSide:
    """What the server needs of a model; the engine's process has the rest."""

    tokenizer: Tokenizer
    template: ChatTemplate


@dataclass(frozen=True, slots=True, kw_only=True)
class ToySource:
    """The deterministic model without weights: bytes in, bytes out."""

    name: str = "toy"
    context_tokens: int = 4096

    def load_model(self) -> Model:
        """Takes no time."""
        from stemcache.engine.toy import ToyModel  # noqa: PLC0415  # as its sibling does

        # 256 bytes and the end of the answer.
        return ToyModel(
            vocabulary=257,
            context_tokens=self.context_tokens,
            stop_tokens=frozenset({256}),
            name=self.name,
        )

    def load_text(self, *, now: Callable[[], datetime]) -> TextSide:
        """Takes no time."""
        del now
        return TextSide(ByteTokenizer(), PlainTemplate())


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectorySource:
    """A directory with weights, configuration, tokenizer and chat template."""

    path: Path
    name: str
    dtype: Dtype
    threads: int | None = None

    def load_model(self) -> Model:
        """Read the weights; seconds. Only ever called in the engine's process: imports torch."""
        os.environ["HF_HUB_OFFLINE"] = "1"  # the directory is all there is
        # By default torch's threads wait by spinning. Where something else wants the processor, if
        # only the server itself, each step then waits for a thread that spins: 32 tokens on two
        # busy cores took 31 s spinning, 3 s sleeping. Set before torch is imported, or not at all.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        if self.threads is not None:
            os.environ["OMP_NUM_THREADS"] = str(self.threads)  # torch looks once, at import
        try:
            from stemcache.engine.torch.model import TorchModel  # noqa: PLC0415  # takes seconds
        except ModuleNotFoundError as error:
            raise ModelError(
                f"the model at {self.path} needs the package {error.name}, which is not "
                "installed; run: pip install 'stemcache[engine]'"
            ) from None
        return TorchModel.load(self.path, name=self.name, dtype=self.dtype)

    def load_text(self, *, now: Callable[[], datetime]) -> TextSide:
        """Read tokenizer and template; well under a second."""
        return TextSide(FileTokenizer(self.path), load_template(self.path, now=now))


Source = ToySource | DirectorySource
