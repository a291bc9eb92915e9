import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from stemcache.errors import ModelError, RequestError
from stemcache.text.chat_template import load_template
from stemcache.text.file_tokenizer import FileTokenizer
from stemcache.text.memo import PromptTokenizer, TemplateStyle, Tokenized, Wanted, key_ids
from tests.text.small_models import CHATML, STRIPS_THOUGHTS, WITH_TOOLS, model_directory

Message = Mapping[str, object]
SYSTEM = {"role": "system", "content": "Be brief. " * 60}
USER = {"role": "user", "content": "Tell me of the quick brown fox. " * 30}
ANSWER = {"role": "assistant", "content": "It is 12 345 feet long, über alles. " * 30}
OVER_PARTS = (
    "{% for m in messages %}{% for part in m.content %}{{ part.text }}{% endfor %}"
    "{{ 'developer' }}{{ enable_thinking }}{% endfor %}"
)
SYSTEM_FIRST = (
    "{% for m in messages %}{% if m.role == 'system' and not loop.first %}"
    "{{ raise_exception('first') }}{% endif %}{{ m.content }}{% endfor %}"
)
TOOL = {"type": "function", "function": {"name": "größe", "description": "<b> & 'c'"}}


def ids_themselves(keys: list[int], root: bytes, units: Iterable[bytes]) -> None:
    """Keys that are the units: with blocks of one token, the token ids."""
    del root
    keys.extend(int.from_bytes(unit, "little") for unit in units)


def wanted(*sizes: int, root: bytes = b"root") -> Wanted:
    """Keys that are ids."""
    return Wanted(root, sizes or (1,), ids_themselves)


def tokenized(
    one: PromptTokenizer, messages: Sequence[Message], *, root: bytes = b"root", **options: Any
) -> Tokenized:
    """The ids of a conversation, in `keys[1]`."""
    chunks = one.chunks(messages, **options)
    return one.tokenize(chunks, wanted(root=root), add_special_tokens=False)


