"""Token ids of prompts, without tokenizing a conversation again at every turn.

```
messages ──template──► text ──cuts──► parts ──memo──► ids of new parts only ──► keys of new blocks
```
The whole conversation is rendered at every turn, as a template may write earlier messages anew
because of later ones (one that takes the reasoning out of earlier turns does). What is remembered
is the *rendered text*, by digest, from cut to cut: where a template changes history, the digests
differ from there on, and that part is tokenized. So what the result rests on is SHA-256 and the
cuts, not the template; `text.cuts` says why those are sound.

Neither text nor ids are kept, only digests and keys. Everything is apart by `root`, so that no
tenant can tell by the time it takes what another has sent.
"""

import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from stemcache.errors import ModelError, RequestError
from stemcache.text.chat_template import ChatTemplate, JinjaTemplate, load_template
from stemcache.text.continuation import render_continued
from stemcache.text.cuts import Cutter
from stemcache.text.file_tokenizer import FileTokenizer
from stemcache.text.prefix_memo import Chain, PrefixMemo

__all__ = ["PromptTokenizer", "TemplateStyle", "Tokenized", "Wanted", "key_ids"]

ID_BYTES = 4
_LONGEST_CHARS = 4 * 2**20
"""About a million tokens."""
_MOST_CHUNKS = 65_536
"""A template writes a few a message: more come from messages made to take long."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which keys are wanted of a prompt."""

    root: bytes
    """Parent of the first block: a digest of adapter and salt."""
    block_sizes: tuple[int, ...]
    """In tokens."""
    chain: Chain


@dataclass(frozen=True, slots=True)
class Tokenized:
    """A prompt as token ids, by their keys."""

    tokens: int
    keys: dict[int, list[int]]
    """By block size: the key of each whole block. The lists are the caller's own."""
    known_bytes: int
    """Bytes of text whose ids were remembered."""


