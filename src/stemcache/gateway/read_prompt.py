"""From a request's bytes to what routing needs of it, whatever the bytes are.

```
body ──members──► raw fields ─┬─► model, session, stream, usage, bounds
                              ├─► tools, system, messages as raw bytes ──memo──► text keys
                              └─► conversation ──template, tokenizer, memo────► token keys
```
Text keys are cut from what the engine renders, in the order in which it does: what stands outside
of it (temperature, stream, user, …) does not enter. The model, adapter and salt enter every key.
Policies that look at no prompts get none read.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import msgspec

from stemcache.gateway.beginnings import Beginnings
from stemcache.gateway.keys import TEXT_UNIT_BYTES, Keys, extend_keys, root_key
from stemcache.gateway.prompt import Prompt
from stemcache.gateway.prompt_chat import (
    CHAT_FIELDS,
    Conversation,
    UnreadableError,
    conversation_of,
)
from stemcache.gateway.prompt_members import decode_any, decode_as, members
from stemcache.gateway.prompt_messages import MESSAGES_FIELDS, chat_of_messages
from stemcache.gateway.prompt_path import USUAL_PATHS, api_of_path
from stemcache.gateway.prompt_responses import RESPONSES_FIELDS, chat_of_responses
from stemcache.gateway.prompt_session import session_of
from stemcache.gateway.prompt_text import MARK, text_parts
from stemcache.policy.route.contract import Reads
from stemcache.text.memo import PromptTokenizer, Tokenized, Wanted, key_ids
from stemcache.text.prefix_memo import PrefixMemo
from stemcache.wire.api import Api

__all__ = ["PromptReader"]

Fields = dict[str, msgspec.Raw]

_STRING = msgspec.json.Decoder(str)
_BOOL = msgspec.json.Decoder(bool)
_OPTIONS = msgspec.json.Decoder(dict[str, Any])
_TRUE = frozenset({"1", "on", "t", "true", "y", "yes"})
_LONGEST_FLAG = 16
_LONGEST_MODEL = 512
_LONGEST_BYTES = 4 * 2**20
"""Keys are cut from no more of a prompt's text: a seat that has this much has enough to tell."""
_BEGINNING_BYTES = 64 * 1024
_PIECE_BYTES = 64 * TEXT_UNIT_BYTES
"""Of a prompt's text between remembered beginnings."""
_SHORT_BYTES = 8 * 1024
"""Of a shorter text only beginnings are remembered: that costs less than walking it."""
_HEAD_BYTES = 8 * TEXT_UNIT_BYTES
"""What policies that go by sessions look at of a prompt without one."""
_MOST_ROOTS = 1024
_LONGEST_ROOT = 256
"""Characters of salts and models whose roots are remembered."""


def _always() -> bool:
    return True


# Plain names: to name a member of an enumeration takes six times as long.
_NOTHING, _SESSION = Reads.NOTHING, Reads.SESSION


def _all() -> None:
    return None


def _as_is(contents: list[bytes]) -> list[bytes]:
    return contents


def _no_adapter(model: str) -> str | None:
    del model
    return None