def at_once(
    directory: Path,
    messages: Sequence[Message],
    *,
    tools: Sequence[Message] = (),
    values: Mapping[str, object] | None = None,
    add_generation_prompt: bool = True,
) -> list[int]:
    """The ids of the whole rendered text, without memo and cuts."""
    template = load_template(directory, now=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    text = template.render(
        messages, tools=tools, values=values, add_generation_prompt=add_generation_prompt
    )
    return FileTokenizer(directory).encode(text, add_special_tokens=False)


def test_a_conversation_has_the_ids_of_its_whole_text(tmp_path: Path) -> None:
    """Cold, and again turn by turn."""
    where = model_directory(tmp_path)
    one = PromptTokenizer(where)
    talk = [SYSTEM, USER, ANSWER, USER, ANSWER, USER]
    for length in (6, 2, 4, 6):
        done = tokenized(one, talk[:length])
        assert done.keys[1] == at_once(where, talk[:length])
        assert done.tokens == len(done.keys[1])


def test_a_next_turn_tokenizes_what_is_new(tmp_path: Path) -> None:
    """All before the last cut of the turn before is known."""
    one = PromptTokenizer(model_directory(tmp_path))
    assert tokenized(one, [SYSTEM, USER]).known_bytes == 0
    first = len("".join(one.chunks([SYSTEM, USER], add_generation_prompt=False)))
    assert tokenized(one, [SYSTEM, USER, ANSWER, USER]).known_bytes == first
    one.memo.check()


def test_blocks_are_words_of_32_bits(tmp_path: Path) -> None:
    """A block of two ids is eight bytes, the first id first; a block that is not full has none."""
    where = model_directory(tmp_path)
    ids = at_once(where, [USER])
    done = PromptTokenizer(where).tokenize(
        PromptTokenizer(where).chunks([USER]), wanted(2, 1), add_special_tokens=False
    )
    assert done.keys[1] == ids
    pairs = zip(ids[::2], ids[1::2], strict=False)
    assert done.keys[2] == [first | second << 32 for first, second in pairs]


def test_no_block_sizes_still_count_the_tokens(tmp_path: Path) -> None:
    """For a gateway that does not know yet what its replicas have."""
    where = model_directory(tmp_path)
    one = PromptTokenizer(where)
    done = one.tokenize(
        one.chunks([USER]), Wanted(b"r", (), ids_themselves), add_special_tokens=False
    )
    assert done == Tokenized(len(at_once(where, [USER])), {}, 0)


def test_a_template_that_rewrites_history_is_followed(tmp_path: Path) -> None:
    """One that takes the thoughts out of all but the last message: ids are those of its text."""
    where = model_directory(tmp_path, STRIPS_THOUGHTS)
    one = PromptTokenizer(where)
    thought = {"role": "assistant", "content": "hmm " * 200 + "</think>" + "Yes. " * 100}
    talk = [SYSTEM, USER, thought, USER, thought, USER]
    known = []
    for length in range(1, 7):
        done = tokenized(one, talk[:length], add_generation_prompt=False)
        assert done.keys[1] == at_once(where, talk[:length], add_generation_prompt=False)
        known.append(done.known_bytes)
    assert known == sorted(known)
    assert known[-1] > 0


def test_tenants_share_no_remembered_text(tmp_path: Path) -> None:
    """What another root has sent does not make this one's quicker."""
    one = PromptTokenizer(model_directory(tmp_path))
    tokenized(one, [SYSTEM, USER], root=b"a")
    assert tokenized(one, [SYSTEM, USER], root=b"b").known_bytes == 0
    assert tokenized(one, [SYSTEM, USER], root=b"a").known_bytes > 0


def test_a_template_without_tools_writes_none(tmp_path: Path) -> None:
    """The replica's writes none either: they are left away, not refused."""
    where = model_directory(tmp_path)
    one = PromptTokenizer(where)
    assert not one.takes_tools
    assert tokenized(one, [USER], tools=[TOOL]).keys[1] == at_once(where, [USER])


def test_tools_and_values_reach_the_template(tmp_path: Path) -> None:
    """Both change the text."""
    where = model_directory(tmp_path, WITH_TOOLS)
    one = PromptTokenizer(where)
    assert one.takes_tools
    values = {"enable_thinking": True}
    done = tokenized(one, [USER], tools=[TOOL], values=values)
    assert done.keys[1] == at_once(where, [USER], tools=[TOOL], values=values)
    assert done.keys[1] != at_once(where, [USER], tools=[TOOL])


def test_a_last_message_may_be_continued(tmp_path: Path) -> None:
    """The text ends with it, without what the template writes behind a message."""
    one = PromptTokenizer(model_directory(tmp_path))
    begun = {"role": "assistant", "content": "Once upon "}
    text = "".join(one.chunks([USER, begun], continue_final_message=True))
    assert text.endswith("<|im_start|>assistant\nOnce upon ")


def test_a_text_may_have_special_tokens_added(tmp_path: Path) -> None:
    """As for completions: by the tokenizer's own rule, over the whole text."""
    where = model_directory(tmp_path)
    one = PromptTokenizer(where)
    text = "hello <|im_end|> " * 100
    for _ in range(2):
        done = one.tokenize((text,), wanted(), add_special_tokens=True)
        assert done.keys[1] == FileTokenizer(where).encode(text, add_special_tokens=True)
    assert done.known_bytes == len(text.encode())


def test_ids_have_the_keys_that_their_text_would_have() -> None:
    """Without a memo: there is nothing to tokenize."""
    assert key_ids([1, 2, 3], wanted(1, 2)) == Tokenized(3, {1: [1, 2, 3], 2: [1 | 2 << 32]}, 0)
    assert key_ids([], wanted()) == Tokenized(0, {1: []}, 0)


@pytest.mark.parametrize("bad", [[-1], [2**32], [1.5], ["a"], [None], [[1]]])
def test_what_is_no_id_is_refused(bad: list[Any]) -> None:
    """With a message that repeats none of it."""
    with pytest.raises(RequestError, match="no token id; send whole numbers"):
        key_ids(bad, wanted())


def test_half_a_character_is_refused(tmp_path: Path) -> None:
    """It has no bytes, so it has no ids."""
    one = PromptTokenizer(model_directory(tmp_path))
    with pytest.raises(RequestError, match="half of a character"):
        one.tokenize(("a\ud800",), wanted(), add_special_tokens=False)


@pytest.mark.parametrize("adds", [True, False])
def test_a_text_that_is_too_long_is_refused(tmp_path: Path, adds: bool) -> None:  # noqa: FBT001
    """Before it is tokenized."""
    one = PromptTokenizer(model_directory(tmp_path), longest_chars=1000)
    with pytest.raises(RequestError, match=r"more than 1,000 characters.*send a shorter one"):
        one.tokenize(("hello " * 200,), wanted(), add_special_tokens=adds)
    assert len(one.memo) == 0


def test_a_text_in_too_many_parts_is_refused(tmp_path: Path) -> None:
    """Whoever makes the template write that many wants it to take long."""
    one = PromptTokenizer(model_directory(tmp_path))
    with pytest.raises(RequestError, match="more parts than are tokenized"):
        one.tokenize(("" for _ in range(70_000)), wanted(), add_special_tokens=False)


def test_a_template_that_refuses_leaves_nothing_behind(tmp_path: Path) -> None:
    """Also where it does so at its end."""
    refusing = CHATML + "{{ raise_exception('no') if messages | length > 1 }}"
    one = PromptTokenizer(model_directory(tmp_path, refusing))
    tokenized(one, [USER])
    before = len(one.memo)
    with pytest.raises(RequestError, match="refuses the messages: no"):
        tokenized(one, [USER, ANSWER, USER])
    assert len(one.memo) == before


def test_a_directory_without_a_template_has_lines(tmp_path: Path) -> None:
    """As the embedded server writes them."""
    where = model_directory(tmp_path)
    (where / "chat_template.jinja").unlink()
    one = PromptTokenizer(where)
    assert one.style == TemplateStyle()
    assert "".join(one.chunks([{"role": "user", "content": "hi"}])) == "user: hi\nassistant: "


@pytest.mark.parametrize(
    ("template", "style"),
    [
        (CHATML, TemplateStyle()),
        (OVER_PARTS, TemplateStyle(parts=True, developer=True, effort=True)),
        (SYSTEM_FIRST, TemplateStyle(late_system=False)),
    ],
)
def test_what_a_template_takes_is_read_from_it(
    tmp_path: Path, template: str, style: TemplateStyle
) -> None:
    """Parts, roles and values, so that messages can be shaped for it."""
    assert PromptTokenizer(model_directory(tmp_path, template)).style == style


@pytest.mark.parametrize("package", ["tokenizers", "jinja2"])
def test_a_missing_package_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    """What to install is in the message."""
    where = model_directory(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModelError, match=rf"{package}.*pip install 'stemcache\[route\]'"):
        PromptTokenizer(where)


def test_a_directory_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    """By name."""
    with pytest.raises(ModelError, match=r"no tokenizer\.json in"):
        PromptTokenizer(tmp_path)


PIECES = [
    *("<|im_start|>", "<|im_end|>", "<|im_", "end|>", "<tool_call>", "<|end|>", "</think>"),
    *(" ", "\n", "\n\n", "\t", "\u0000", "\u00a0", "\u200d", "<", "|", "e\u0301", "é"),
    *("hello", " the quick", "12 345", "日本", "😀", "x = {'a': 1}", "system", "user\n", "don't"),
    *("a" * 300, " the fox says" * 40),
]


def fuzzed(rng: Random) -> str:
    """Text that is hard on boundaries: tokens spelled out, halves of them, all kinds of space."""
    return "".join(rng.choice(PIECES) for _ in range(rng.choice((0, 1, 2, 6, 30))))


def fuzzed_message(rng: Random, role: str) -> dict[str, object]:
    """A message, of an assistant at times with calls."""
    message: dict[str, object] = {"role": role, "content": fuzzed(rng)}
    if role == "assistant" and rng.random() < 0.3:
        function = {"name": fuzzed(rng), "arguments": {fuzzed(rng): [fuzzed(rng), 1.5, None]}}
        message["tool_calls"] = [{"type": "function", "function": function}]
    return message


def fuzz(one: PromptTokenizer, where: Path, *, seed: int, turns: int) -> int:
    """Conversations that grow, fork and change, against their whole text; bytes that were known."""
    rng = Random(seed)
    talks: list[list[dict[str, object]]] = [[]]
    tokenizer = FileTokenizer(where)
    known = 0
    for _ in range(turns):
        talk = list(rng.choice(talks[-8:]))
        if talk and rng.random() < 0.3:
            talk = talk[: rng.randrange(len(talk))]
        for role in ("user", "assistant", "tool", "user")[: rng.randint(1, 4)]:
            talk.append(fuzzed_message(rng, role))
        talks.append(talk)
        tools = [TOOL] * rng.randint(0, 2)
        prompted = rng.random() < 0.7
        values = {"enable_thinking": rng.random() < 0.2}
        chunks = list(one.chunks(talk, tools=tools, values=values, add_generation_prompt=prompted))
        done = one.tokenize(chunks, wanted(), add_special_tokens=False)
        assert done.keys[1] == tokenizer.encode("".join(chunks), add_special_tokens=False)
        known += done.known_bytes
    one.memo.check()
    return known


@pytest.mark.parametrize("template", [CHATML, WITH_TOOLS, STRIPS_THOUGHTS])
@pytest.mark.parametrize("seed", range(3))
def test_fuzzed_conversations_have_the_ids_of_their_whole_text(
    tmp_path: Path, seed: int, template: str
) -> None:
    """Text that spells special tokens, all kinds of space at boundaries, tools, forks."""
    added = (AddedToken("<|im_end|>\n\n", normalized=False), AddedToken("</think>"))
    where = model_directory(tmp_path, template, added=added)
    assert fuzz(PromptTokenizer(where, memo_bytes=60_000), where, seed=seed, turns=60) > 0


@pytest.mark.parametrize("template", [CHATML, WITH_TOOLS])
@pytest.mark.parametrize("normal", ["prepend", "metaspace"])
def test_tokenizers_that_treat_the_beginning_apart_are_cut_soundly(
    tmp_path: Path, normal: str, template: str
) -> None:
    """Those that put a space before the first word of a text, or before each run of it."""
    pieces = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "h", "▁a", "▁h"]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    merges = [("▁", "a"), ("▁", "h")]
    inner = Tokenizer(
        models.BPE(vocab=vocabulary, merges=merges, unk_token="<unk>", byte_fallback=True)
    )
    if normal == "prepend":
        inner.normalizer = normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        )
    else:
        inner.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    inner.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    inner.add_special_tokens([AddedToken(name, special=True) for name in ("<|im_start|>", "<s>")])
    inner.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "chat_template.jinja").write_text(template, encoding="utf-8")
    one = PromptTokenizer(tmp_path)
    assert one.takes_tools == (template is WITH_TOOLS)
    assert fuzz(one, tmp_path, seed=4, turns=30) > 0


