"""Logits against transformers, over families and shapes."""

import numpy as np
import pytest

from tests.engine.torch.twins import Ints, MakeTwin, step

SHAPES = [
    ("llama", {}),
    ("llama", {"num_key_value_heads": 3, "tie_word_embeddings": True}),
    ("llama", {"num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 32}),
    ("llama", {"attention_bias": True, "mlp_bias": True}),
    ("llama", {"rms_norm_eps": 0.5}),
    (
        "llama",
        {
            "rope_parameters": {
                "rope_type": "llama3",
                "rope_theta": 10000.0,
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 64,
            }
        },
    ),
    ("llama", {"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 4.0}}),
    (
        "llama",
        {
            "rope_parameters": {
                "rope_type": "yarn",
                "rope_theta": 10000.0,
                "factor": 4.0,
                "original_max_position_embeddings": 128,
            }
        },
    ),
    ("mistral", {"num_attention_heads": 4, "head_dim": 128, "sliding_window": None}),
    ("qwen2", {"num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 12}),
    ("qwen2", {"tie_word_embeddings": True}),
    ("qwen3", {"num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 64}),
    ("qwen3", {"num_key_value_heads": 3, "tie_word_embeddings": True}),
]


@pytest.mark.parametrize(("family", "shapes"), SHAPES)
def test_logits_equal_transformers(
    make_twin: MakeTwin, tokens: Ints, family: str, shapes: dict[str, object]
) -> None:
    """A prompt in chunks over scattered pages, then token by token, gives the oracle's logits."""
    twin = make_twin(family, **shapes)
    expected = twin.logits(tokens)
    model = twin.load()
    pages = np.random.default_rng(5).permutation(64).astype(np.int32)[:10]
    rows = [
        model.forward([step(tokens, 0, 60, pages)]),
        model.forward([step(tokens, 60, 140, pages)]),
    ]
    rows += [model.forward([step(tokens, i, i + 1, pages)]) for i in range(140, 150)]
    got = np.concatenate(rows)
    wanted = expected[[59, 139, *range(140, 150)]]
    scale = float(np.abs(expected).max())
    assert scale > 1, "a model this flat would hide errors"
    assert np.abs(got - wanted).max() < 2e-5 * scale
