"""One request's body, as far as routing needs it."""

from collections.abc import Mapping

import msgspec

from stemcache.gateway.keys import Keys
from stemcache.wire.api import Api

__all__ = ["Prompt"]


class Prompt(msgspec.Struct):
    """What the gateway knows of a request before it is sent. Not to be changed by who gets it."""

    api: Api | None
    """None: not a request with a prompt (an embedding, a file …); routed by load alone."""
    model: str | None
    stream: bool
    wants_usage: bool
    """Whether the client itself asked for usage in its stream, or gets it anyway."""
    session: str | None
    """What the client says belongs together, the tenant included."""
    text: Keys | None
    """Keys over the bytes of the prompt; None where there is no prompt, or no use for them."""
    text_bytes: int
    """Bytes of the prompt, for an estimate of its tokens; of the whole body where the policy reads
    no prompts."""
    tokens: Mapping[int, Keys] = {}
    """By block size: keys over token ids; empty without a tokenizer."""
    prompt_tokens: int | None = None
    """Exact where there is a tokenizer."""
    unread: str | None = None
    """Why the prompt could not be tokenized or read, in a few words; the request is sent all the
    same, as it is the replica's to refuse."""
