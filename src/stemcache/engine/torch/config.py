"""The shapes of a checkpoint, read from its configuration; what cannot be computed is refused."""

from dataclasses import dataclass

from transformers import PretrainedConfig

from stemcache.errors import ModelError

__all__ = ["DecoderConfig", "read_config"]

_FAMILIES = ("llama", "mistral", "qwen2", "qwen3")
_ROPE_TYPES = ("default", "linear", "llama3", "yarn")
"""Those whose frequencies do not depend on the length of the sequence, so KV can be kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderConfig:
    """What the decoder must know. Biases and norms of queries and keys are seen in the weights."""

    layers: int
    hidden: int
    heads: int
    """Query heads."""
    kv_heads: int
    head_dim: int
    vocabulary: int
    context_tokens: int
    norm_epsilon: float
    tied_head: bool
    """Whether the head is the embedding."""

    @property
    def group(self) -> int:
        """Query heads that share one key head."""
        return self.heads // self.kv_heads


def read_config(config: PretrainedConfig, *, source: str) -> DecoderConfig:
    """Check that `config` describes a decoder we compute exactly. `source` names it in errors."""
    family = config.model_type
    if family not in _FAMILIES:
        known = ", ".join(_FAMILIES)
        raise ModelError(f"model type {family!r} in {source} is not supported; use one of {known}")
    if config.hidden_act != "silu":
        raise ModelError(
            f"activation {config.hidden_act!r} in {source} is not supported; use a model with silu"
        )
    _check_rope(config, source)
    heads = config.num_attention_heads
    kv_heads = getattr(config, "num_key_value_heads", None) or heads
    if heads % kv_heads:
        raise ModelError(f"{heads} query heads in {source} do not divide among {kv_heads} KV heads")
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // heads
    return DecoderConfig(
        layers=config.num_hidden_layers,
        hidden=config.hidden_size,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocabulary=config.vocab_size,
        context_tokens=_context_tokens(config),
        norm_epsilon=config.rms_norm_eps,
        tied_head=bool(config.tie_word_embeddings),
    )


def _context_tokens(config: PretrainedConfig) -> int:
    """Positions that see all before them: a sliding window ends the context."""
    longest = int(config.max_position_embeddings)
    window = getattr(config, "sliding_window", None)
    kinds = getattr(config, "layer_types", None)
    slides = config.model_type == "mistral" if kinds is None else "sliding_attention" in kinds
    return min(longest, int(window)) if window and slides else longest


def _check_rope(config: PretrainedConfig, source: str) -> None:
    rope = getattr(config, "rope_parameters", None) or {}
    kind = rope.get("rope_type", "default")
    if kind not in _ROPE_TYPES:
        known = ", ".join(_ROPE_TYPES)
        raise ModelError(f"rope type {kind!r} in {source} is not supported; use one of {known}")
    if rope.get("partial_rotary_factor", 1.0) != 1.0:
        raise ModelError(
            f"partial rotary embedding in {source} is not supported; use another model"
        )
