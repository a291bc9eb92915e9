"""The bytes of a request: body and head, for each kind of API. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from stemcache.errors import UsageError
from stemcache.replay.prompts import PromptMaker
from stemcache.replay.target import Api, Target

__all__ = ["BodyMaker", "head_of", "parse_extra"]

_OURS = frozenset({"messages", "model", "prompt", "stream"})
"""Fields that the replay depends on, so `--extra-body` cannot have them."""

_MARK = "\x00prompt\x00"
"""Stands for the prompt while the rest of a body is encoded; no user's value holds it."""


def parse_extra(text: str | None) -> dict[str, object]:
    """The object given with `--extra-body`. Raises UsageError."""
    if text is None:
        return {}
    try:
        extra = msgspec.json.decode(text, type=dict[str, object])
    except msgspec.DecodeError as error:
        raise UsageError(
            f"--extra-body is no JSON object ({error}); give one, such as "
            "'{\"ignore_eos\": true}'"
        ) from None
    clash = sorted(_OURS & extra.keys())
    if clash:
        raise UsageError(
            f"--extra-body sets {', '.join(clash)}, which the replay itself sets; leave it out"
        )
    return extra


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyMaker:
    """Bodies for one run. Encoding costs the length of the prompt, which is passed in parts."""

    api: Api
    model: str
    prompts: PromptMaker
    cache_salt: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict)
    """Added to each body; a field whose value is None is taken out of it."""

    def around(self, output_tokens: int) -> tuple[bytes, bytes]:
        """What comes before and after the prompt's pieces."""
        fields: dict[str, object] = {"model": self.model, "max_tokens": output_tokens}
        if self.api == "openai-completions":
            fields["prompt"] = _MARK
        else:
            fields["messages"] = [{"role": "user", "content": _MARK}]
        fields["stream"] = True
        if self.api != "anthropic-messages":
            fields["stream_options"] = {"include_usage": True}
        if self.cache_salt is not None:
            fields["cache_salt"] = self.cache_salt
        fields |= self.extra
        kept = {name: value for name, value in fields.items() if value is not None}
        before, _, after = msgspec.json.encode(kept).partition(msgspec.json.encode(_MARK))
        return before + self.prompts.opening, self.prompts.closing + after


def head_of(
    method: str, path: str, target: Target, headers: Sequence[tuple[str, str]], body_bytes: int
) -> bytes:
    """Request line and headers. Names and values have been checked for line breaks before."""
    lines = [f"{method} {path} HTTP/1.1", f"host: {target.authority}"]
    lines += [f"{name}: {value}" for name, value in headers]
    if method == "POST":
        lines += ["content-type: application/json", f"content-length: {body_bytes}"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