class PromptReader:
    """Reads requests; remembers beginnings of prompts, bounded. Safe from several threads.

    A follow-up turn of 450 KB costs about 0.8 ms without tokens and 4 ms with them, half of which
    is for tokenizing 1,000 that are new. A prompt that is not known costs 1.5 ms a 1,000 tokens and
    1 ms a 100 KB: too much for an event loop where it is long, so bodies above some 30 KB are best
    read in a thread.
    """

    def __init__(
        self,
        *,
        tokenizing: PromptTokenizer | None = None,
        block_sizes: Callable[[], Collection[int]] | Collection[int] = (),
        session_headers: Sequence[str] = (),
        adapters: Callable[[str], str | None] = _no_adapter,
        whole_text: Callable[[], bool] = _always,
        reads: Callable[[], Reads | None] = _all,
        text_memo_bytes: int = 64 * 2**20,
    ) -> None:
        """`reads`: what the policy makes use of; asked at every request, may change. None: all.

        `block_sizes`: wanted of token keys; read at every request, may change.

        `adapters`: the adapter that a model's name stands for, if any. `whole_text`: whether a
        prompt that was tokenized is to have text keys all the same, for seats whose block size is
        not known; else it has those of its first 64 KB, and a read costs a third of a millisecond
        less.
        """
        self._tokenizing = tokenizing
        self._block_sizes = block_sizes
        self._session_headers = dict.fromkeys(
            name.lower().encode("latin-1", "replace") for name in session_headers
        )
        self._adapters = adapters
        self._whole_text = whole_text
        self._reads = reads
        self._roots: dict[tuple[str | None, ...], bytes] = {}
        self._beginnings = Beginnings()
        self.memo = PrefixMemo(text_memo_bytes)

    def read(
        self,
        path: bytes | str,
        headers: Sequence[tuple[bytes, bytes]],
        body: bytes,
        *,
        tenant: str | None = None,
        salt: str | None = None,
    ) -> Prompt:
        """Never raises, whatever the body is. `salt`: what the replica gets to see."""
        api = USUAL_PATHS.get(path) or api_of_path(path)
        fields = members(body) if body else None
        reads, session = self._reads(), None
        if reads is None or reads is _SESSION:
            session = session_of(headers, fields or {}, names=self._session_headers, tenant=tenant)
        if fields is None:
            unread = "the body is no JSON object" if api is not None else None
            return Prompt(
                api=api,
                model=None,
                stream=False,
                wants_usage=True,
                session=session,
                text=None,
                text_bytes=0,
                unread=unread,
            )
        model = decode_as(fields.get("model"), _STRING)
        if model is not None and len(model) > _LONGEST_MODEL:
            model = None
        stream = "stream" in fields and _says_true(fields["stream"])
        wants_usage = not stream or _wants_usage(api, fields)
        prompt = Prompt(api, model, stream, wants_usage, session, None, 0)
        if api is None:
            return prompt
        if reads is _NOTHING or (reads is _SESSION and session is not None):
            prompt.text_bytes = len(body)
        else:
            head_only = reads is _SESSION
            self._read_prompt(prompt, api, fields, body, salt, head_only=head_only)
        return prompt

    def _read_prompt(
        self,
        prompt: Prompt,
        api: Api,
        fields: Fields,
        body: bytes,
        salt: str | None,
        *,
        head_only: bool,
    ) -> None:
        """Fill in the keys."""
        model = prompt.model
        adapter = self._adapters(model) if model is not None else None
        if head_only:
            prompt.text_bytes = len(body)
            root = self._root(model, adapter, salt)
            prompt.text, _ = self._text(api, fields, body, root, _HEAD_BYTES)
            return
        done = None
        if self._tokenizing is not None:
            root = self._root(adapter, salt)
            done, prompt.unread = self._tokens(self._tokenizing, api, fields, root)
        most = _LONGEST_BYTES if done is None or self._whole_text() else _BEGINNING_BYTES
        root = self._root(model, adapter, salt)
        prompt.text, prompt.text_bytes = self._text(api, fields, body, root, most)
        if prompt.text is None:
            prompt.unread = "there is no prompt in the body"
        if done is not None:
            prompt.tokens = {size: Keys(keys, size, True) for size, keys in done.keys.items()}
            prompt.prompt_tokens = done.tokens

    def _root(self, *names: str | None) -> bytes:
        """As `root_key`; most requests have the root of another."""
        root = self._roots.get(names)
        if root is None:
            root = root_key(*names)
            if sum(len(name) for name in names if name is not None) <= _LONGEST_ROOT:
                if len(self._roots) >= _MOST_ROOTS:
                    self._roots.clear()
                self._roots[names] = root
        return root

    def _text(
        self, api: Api, fields: Fields, body: bytes, root: bytes, most_bytes: int
    ) -> tuple[Keys | None, int]:
        parts = text_parts(api, fields, marked=MARK in body)
        if parts is None:
            return None, 0
        text_bytes = sum(map(len, parts))
        if min(text_bytes, most_bytes) <= _SHORT_BYTES:
            if text_bytes > most_bytes:
                parts = [part[:most_bytes] for part in parts]
            text = b"".join(parts)[:most_bytes]
            return Keys(self._beginnings.keys(root, text), TEXT_UNIT_BYTES, False), text_bytes
        walk = self.memo.walk(
            namespace=root,
            root=root,
            units=(TEXT_UNIT_BYTES,),
            encode=_as_is,
            chain=extend_keys,
        )
        rest: bytes | memoryview = b""
        left = most_bytes
        for part in parts:
            if rest:
                walk.add(rest)
            view = memoryview(part)[:left]
            left -= len(view)
            whole = len(view) - len(view) % _PIECE_BYTES
            for start in range(0, whole, _PIECE_BYTES):
                walk.add(view[start : start + _PIECE_BYTES])
            rest = view[whole:]
        done = walk.finish(rest)
        return Keys(done.keys[TEXT_UNIT_BYTES], TEXT_UNIT_BYTES, False), text_bytes

    def _tokens(
        self, tokenizing: PromptTokenizer, api: Api, fields: Fields, root: bytes
    ) -> tuple[Tokenized | None, str | None]:
        sizes = self._block_sizes() if callable(self._block_sizes) else self._block_sizes
        wanted = Wanted(root, tuple(sorted(sizes)), extend_keys)
        try:
            return _tokenized(tokenizing, api, fields, wanted), None
        except UnreadableError as error:
            return None, str(error)
        except Exception:  # noqa: BLE001  # templates and tokenizers are others' programs
            return None, "the template or the tokenizer refuses the prompt"


