"""Tiny random checkpoints on disk, and the small real one."""

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from tests.engine.torch.twins import FAMILIES, Ints, MakeTwin, Twin


@pytest.fixture
def make_twin(tmp_path: Path) -> MakeTwin:
    """Write a random checkpoint of a family; keywords go into its configuration."""

    def make(family: str = "llama", **shapes: object) -> Twin:
        settings: dict[str, object] = {
            "vocab_size": 97,
            "hidden_size": 48,
            "intermediate_size": 80,
            "num_hidden_layers": 2,
            "num_attention_heads": 3,
            "num_key_value_heads": 1,
            "head_dim": 16,
            "max_position_embeddings": 512,
            "initializer_range": 0.3,  # large, so that wrong attention shows in the logits
            "tie_word_embeddings": False,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": 2,
        }
        make_config, make_oracle = FAMILIES[family]
        config = make_config(**{**settings, **shapes})
        with torch.random.fork_rng():
            torch.manual_seed(7)
            oracle = make_oracle(config)
            with torch.no_grad():  # biases and norms begin trivial; make them matter
                for name, parameter in oracle.named_parameters():
                    if parameter.dim() == 1:
                        centre = 1.0 if "norm" in name else 0.0
                        parameter.normal_(centre, 0.3)
        path = tmp_path / family
        oracle.save_pretrained(path)
        return Twin(path, oracle)

    return make


@pytest.fixture
def tokens() -> Ints:
    """150 tokens of the tiny models' vocabulary."""
    return np.random.default_rng(3).integers(0, 97, 150).astype(np.int32)


@pytest.fixture(scope="module")
def smollm2(smollm2_dir: Path) -> Twin:
    """The small real model beside transformers."""
    oracle = transformers.AutoModelForCausalLM.from_pretrained(
        str(smollm2_dir), dtype=torch.float32, local_files_only=True
    )
    return Twin(smollm2_dir, oracle)
