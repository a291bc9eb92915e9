"""What engines serve where, as far as a gateway must know it. Pure.

```
PROMPT   tokens from a prompt: routed by it, and salted
COMPUTE  computed from a body: salted          LOOK    nothing of it is kept or shared
STORED   a response by its id                  OTHER   everything else
```
Taken from the routes of vLLM 0.32, SGLang 0.5 and llama.cpp's server. vLLM reads `cache_salt` at
all of PROMPT and COMPUTE (at messages since vllm#49498); SGLang at chat, completions and responses;
llama.cpp nowhere. Where no engine can take a salt (`/v2/embed`, sound), or not by this name
(`/generate`), the path is OTHER.
"""

from collections.abc import Collection
from enum import Enum

__all__ = ["NEVER", "OPEN", "Work", "is_shared", "response_of", "work_of"]


class Work(Enum):
    """What a request makes a replica do."""

    PROMPT = 0
    COMPUTE = 1
    LOOK = 2
    STORED = 3
    OTHER = 4

    @property
    def repeatable(self) -> bool:
        """Whether it may be done twice: at the replica nothing but time is spent on it."""
        return self in (Work.PROMPT, Work.COMPUTE, Work.LOOK)


_PROMPTS = ("/chat/completions", "/completions", "/responses", "/messages")
_COMPUTED = (
    "/classify",
    "/embeddings",
    "/rerank",
    "/reranking",
    "/score",
)
"""Served under /v1 and outside of it."""
_LOOKED_AT = (
    "/chat/completions/input_tokens",
    "/detokenize",
    "/messages/count_tokens",
    "/responses/input_tokens",
    "/tokenize",
)
"""Likewise."""
_WORK: dict[bytes, Work] = {
    **{f"{root}{path}".encode(): Work.PROMPT for root in ("/v1", "") for path in _PROMPTS},
    **{f"{root}{path}".encode(): Work.COMPUTE for root in ("/v1", "") for path in _COMPUTED},
    **{f"{root}{path}".encode(): Work.LOOK for root in ("/v1", "") for path in _LOOKED_AT},
    **{f"/v1{path}/render".encode(): Work.LOOK for path in _PROMPTS},
    b"/v1/chat/completions/derender": Work.LOOK,
    b"/v1/completions/derender": Work.LOOK,
    b"/apply-template": Work.LOOK,
    b"/embedding": Work.COMPUTE,
    b"/pooling": Work.COMPUTE,
    b"/v1/chat/completions/batch": Work.COMPUTE,
    b"/v1/systemone": Work.COMPUTE,
    b"/v2/rerank": Work.COMPUTE,
}
OPEN = frozenset({b"/ping", b"/v1/models", b"/version"})
"""Asked for with GET, and the same for everybody."""
_BARE = frozenset(
    {
        b"/api/chat",
        b"/api/generate",
        b"/completion",
        b"/encode",
        b"/generate",
        b"/infill",
        b"/invocations",
        b"/ping",
        b"/v2/embed",
        b"/version",
        *(path for path in _WORK if not path.startswith(b"/v1/")),
    }
)
"""Beside what stands under /v1."""
NEVER = frozenset({b"/v1/load_lora_adapter", b"/v1/unload_lora_adapter"})
"""In lower case. They would change one replica of several."""
_RESPONSES = b"/v1/responses/"


def work_of(path: bytes) -> Work | None:
    """What is done at a path, without query and escapes; None for what no gateway relays.

    One slash at its end changes nothing: servers lead from there to the path without.
    """
    bare = path.removesuffix(b"/")
    work = _WORK.get(bare)
    if work is not None:
        return work
    if bare.startswith(b"/v1/") and bare.lower() not in NEVER:
        return Work.STORED if response_of(bare) is not None else Work.OTHER
    return Work.OTHER if bare in _BARE else None


def response_of(path: bytes) -> str | None:
    """The id of the response that a path is about, if it is about one."""
    if not path.startswith(_RESPONSES):
        return None
    name, _, rest = path.removeprefix(_RESPONSES).removesuffix(b"/").partition(b"/")
    if not name or rest not in (b"", b"cancel", b"input_items"):
        return None
    # Served beside responses: what is posted there is no response's.
    return None if name in {b"compact", b"input_tokens", b"render"} else name.decode("latin-1")


def is_shared(path: bytes, shared: Collection[str]) -> bool:
    """Whether a path is one of those, or stands below one."""
    bare = path.removesuffix(b"/")
    return any(
        bare == (each := one.encode().removesuffix(b"/")) or bare.startswith(each + b"/")
        for one in shared
    )
