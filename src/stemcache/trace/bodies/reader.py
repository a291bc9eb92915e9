"""Lines of a log of request bodies to requests.

Block ids are the first 8 bytes of the chained block keys of `core`, of full blocks only. Model and
`cache_salt` are part of the namespace: prompts to different models share nothing. Times count from
the first line's.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from stemcache.core.namespace import Namespace
from stemcache.core.tokens import Chain, Tokens
from stemcache.trace.bodies.characters import CharacterPrompts
from stemcache.trace.bodies.envelope import Logged, find_body, is_body, why_no_body
from stemcache.trace.bodies.prompt import Prompt, TokenPrompt, prompts_of
from stemcache.trace.format import Format, LineReader, ReadOptions, Unit
from stemcache.trace.problem import BadLineError
from stemcache.trace.record import BlockIds, TraceRequest
from stemcache.trace.shape import Decoder

__all__ = ["BODIES"]

_HABIT_BLOCK_TOKENS = 16
_DIGITS = 6
"""Microseconds: what a float keeps of a time since 1970."""


class _BodyReader:
    joined_lines = 0

    def __init__(self, options: ReadOptions) -> None:
        self._decode = Decoder(dict[str, Any])
        self._block_tokens = options.block_tokens or _HABIT_BLOCK_TOKENS
        self._prompts = options.prompts or CharacterPrompts()
        self._unit: Unit | None = options.prompts.unit if options.prompts else None
        self._zero_s: float | None = None

    @property
    def unit(self) -> Unit:
        return self._unit or self._prompts.unit

    def read(self, line: bytes) -> Iterable[TraceRequest]:
        record = self._decode(line)
        logged = find_body(record)
        if logged is None:
            raise BadLineError(f"it holds no request body: {why_no_body(record)}")
        body = logged.body
        namespace = Namespace(
            model=_word(body, "model") or "", salt=_word(body, "cache_salt")
        ).encode()
        unit = self._unit
        made = []
        for prompt in prompts_of(body):
            unit, tokens = self._read(prompt, unit)
            made.append(tokens)
        if not made:
            raise BadLineError("it asks for no prompt")
        self._unit = unit
        if self._zero_s is None:
            self._zero_s = logged.time_s
        return self._requests(logged, made, namespace, self._zero_s)

    def _read(self, prompt: Prompt, unit: Unit | None) -> tuple[Unit, Tokens]:
        own: Unit = "tokens" if isinstance(prompt, TokenPrompt) else self._prompts.unit
        if unit is not None and own != unit:
            raise BadLineError(
                f"its prompt counts {own}, but those before count {unit}",
                fix="give a --tokenizer, which makes all of them tokens",
            )
        tokens = prompt.tokens if isinstance(prompt, TokenPrompt) else self._prompts.tokens(prompt)
        return own, tokens

    def _requests(
        self, logged: Logged, prompts: list[Tokens], namespace: bytes, zero_s: float | None
    ) -> Iterator[TraceRequest]:
        arrival_s = None
        if logged.time_s is not None and zero_s is not None:
            arrival_s = round(logged.time_s - zero_s, _DIGITS)
        for tokens in prompts:
            chain = Chain(tokens, block_size=self._block_tokens, namespace=namespace)
            yield TraceRequest(
                block_ids=_ids(chain),
                block_tokens=self._block_tokens,
                prompt_tokens=len(tokens),
                # Usage tells of all answers together.
                output_tokens=logged.output_tokens if len(prompts) == 1 else None,
                arrival_s=arrival_s,
                session=logged.session,
                tenant=logged.tenant,
            )


def _ids(chain: Chain) -> BlockIds:
    keys = b"".join(key[:8] for key in chain.keys(chain.blocks))
    return np.frombuffer(keys, "<i8").astype(np.int64, copy=False)


def _word(body: Mapping[str, Any], name: str) -> str | None:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise BadLineError(f"{name} is no text")
    return value


def _sniff(record: Mapping[str, object]) -> bool:
    try:
        return "hash_ids" not in record and find_body(record) is not None
    except BadLineError:  # the body is there, only what stands near it is wrong
        return is_body(record) or "body" in record or "request" in record


def _reader(options: ReadOptions) -> LineReader:
    return _BodyReader(options)


BODIES = Format("bodies", _sniff, _reader)