def _tokenized(tokenizing: PromptTokenizer, api: Api, fields: Fields, wanted: Wanted) -> Tokenized:
    if api is Api.COMPLETIONS:
        return _of_completions(tokenizing, fields, wanted)
    talk = _conversation(tokenizing, api, fields)
    chunks = tokenizing.chunks(
        talk.messages,
        tools=talk.tools,
        values=talk.values,
        add_generation_prompt=talk.add_generation_prompt,
        continue_final_message=talk.continue_final_message,
    )
    return tokenizing.tokenize(chunks, wanted, add_special_tokens=talk.add_special_tokens)


def _conversation(tokenizing: PromptTokenizer, api: Api, fields: Fields) -> Conversation:
    style = tokenizing.style
    if api is Api.CHAT:
        chat = _decoded(fields, CHAT_FIELDS)
    elif api is Api.MESSAGES:
        chat = chat_of_messages(_decoded(fields, MESSAGES_FIELDS), style)
    elif api is Api.RESPONSES:
        chat = chat_of_responses(_decoded(fields, RESPONSES_FIELDS))
    else:
        raise UnreadableError("requests of this API are not tokenized")
    return conversation_of(chat, style)


def _decoded(fields: Fields, names: Sequence[str]) -> dict[str, Any]:
    given = {name: fields[name] for name in names if name in fields}
    if sum(map(len, given.values())) > 3 * _LONGEST_BYTES:
        raise UnreadableError("the prompt is longer than is read")
    return {name: decode_any(raw) for name, raw in given.items()}


def _of_completions(tokenizing: PromptTokenizer, fields: Fields, wanted: Wanted) -> Tokenized:
    prompt = decode_any(fields["prompt"]) if "prompt" in fields else None
    if isinstance(prompt, list) and prompt and isinstance(prompt[0], str | list):
        # Several prompts in one request go to one replica: the first says which.
        prompt = prompt[0]
    if isinstance(prompt, str):
        adds = decode_as(fields.get("add_special_tokens"), _BOOL) is not False
        return tokenizing.tokenize((prompt,), wanted, add_special_tokens=adds)
    if isinstance(prompt, list):
        return key_ids(prompt, wanted)
    raise UnreadableError("the prompt is neither text nor token ids")


def _wants_usage(api: Api | None, fields: Fields) -> bool:
    """Of a stream."""
    if api not in (Api.CHAT, Api.COMPLETIONS):
        return True
    options = decode_as(fields.get("stream_options"), _OPTIONS)
    return options is not None and _is_true(options.get("include_usage"))


def _says_true(raw: msgspec.Raw) -> bool:
    return len(raw) <= _LONGEST_FLAG and _is_true(decode_any(raw))


def _is_true(value: object) -> bool:
    """As replicas in Python read a flag: they take words and 1 for one too."""
    if isinstance(value, str):
        return value.lower() in _TRUE
    return value is True or (type(value) in (int, float) and value == 1)
