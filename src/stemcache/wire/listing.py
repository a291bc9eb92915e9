"""The answers of `/v1/models` and of the small endpoints."""

from typing import Literal

import msgspec

__all__ = ["Health", "ModelCard", "ModelList", "ResetAnswer"]


class ModelCard(msgspec.Struct, frozen=True, kw_only=True):
    """One served model."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "stemcache"
    max_model_len: int
    """Prompt and answer together, in tokens."""


class ModelList(msgspec.Struct, frozen=True):
    """The answer of `/v1/models`."""

    data: list[ModelCard]
    object: Literal["list"] = "list"


class Health(msgspec.Struct, frozen=True):
    """The answer of `/health`."""

    status: Literal["ok", "draining", "failed"]


class ResetAnswer(msgspec.Struct, frozen=True):
    """The answer of `POST /reset_prefix_cache`."""

    success: bool
    dropped_blocks: int
