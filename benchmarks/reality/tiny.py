"""A Llama with random weights that computes little, for engines whose caches are looked at.

What an engine finds in its cache depends on the prompts and on its memory, not on what the model
says, so the smallest model that an engine loads serves to compare many requests in minutes.
"""

import json
import shutil
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

__all__ = ["CONTEXT_TOKENS", "KV_BYTES_PER_TOKEN", "make_tiny"]

CONTEXT_TOKENS = 8192
_LAYERS, _KV_HEADS, _HEAD_DIM = 2, 1, 64
KV_BYTES_PER_TOKEN = 2 * _LAYERS * _KV_HEADS * _HEAD_DIM * 4
"""In float32."""


def make_tiny(directory: Path, tokenizer_from: Path) -> Path:
    """Write the model beside the tokenizer of another one."""
    if (directory / "model.safetensors").exists():
        return directory
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=49_152,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=_LAYERS,
        num_attention_heads=2,
        num_key_value_heads=_KV_HEADS,
        head_dim=_HEAD_DIM,
        max_position_embeddings=CONTEXT_TOKENS,
        tie_word_embeddings=True,
        dtype="float32",
        bos_token_id=1,
        eos_token_id=2,
    )
    directory.mkdir(parents=True, exist_ok=True)
    LlamaForCausalLM(config).save_pretrained(directory)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        if (tokenizer_from / name).exists():
            shutil.copy(tokenizer_from / name, directory / name)
    config_file = directory / "config.json"
    written = json.loads(config_file.read_text(encoding="utf-8"))
    written["torch_dtype"] = "float32"  # for readers that know the older name only
    config_file.write_text(json.dumps(written, indent=1), encoding="utf-8")
    return directory
