"""Prompts for tests of routing: texts cut into units, with or without token ids."""

from array import array

from stemcache.gateway.keys import TEXT_UNIT_BYTES, Keys, extend_keys, root_key
from stemcache.gateway.prompt import Prompt
from stemcache.wire.api import Api


def text_keys(text: bytes, *, root: bytes | None = None) -> Keys:
    """Keys over bytes."""
    keys: list[int] = []
    whole = len(text) // TEXT_UNIT_BYTES * TEXT_UNIT_BYTES
    units = (text[at : at + TEXT_UNIT_BYTES] for at in range(0, whole, TEXT_UNIT_BYTES))
    extend_keys(keys, root or root_key("m", None), units)
    return Keys(keys, TEXT_UNIT_BYTES, exact=False)


def token_keys(tokens: list[int], block: int, *, root: bytes | None = None) -> Keys:
    """Keys over blocks of token ids."""
    keys: list[int] = []
    whole = len(tokens) // block * block
    units = (array("I", tokens[at : at + block]).tobytes() for at in range(0, whole, block))
    extend_keys(keys, root or root_key(None, None), units)
    return Keys(keys, block, exact=True)


def text_prompt(
    text: str, *, model: str | None = "m", session: str | None = None, stream: bool = True
) -> Prompt:
    """A prompt without token ids."""
    raw = text.encode()
    return Prompt(
        api=Api.CHAT,
        model=model,
        stream=stream,
        wants_usage=True,
        session=session,
        text=text_keys(raw),
        text_bytes=len(raw),
    )


def token_prompt(tokens: list[int], *, blocks: tuple[int, ...] = (16,)) -> Prompt:
    """A prompt whose token ids are known; its text is what spells them."""
    raw = array("I", tokens).tobytes()
    return Prompt(
        api=Api.CHAT,
        model="m",
        stream=True,
        wants_usage=True,
        session=None,
        text=text_keys(raw),
        text_bytes=len(raw),
        tokens={block: token_keys(tokens, block) for block in blocks},
        prompt_tokens=len(tokens),
    )


def nothing_to_route() -> Prompt:
    """A request without a prompt."""
    return Prompt(
        api=None,
        model=None,
        stream=False,
        wants_usage=True,
        session=None,
        text=None,
        text_bytes=0,
    )