@dataclass(frozen=True, slots=True)
class TemplateStyle:
    """How messages are to be shaped for a template."""

    parts: bool = False
    """It loops over a message's content: a list of parts, never a text."""
    developer: bool = False
    """It speaks of the role `developer`."""
    late_system: bool = True
    """It takes messages of the role `system` behind the first."""
    effort: bool = False
    """It reads how much is to be thought, under either of the names for it."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class PromptTokenizer:
    """A model directory's template and tokenizer, with a memo. Safe to call from several threads.

    Raises ModelError where the directory, or what reads it (the extra `route`), is missing. A text
    that is not in the memo costs about 1.5 ms a 1,000 tokens: keep it off an event loop.
    """

    def __init__(
        self,
        directory: Path | str,
        *,
        memo_bytes: int = 64 * 2**20,
        longest_chars: int = _LONGEST_CHARS,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        """`memo_bytes`: about 50 conversations of 100k tokens a MiB at blocks of 128 tokens.

        `longest_chars`: longer texts are refused with RequestError.
        """
        for package in ("tokenizers", "jinja2"):
            if find_spec(package) is None:
                raise ModelError(
                    f"a tokenizer needs the package {package}, which is not installed; "
                    "run: pip install 'stemcache[route]'"
                )
        where = Path(directory)
        self._tokenizer = FileTokenizer(where)
        self._template = load_template(where, now=now)
        self._cutter = Cutter(self._tokenizer, *_sample(self._template))
        self._longest = longest_chars
        self.style = _style(self._template)
        self.memo = PrefixMemo(memo_bytes)

    @property
    def takes_tools(self) -> bool:
        """Whether the template writes tools."""
        return isinstance(self._template, JinjaTemplate) and self._template.takes_tools

    def chunks(
        self,
        messages: Sequence[Mapping[str, object]],
        *,
        tools: Sequence[Mapping[str, object]] = (),
        values: Mapping[str, object] | None = None,
        add_generation_prompt: bool = True,
        continue_final_message: bool = False,
    ) -> Iterable[str]:
        """The text of a conversation, as it is written.

        Raises RequestError where the template refuses it, also while it is iterated.
        """
        template = self._template
        # A template that reads no tools writes the same without them.
        given = tools if self.takes_tools else ()
        if continue_final_message:
            return (render_continued(template, messages, tools=given, values=values),)
        if isinstance(template, JinjaTemplate):
            return template.generate(
                messages, tools=given, add_generation_prompt=add_generation_prompt, values=values
            )
        return (template.render(messages, add_generation_prompt=add_generation_prompt),)

    def tokenize(
        self, chunks: Iterable[str], wanted: Wanted, *, add_special_tokens: bool
    ) -> Tokenized:
        """Count and keys of a text's ids, the text in chunks. Raises RequestError if too long."""

        def encode(parts: list[bytes]) -> list[bytes]:
            texts = [part.decode() for part in parts]
            many = self._tokenizer.encode_many(texts, add_special_tokens=add_special_tokens)
            return [id_bytes(ids) for ids in many]

        walk = self.memo.walk(
            namespace=wanted.root + (b"with" if add_special_tokens else b"without"),
            root=wanted.root,
            units=[ID_BYTES * size for size in wanted.block_sizes],
            encode=encode,
            chain=wanted.chain,
        )

        try:
            if add_special_tokens:
                # What is added at the beginning or end is added to a whole text.
                rest = "".join(self._bounded(chunks)).encode()
            else:
                rest = self._cutter.cut(self._bounded(chunks), walk.add)
        except UnicodeEncodeError:
            raise RequestError("the prompt has half of a character; send whole ones") from None
        done = walk.finish(rest, remember_rest=True)
        return Tokenized(
            done.content_bytes // ID_BYTES,
            {unit // ID_BYTES: keys for unit, keys in done.keys.items()},
            done.known_bytes,
        )

    def _bounded(self, chunks: Iterable[str]) -> Iterator[str]:
        length = 0
        for count, chunk in enumerate(chunks):
            length += len(chunk)
            if length > self._longest:
                raise RequestError(
                    f"the prompt has more than {self._longest:,} characters, the most that are "
                    "tokenized; send a shorter one"
                )
            if count >= _MOST_CHUNKS:
                raise RequestError(
                    "the prompt has more parts than are tokenized; send fewer messages or calls"
                )
            yield chunk


def _sample(template: ChatTemplate) -> tuple[str, int]:
    """A short conversation as the template writes it, and its turns; empty if it does not."""
    talk = [{"role": ("user", "assistant")[i % 2], "content": "Hello"} for i in range(5)]
    try:
        return template.render(talk, add_generation_prompt=False), len(talk)
    except RequestError:
        return "", 1


def _style(template: ChatTemplate) -> TemplateStyle:
    if not isinstance(template, JinjaTemplate):
        return TemplateStyle()
    talk = [{"role": ("system", "user")[i % 2], "content": "Hello"} for i in range(4)]
    try:
        template.render(talk, add_generation_prompt=False)
    except RequestError:
        late_system = False
    else:
        late_system = True
    return TemplateStyle(
        parts=template.takes_parts,
        developer=template.knows_developer,
        late_system=late_system,
        effort=template.reads("reasoning_effort") or template.reads("enable_thinking"),
    )


def key_ids(ids: Sequence[int], wanted: Wanted) -> Tokenized:
    """Count and keys of ids that came as such. Raises RequestError for what is no id."""
    content = id_bytes(ids)
    keys: dict[int, list[int]] = {}
    for size in wanted.block_sizes:
        unit = ID_BYTES * size
        whole = len(content) - len(content) % unit
        keys[size] = []
        wanted.chain(
            keys[size], wanted.root, (content[i : i + unit] for i in range(0, whole, unit))
        )
    return Tokenized(len(ids), keys, 0)


def id_bytes(ids: Sequence[int]) -> bytes:
    """Ids as little-endian words of 32 bits. Raises RequestError for what is no id."""
    try:
        words = array("I", ids)
    except (TypeError, OverflowError):
        raise RequestError("the prompt has what is no token id; send whole numbers") from None
    if sys.byteorder == "big":
        words.byteswap()
    return words.tobytes()
