"""Reading GGUF files, through transformers: dequantised weights, configuration and tokenizer.

Half a minute even for a small model, most of it transformers' set-up; `convert` does it once.
"""

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

import torch
import transformers
from tokenizers import pre_tokenizers

from stemcache.errors import ModelError

__all__ = ["GgufModel", "find_gguf", "read_gguf", "read_gguf_tokenizer"]

_DIGITS_APART = frozenset({"smollm"})
"""Pre-tokenizers (as `tokenizer.ggml.pre` names them) that split digits before GPT-2's pattern;
transformers knows only the latter, and differs in "  2"."""


class GgufModel:
    """A GGUF file's weights under the names that transformers gives them."""

    def __init__(
        self,
        config: transformers.PretrainedConfig,
        tensors: dict[str, torch.Tensor],
        generation: transformers.GenerationConfig | None,
    ) -> None:
        self.config = config
        self.tensors = tensors
        self.generation = generation


def find_gguf(path: Path) -> Path | None:
    """Return the file at `path`, or the only one in that directory; None where there is none."""
    if path.is_file():
        return path if path.suffix == ".gguf" else None
    found = sorted(path.glob("*.gguf"))
    if len(found) > 1:
        names = ", ".join(file.name for file in found)
        raise ModelError(f"{len(found)} GGUF files in {path}; name one of them ({names})")
    return found[0] if found else None


def read_gguf(file: Path, dtype: torch.dtype) -> GgufModel:
    """Dequantise every tensor of `file` to `dtype`, in memory."""
    with _quiet():
        try:
            model = transformers.AutoModelForCausalLM.from_pretrained(
                str(file.parent), gguf_file=file.name, dtype=dtype, local_files_only=True
            )
        except (OSError, ValueError, ImportError, NotImplementedError) as error:
            raise ModelError(
                f"cannot read the GGUF file {file}: {error}; "
                "give a directory of safetensors instead"
            ) from error
    tensors = dict(model.state_dict())
    config = model.config
    if getattr(config, "tie_word_embeddings", False):
        tensors.pop("lm_head.weight", None)
    # The weights are plain now; what is left of the quantisation would be applied again on loading.
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    config.dtype = dtype
    config.architectures = [type(model).__name__]
    return GgufModel(config, tensors, model.generation_config)


def read_gguf_tokenizer(file: Path) -> transformers.PreTrainedTokenizerBase:
    """Build the tokenizer that `file` holds, its chat template included."""
    with _quiet():
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            str(file.parent), gguf_file=file.name, local_files_only=True
        )
    if _pre_tokenizer(file) in _DIGITS_APART:
        backend = tokenizer.backend_tokenizer
        backend.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), backend.pre_tokenizer]
        )
    return tokenizer


def _pre_tokenizer(file: Path) -> str:
    """Return `tokenizer.ggml.pre`, which stands before the vocabulary, without parsing the rest."""
    with file.open("rb") as stream:
        head = stream.read(1 << 20)
    key = b"tokenizer.ggml.pre" + (8).to_bytes(4, "little")  # 8: a string; its length follows
    at = head.find(key) + len(key)
    if at < len(key):
        return ""
    length = int.from_bytes(head[at : at + 8], "little")
    return head[at + 8 : at + 8 + length].decode(errors="replace")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep progress bars off stderr."""
    # The bar over GGUF tensors obeys no switch, but looks stderr up when it starts.
    with contextlib.redirect_stderr(io.StringIO()):
        yield