@pytest.mark.real
@pytest.mark.parametrize("seed", range(2))
def test_fuzzed_conversations_have_the_ids_of_a_real_tokenizer(
    smollm2_dir: Path, seed: int
) -> None:
    """The embedded model's own vocabulary and template."""
    assert fuzz(PromptTokenizer(smollm2_dir), smollm2_dir, seed=seed, turns=150) > 0


@pytest.mark.real
def test_fuzzed_conversations_have_the_ids_that_transformers_makes(smollm2_dir: Path) -> None:
    """Its `apply_chat_template`, on growing conversations."""
    oracle = transformers.AutoTokenizer.from_pretrained(str(smollm2_dir), local_files_only=True)
    one = PromptTokenizer(smollm2_dir)
    rng = Random(7)
    talk: list[dict[str, str]] = []
    for _ in range(25):
        talk.append({"role": rng.choice(["user", "assistant", "system"]), "content": fuzzed(rng)})
        expected = oracle.apply_chat_template(
            talk, add_generation_prompt=True, tokenize=True, return_dict=False
        )
        assert tokenized(one, talk).keys[1] == expected


@pytest.mark.real
@pytest.mark.parametrize("content", ["Once upon ", "Once", "x\n\n", "  two  ", "Ünï 日本"])
def test_a_continued_message_has_the_ids_that_transformers_makes(
    smollm2_dir: Path, content: str
) -> None:
    """With space at its end and without."""
    oracle = transformers.AutoTokenizer.from_pretrained(str(smollm2_dir), local_files_only=True)
    one = PromptTokenizer(smollm2_dir)
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": content}]
    expected = oracle.apply_chat_template(
        talk, continue_final_message=True, tokenize=True, return_dict=False
    )
    assert tokenized(one, talk, continue_final_message=True).keys[1] == expected
