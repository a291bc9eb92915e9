"""A configuration's shapes, and the whole of what is said of those that are not computed."""

from typing import Any

import pytest
import transformers

from stemcache.engine.torch.config import DecoderConfig, read_config
from stemcache.errors import ModelError

SHAPES: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 3,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": True,
}


def read(**shapes: Any) -> DecoderConfig:
    """A Llama with these shapes."""
    return read_config(transformers.LlamaConfig(**{**SHAPES, **shapes}), source="there")


def test_shapes_are_read_as_they_stand() -> None:
    """Each from its own field."""
    assert (
        DecoderConfig(
            layers=2,
            hidden=48,
            heads=6,
            kv_heads=3,
            head_dim=8,
            vocabulary=97,
            context_tokens=512,
            norm_epsilon=1e-6,
            tied_head=True,
        )
        == read()
    )


def test_query_heads_share_key_heads_evenly() -> None:
    """As many as the quotient says."""
    assert [6, 2, 1] == [read(num_key_value_heads=kv).group for kv in (1, 3, 6)]


def test_a_head_may_be_of_any_width() -> None:
    """Where it is given it need not be the hidden width's part."""
    assert (16, 8) == (read(head_dim=16).head_dim, read(head_dim=None).head_dim)


def test_without_key_heads_each_query_has_its_own() -> None:
    """As before grouped attention."""
    assert (6, 1) == (read(num_key_value_heads=None).kv_heads, read(num_key_value_heads=None).group)


@pytest.mark.parametrize("kind", ["default", "linear", "llama3", "yarn"])
def test_frequencies_that_do_not_depend_on_the_length_are_computed(kind: str) -> None:
    """KV that was computed once stays right."""
    rope: dict[str, Any] = {"rope_type": kind, "rope_theta": 1e4}
    if kind != "default":
        rope |= {"factor": 2.0}
    if kind == "llama3":
        rope |= {
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 256,
        }

    assert 512 == read(rope_parameters=rope).context_tokens


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            transformers.GPT2Config(),
            (
                "model type 'gpt2' in there is not supported; use one of llama, mistral, qwen2, "
                "qwen3"
            ),
        ),
        (
            transformers.LlamaConfig(**SHAPES, hidden_act="gelu"),
            "activation 'gelu' in there is not supported; use a model with silu",
        ),
        (
            transformers.LlamaConfig(
                **SHAPES,
                rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0},
            ),
            (
                "rope type 'dynamic' in there is not supported; use one of default, linear, "
                "llama3, yarn"
            ),
        ),
        (
            transformers.LlamaConfig(
                **SHAPES,
                rope_parameters={
                    "rope_type": "default",
                    "rope_theta": 1e4,
                    "partial_rotary_factor": 0.5,
                },
            ),
            "partial rotary embedding in there is not supported; use another model",
        ),
        (
            transformers.LlamaConfig(**{**SHAPES, "num_key_value_heads": 4}),
            "6 query heads in there do not divide among 4 KV heads",
        ),
    ],
)
def test_what_is_not_computed_exactly_is_refused_in_full(
    config: transformers.PretrainedConfig, message: str
) -> None:
    """What, where, and what to use instead."""
    with pytest.raises(ModelError) as caught:
        read_config(config, source="there")

    assert message == str(caught.value)
