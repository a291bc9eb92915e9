import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import pytest

from stemcache.gateway.keys import TEXT_UNIT_BYTES, Keys, extend_keys, root_key
from stemcache.gateway.prompt import Prompt
from stemcache.gateway.read_prompt import PromptReader
from stemcache.policy.route.contract import Reads
from stemcache.text.file_tokenizer import FileTokenizer
from stemcache.text.memo import PromptTokenizer
from stemcache.wire.api import Api
from tests.text.small_models import WITH_TOOLS, model_directory

CHAT = "/v1/chat/completions"
SYSTEM = {"role": "system", "content": "Be brief. " * 60}
USER = {"role": "user", "content": "Tell me of the quick brown fox. " * 30}
ANSWER = {"role": "assistant", "content": "It is 12 345 feet long, über alles. " * 30}
TALK = [SYSTEM, USER, ANSWER, USER]
TOOL = {
    "type": "function",
    "function": {"name": "f", "description": "d", "parameters": {"type": "object"}},
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose template takes tools."""
    return model_directory(tmp_path_factory.mktemp("model"), WITH_TOOLS)


def read(
    body: object,
    path: bytes | str = CHAT,
    *,
    reader: PromptReader | None = None,
    headers: Sequence[tuple[bytes, bytes]] = (),
    tenant: str | None = None,
    salt: str | None = None,
) -> Prompt:
    """Read a body, as JSON unless it is bytes."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return (reader or PromptReader()).read(path, headers, raw, tenant=tenant, salt=salt)


def chat(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A chat body."""
    return {"model": "m", "messages": list(messages or TALK), **fields}


def text_keys(body: object, path: str = CHAT, **options: Any) -> list[int]:
    """The keys over the bytes of a body's prompt."""
    text = read(body, path, **options).text
    assert text is not None
    assert text.unit == TEXT_UNIT_BYTES
    assert not text.exact
    return text.keys


def shared(one: Sequence[int], other: Sequence[int]) -> int:
    """How many keys two prompts have in common at their beginning."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


@pytest.mark.parametrize(
    ("path", "api"),
    [
        ("/v1/chat/completions", Api.CHAT),
        (b"/v1/chat/completions?x=/y", Api.CHAT),
        ("/chat/completions/", Api.CHAT),
        ("/v1/completions", Api.COMPLETIONS),
        ("/v1/responses", Api.RESPONSES),
        ("/v1/messages", Api.MESSAGES),
        ("/v1/messages/count_tokens", None),
        ("/v1/responses/resp_1", None),
        ("/v1/responses/resp_1/cancel", None),
        ("/v1/embeddings", None),
        ("/v1/models", None),
        ("/tokenize", None),
        ("messages", None),
        ("", None),
        (b"\xff\x00", None),
    ],
)
def test_the_api_is_told_by_the_path(path: bytes | str, api: Api | None) -> None:
    """What makes no tokens from a prompt has none, and is routed by load."""
    prompt = read({"model": "m", "input": "x" * 500, "prompt": "y"}, path)
    assert prompt.api == api
    assert prompt.model == "m"
    assert (prompt.text is None) == (api not in {Api.RESPONSES, Api.COMPLETIONS})


def test_a_chat_has_the_keys_of_its_tools_and_messages() -> None:
    """As the client wrote them, cut every 128 bytes, below model, adapter and salt."""
    raw = b'{"messages": [{"role":"user","content":"' + b"x" * 400 + b'"}], "model":"m"}'
    start = raw.index(b"[")
    prompt = b'{"a":1}' + raw[start : raw.index(b"]")]
    tooled = b'{"tools":{"a":1},' + raw[1:]
    units = [prompt[i : i + 128] for i in range(0, len(prompt) - 127, 128)]
    expected: list[int] = []
    extend_keys(expected, root_key("m", None, "s"), units)
    done = read(tooled, salt="s")
    assert done.text == Keys(expected, 128, exact=False)
    assert len(expected) == 3
    assert done.text_bytes == len(prompt)


@pytest.mark.parametrize(
    ("path", "first", "second"),
    [
        (CHAT, chat(*TALK[:2]), chat(*TALK)),
        ("/v1/messages", {"messages": TALK[1:2]}, {"messages": TALK[1:]}),
        ("/v1/responses", {"input": TALK[:2]}, {"input": TALK}),
        ("/v1/responses", {"input": "x" * 999}, {"input": "x" * 1999}),
        ("/v1/completions", {"prompt": "x" * 999}, {"prompt": "x" * 1999}),
        ("/v1/completions", {"prompt": [7] * 999}, {"prompt": [7] * 1999}),
    ],
)
def test_a_next_turn_begins_with_the_keys_of_the_last(
    path: str, first: dict[str, Any], second: dict[str, Any]
) -> None:
    """All of them, with a memo and without."""
    reader = PromptReader()
    before = text_keys(first, path, reader=reader)
    after = text_keys(second, path, reader=reader)
    assert before == after[: len(before)]
    assert 0 < len(before) < len(after)
    assert after == text_keys(second, path)


@pytest.mark.parametrize(
    "fields",
    [
        {"temperature": 0.3},
        {"stream": True},
        {"max_tokens": 7},
        {"user": "u"},
        {"seed": 1, "n": 2, "stop": ["a"], "top_p": 0.1},
        {"metadata": {"a": "b"}},
        {"response_format": {"type": "json_object"}},
        {"tool_choice": "auto"},
    ],
)
def test_what_is_no_part_of_the_prompt_changes_no_key(fields: dict[str, Any]) -> None:
    """Wherever it stands in the body."""
    assert text_keys({**fields, **chat()}) == text_keys(chat()) == text_keys(chat(**fields))


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": [TOOL]},
        {"chat_template_kwargs": {"enable_thinking": False}},
        {"reasoning_effort": "low"},
        {"model": "other"},
    ],
)
def test_what_stands_before_the_messages_changes_every_key(fields: dict[str, Any]) -> None:
    """Tools and settings of the template are at the prompt's beginning."""
    assert shared(text_keys(chat(**fields)), text_keys(chat())) == 0


def test_tenants_and_adapters_have_keys_of_their_own() -> None:
    """Also where the model's name is the same."""
    keys = [
        text_keys(chat()),
        text_keys(chat(), salt="a"),
        text_keys(chat(), salt="b"),
        text_keys(chat(), reader=PromptReader(adapters=lambda model: f"lora-{model}")),
    ]
    assert len({one[0] for one in keys}) == 4


@pytest.mark.parametrize("marks", [b'{"type":"ephemeral"}', b'{"type": "ephemeral", "ttl": "1h"}'])
def test_marks_that_clients_move_at_every_turn_change_no_key(marks: bytes) -> None:
    """`cache_control` goes, whether first, last or between; a text that looks like it stays."""
    text = b"x" * 200
    plain = b'{"messages":[{"role":"user","content":[{"type":"text","text":"%s"}]}]}' % text
    end, part = text + b'"', b'"type":"text",'
    marked = [
        plain.replace(end, end + b',"cache_control":' + marks),
        plain.replace(end, end + b', "cache_control": ' + marks),
        plain.replace(part, b'"cache_control":' + marks + b"," + part),
        plain.replace(part, b'"cache_control": ' + marks + b", " + part),
        plain.replace(part, part + b'"cache_control":null,'),
    ]
    expected = text_keys(plain, "/v1/messages")
    for body in marked:
        assert "cache_control" in json.loads(body)["messages"][0]["content"][0]
        assert text_keys(body, "/v1/messages") == expected
    spelled = plain.replace(b"xx", rb"\"cache_control\":{},")
    assert text_keys(spelled, "/v1/messages") != expected


def test_a_line_that_a_client_changes_at_every_request_changes_no_key() -> None:
    """One client writes it before its system prompt; the engine takes it out too."""
    blocks = [{"type": "text", "text": "You help. " * 40}]
    bodies = [
        {
            "system": [{"type": "text", "text": f"x-anthropic-billing-header: {i};"}, *blocks],
            "messages": [USER],
        }
        for i in range(2)
    ]
    keys = text_keys(bodies[0], "/v1/messages")
    assert keys == text_keys(bodies[1], "/v1/messages")
    assert keys == text_keys({"system": blocks, "messages": [USER]}, "/v1/messages")


@pytest.mark.parametrize(
    ("body", "path", "asked"),
    [
        (chat(), CHAT, True),
        (chat(stream=False), CHAT, True),
        (chat(stream=True), CHAT, False),
        (chat(stream=True, stream_options={"include_usage": True}), CHAT, True),
        (chat(stream=True, stream_options={"include_usage": False}), CHAT, False),
        (chat(stream=True, stream_options={"include_usage": 1}), CHAT, True),
        (chat(stream=True, stream_options={"include_usage": "True"}), CHAT, True),
        (chat(stream=True, stream_options={"include_usage": 2}), CHAT, False),
        (chat(stream=True, stream_options={"include_usage": "no"}), CHAT, False),
        (chat(stream=True, stream_options=None), CHAT, False),
        (chat(stream=True, stream_options=[1]), CHAT, False),
        (chat(stream="true"), CHAT, False),
        (chat(stream="On"), CHAT, False),
        (chat(stream=1), CHAT, False),
        (chat(stream=1.0), CHAT, False),
        (chat(stream="false"), CHAT, True),
        (chat(stream=0), CHAT, True),
        (chat(stream=2), CHAT, True),
        (chat(stream=[True]), CHAT, True),
        (chat(stream=None), CHAT, True),
        ({"prompt": "x", "stream": True}, "/v1/completions", False),
        (chat(stream=True), "/v1/messages", True),
        ({"input": "x", "stream": True}, "/v1/responses", True),
        ({"stream": True}, "/v1/embeddings", True),
    ],
)
def test_whether_the_client_gets_usage(body: dict[str, Any], path: str, asked: bool) -> None:  # noqa: FBT001
    """Streams of chat and completions have it only if it is asked for.

    Flags are read as replicas read them, which take words and 1 for true.
    """
    prompt = read(body, path)
    assert prompt.wants_usage is asked
    assert prompt.stream is (body.get("stream") in (True, 1, "true", "On"))


@pytest.mark.parametrize(
    ("fields", "session"),
    [
        ({}, None),
        ({"user": "u"}, "u"),
        ({"previous_response_id": "r", "user": "u"}, "r"),
        ({"metadata": {"session_id": "s"}, "previous_response_id": "r"}, "s"),
        ({"metadata": {"session_id": "s", "user_id": "mu"}}, "mu"),
        ({"prompt_cache_key": "p", "metadata": {"user_id": "mu"}}, "p"),
        ({"conversation": "c", "prompt_cache_key": "p"}, "c"),
        ({"conversation": {"id": "c"}, "prompt_cache_key": "p"}, "c"),
        ({"session_params": {"session_id": "sp"}, "conversation": "c"}, "sp"),
        ({"session_id": "s", "session_params": {"session_id": "sp"}}, "s"),
        ({"session_id": "", "user": "u"}, "u"),
        ({"session_id": 7, "conversation": [1], "metadata": "x", "user": {"a": 1}}, None),
    ],
)
def test_a_session_is_taken_from_the_body(fields: dict[str, Any], session: str | None) -> None:
    """The narrowest that is there: a conversation before a user."""
    assert read(chat(**fields)).session == (session and f"-/{session}")


def test_headers_say_a_session_before_the_body_does() -> None:
    """In the order of the settings, whatever their case; empty ones say nothing."""
    reader = PromptReader(session_headers=("x-session-id", "X-Other"))
    body = chat(user="u")
    headers = [(b"X-Other", b"o"), (b"x-session-ID", b" s ")]
    assert read(body, reader=reader, headers=headers).session == "-/s"
    assert read(body, reader=reader, headers=headers[:1]).session == "-/o"
    assert read(body, reader=reader, headers=[(b"x-session-id", b" ")]).session == "-/u"
    assert read(b"not json", reader=reader, headers=headers).session == "-/s"
    twice = [(b"x-other", b"first"), (b"x-other", b"second")]
    assert read(body, reader=reader, headers=twice).session == "-/first"


def test_tenants_never_share_a_session() -> None:
    """Whatever names they choose."""
    body = chat(user="u")
    sessions = {read(body, tenant=tenant).session for tenant in (None, "", "-", "a", "b", "1:a")}
    assert len(sessions) == 6
    assert read(chat(user="b/u"), tenant="a").session != read(chat(user="u"), tenant="a/b").session


def test_long_session_names_are_kept_short() -> None:
    """And still tell sessions apart."""
    one, other = (read(chat(user="x" * 1000 + end)).session for end in "ab")
    assert one is not None
    assert one != other
    assert len(one) == 66


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"null",
        b"[]",
        b'"x"',
        b"{",
        b'{"model":"m"',
        b'{"model":"m"}}',
        b'{"temperature":NaN}',
        b'{"\xff":1}',
        b"\xef\xbb\xbf{}",
        b"[" * 1_000_000,
        b'{"a":' * 200_000,
        b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b"--boundary\r\nContent-Disposition: form-data",
        bytes(range(256)),
    ],
)
def test_a_body_that_is_no_object_is_still_routed(body: bytes) -> None:
    """Without keys, and with why in a few words."""
    prompt = read(body)
    assert prompt == Prompt(
        api=Api.CHAT,
        model=None,
        stream=False,
        wants_usage=True,
        session=None,
        text=None,
        text_bytes=0,
        unread="the body is no JSON object",
    )
    assert read(body, "/v1/embeddings").unread is None


def test_a_body_without_a_prompt_is_still_routed() -> None:
    """By its model and its session."""
    prompt = read({"model": "m", "user": "u"})
    assert prompt.text is None
    assert prompt.unread == "there is no prompt in the body"
    assert (prompt.model, prompt.session) == ("m", "-/u")


STRANGE: list[Any] = [
    None, True, 0, -1, 10**30, 1e308, "", "x", "\u0000", "é😀", [], [[]], [None], [1, "a"], {},
    {"a": 1}, [{}], [{"role": "user"}], [{"role": 5, "content": "x"}],
    [{"role": "user", "content": 5}], [{"role": "user", "content": [{"type": "image_url"}]}],
    [{"role": "user", "content": [{"type": []}]}], [{"role": "user", "content": [{"text": "x"}]}],
    [{"role": "assistant", "tool_calls": 5}], [{"role": "assistant", "tool_calls": [5]}],
    [{"role": "assistant", "tool_calls": [{"function": {"arguments": "[", "name": 5}}]}],
    [{"role": "developer", "content": "x"}], [{"role": "user", "content": "hello"}],
    [{"type": "function"}], [{"type": "function", "function": {}}], [{"input_schema": {}}],
    [{"type": "function_call"}], [{"type": "reasoning"}], [{"type": "message", "role": None}],
]  # fmt: skip
FIELDS = [
    "model", "messages", "tools", "system", "input", "instructions", "prompt", "stream", "user",
    "stream_options", "max_tokens", "chat_template_kwargs", "chat_template", "documents",
    "reasoning_effort", "add_generation_prompt", "continue_final_message", "add_special_tokens",
    "metadata", "session_params", "conversation", "previous_response_id", "thinking", "reasoning",
    "output_config",
]  # fmt: skip


@pytest.mark.parametrize("path", [CHAT, "/v1/completions", "/v1/responses", "/v1/messages"])
@pytest.mark.parametrize("seed", range(3))
def test_no_types_in_any_place_stop_it(directory: Path, path: str, seed: int) -> None:
    """A value of every kind in every field: there is always a prompt, with a reason if need be."""
    rng = Random(seed)
    reader = PromptReader(tokenizing=PromptTokenizer(directory), block_sizes={16, 4})
    for _ in range(400):
        names = rng.sample(FIELDS, rng.randint(1, 8))
        body = {name: rng.choice(STRANGE) for name in names}
        if rng.random() < 0.5:
            body["messages"] = body["input"] = [*rng.sample(STRANGE, 2), USER]
        prompt = read(body, path, reader=reader)
        assert (prompt.prompt_tokens is None) == (prompt.unread is not None)
        assert set(prompt.tokens) == (set() if prompt.unread else {4, 16})


@pytest.mark.parametrize("seed", range(3))
def test_damaged_bodies_do_not_stop_it(directory: Path, seed: int) -> None:
    """Bytes changed, cut out and doubled at random."""
    rng = Random(seed)
    reader = PromptReader(tokenizing=PromptTokenizer(directory), block_sizes={16})
    whole = json.dumps(chat(tools=[TOOL], stream=True, user="é")).encode()
    for _ in range(300):
        body = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(body))
            end = at + rng.choice((0, 1, 1, 5, 200))
            body[at:end] = rng.choice(
                (b"", rng.randbytes(2), b'"', b"\\", b"{", b"]", body[at:end] * 2)
            )
        assert isinstance(read(bytes(body), reader=reader), Prompt)


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages":[' + b'{"role":"user","content":"x"},' * 200_000 + b"{}]}",
        b'{"messages":[{"role":"user","content":"' + b"x" * 8_000_000 + b'"}]}',
        b'{"messages":[{"role":"assistant","tool_calls":[' + b'{"a":{}},' * 300_000 + b"1]}]}",
        b'{"messages":[{"role":"user","content":[' + b'{"type":"a"},' * 300_000 + b"1]}]}",
        b'{"messages":[{"role":"user","content":"' + b"<|im_start|>" * 300_000 + b'"}]}',
        b"{" + b'"messages":[],' * 300_000 + b'"a":1}',
        b'{"messages":"' + b'x\\"cache_control\\"' * 200_000 + b'"}',
        b'{"messages":[' + b'"cache_control",' * 300_000 + b"1]}",
        b'{"a":' + b"9" * 5_000_000 + b"}",
    ],
    ids=["messages", "bytes", "calls", "parts", "cuts", "members", "spelled", "marks", "number"],
)  # fmt: skip
def test_bodies_made_to_take_long_are_read_quickly(directory: Path, body: bytes) -> None:
    """Some megabytes of what each step would be slow at: mostly far less than a second."""
    reader = PromptReader(tokenizing=PromptTokenizer(directory), block_sizes={16})
    started = process_time()
    prompt = read(body, reader=reader)
    assert process_time() - started < 6
    assert prompt.prompt_tokens is None or prompt.prompt_tokens > 0


def token_keys(directory: Path, text: str, size: int, *root: str | None) -> list[int]:
    """Keys of a text's ids, tokenized whole."""
    ids = FileTokenizer(directory).encode(text, add_special_tokens=False)
    blocks = [ids[i : i + size] for i in range(0, len(ids) - size + 1, size)]
    keys: list[int] = []
    units = (b"".join(token.to_bytes(4, "little") for token in block) for block in blocks)
    extend_keys(keys, root_key(*root), units)
    return keys


def test_a_chat_has_the_keys_of_the_tokens_that_the_template_makes(directory: Path) -> None:
    """For every block size that is wanted at that moment; adapter and salt enter, the model not."""
    tokenizing = PromptTokenizer(directory)
    sizes = {16}
    reader = PromptReader(
        tokenizing=tokenizing, block_sizes=sizes, adapters={"m": None, "l": "lora"}.get
    )
    text = "".join(tokenizing.chunks(TALK, tools=[TOOL]))
    for _ in range(2):
        done = read(chat(tools=[TOOL]), reader=reader, salt="s")
        assert done.tokens == {16: Keys(token_keys(directory, text, 16, None, "s"), 16, exact=True)}
        assert done.unread is None
    sizes.add(32)
    done = read(chat(tools=[TOOL], model="l"), reader=reader)
    assert set(done.tokens) == {16, 32}
    assert done.tokens[32].keys == token_keys(directory, text, 32, "lora", None)
    ids = FileTokenizer(directory).encode(text, add_special_tokens=False)
    assert done.prompt_tokens == len(ids)


def test_block_sizes_may_be_asked_for_at_each_request(directory: Path) -> None:
    """By a function, as replicas come and go."""
    sizes = [(8,), ()]
    reader = PromptReader(tokenizing=PromptTokenizer(directory), block_sizes=sizes.pop)
    assert read(chat(), reader=reader).tokens == {}
    assert set(read(chat(), reader=reader).tokens) == {8}


def test_completions_are_tokenized(directory: Path) -> None:
    """A text, the first of several, and ids as they are."""
    reader = PromptReader(tokenizing=PromptTokenizer(directory), block_sizes={4})
    text = "the quick brown fox <|im_end|> says"
    expected = token_keys(directory, text, 4, None, None)
    ids = FileTokenizer(directory).encode(text, add_special_tokens=True)
    for prompt in (text, [text, "other"], ids, [ids, [1]]):
        done = read({"prompt": prompt}, "/v1/completions", reader=reader)
        assert done.tokens[4].keys == expected
        assert done.prompt_tokens == len(ids)


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses", CHAT])
def test_the_same_conversation_has_the_same_tokens_in_every_api(directory: Path, path: str) -> None:
    """As engines make one chat of them all."""
    reader = PromptReader(tokenizing=PromptTokenizer(directory), block_sizes={4})
    content = str(SYSTEM["content"])
    bodies: dict[str, dict[str, Any]] = {
        CHAT: chat(),
        "/v1/messages": {"system": content, "messages": TALK[1:]},
        "/v1/responses": {"instructions": content, "input": TALK[1:]},
    }
    done = read(bodies[path], path, reader=reader)
    text = "".join(PromptTokenizer(directory).chunks(TALK))
    assert done.tokens[4].keys == token_keys(directory, text, 4, None, None)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"chat_template": "x"}, "the request brings its own chat template"),
        ({"documents": [{}]}, "the request brings documents"),
        ({"messages": "x"}, "messages is no list with messages"),
        ({"messages": []}, "messages is no list with messages"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            "a message has parts that are not text",
        ),
        ({"messages": [{"role": "user", "content": "x"}, 5]}, "a message has no role"),
        ({"tools": [5]}, "a tool is no function"),
    ],
)
def test_what_cannot_be_tokenized_says_why_and_keeps_text_keys(
    directory: Path, fields: dict[str, Any], why: str
) -> None:
    """In words that repeat nothing of the prompt."""
    reader = PromptReader(tokenizing=PromptTokenizer(directory), block_sizes={16})
    done = read(chat(**fields), reader=reader)
    assert done.unread == why
    assert done.tokens == {}
    assert done.prompt_tokens is None
    assert done.text is not None


def test_a_template_that_fails_is_no_failure_here(tmp_path: Path) -> None:
    """Nor does its message, which may repeat the prompt, go any further."""
    where = model_directory(tmp_path, "{{ raise_exception(messages[0].content) }}")
    reader = PromptReader(tokenizing=PromptTokenizer(where), block_sizes={16})
    assert read(chat(), reader=reader).unread == "the template or the tokenizer refuses the prompt"


def test_text_keys_beside_token_keys_may_be_those_of_the_beginning(directory: Path) -> None:
    """Where every seat's block size is known; a prompt without tokens has all of them anyway."""
    tokenizing = PromptTokenizer(directory)
    body = chat({"role": "user", "content": "the quick brown fox " * 5000})
    whole = text_keys(body, reader=PromptReader(tokenizing=tokenizing, block_sizes={16}))
    reader = PromptReader(tokenizing=tokenizing, block_sizes={16}, whole_text=lambda: False)
    assert text_keys(body, reader=reader) == whole[:512]
    assert read(body, reader=reader).text_bytes > 100_000
    assert len(text_keys({**body, "documents": [1]}, reader=reader)) > 700


def test_the_last_of_equal_members_counts() -> None:
    """As replicas read it."""
    body = b'{"model":"a","messages":[1],"model":"b","messages":[{"role":"user","content":"x"}]}'
    assert read(body).model == "b"
    assert read(body).text_bytes == len(b'[{"role":"user","content":"x"}')


def test_a_model_name_that_is_no_name_is_none() -> None:
    """Neither a number nor a page of text; with no adapter asked for."""
    asked: list[str] = []

    def adapters(model: str) -> None:
        asked.append(model)

    for model in (5, None, "x" * 600, ["m"]):
        assert read(chat(model=model), reader=PromptReader(adapters=adapters)).model is None
    assert asked == []


def test_remembered_prompts_stay_under_their_bounds(directory: Path) -> None:
    """Over many long prompts, of text and of tokens."""
    tokenizing = PromptTokenizer(directory, memo_bytes=50_000)
    reader = PromptReader(tokenizing=tokenizing, block_sizes={16}, text_memo_bytes=20_000)
    for i in range(40):
        read(chat({"role": "user", "content": f"{i} " * 5000}, *TALK), reader=reader)
    assert 0 < reader.memo.used_bytes <= 20_000
    assert 0 < tokenizing.memo.used_bytes <= 50_000
    reader.memo.check()
    tokenizing.memo.check()


def reading(reads: Reads, directory: Path | None = None) -> PromptReader:
    """A reader for a policy that looks at so much."""
    tokenizing = PromptTokenizer(directory) if directory is not None else None
    return PromptReader(
        tokenizing=tokenizing,
        block_sizes=(16,),
        session_headers=("X-Session-Id",),
        reads=lambda: reads,
    )


def test_no_prompt_is_read_for_a_policy_that_looks_at_none(directory: Path) -> None:
    """What else a request says is: its model, whether it streams, and its size."""
    body = json.dumps(
        chat(stream=True, stream_options={"include_usage": False}, max_tokens=7, user="u")
    ).encode()
    prompt = read(body, reader=reading(Reads.NOTHING, directory))
    assert prompt == Prompt(
        api=Api.CHAT,
        model="m",
        stream=True,
        wants_usage=False,
        session=None,
        text=None,
        text_bytes=len(body),
    )


def test_only_the_head_is_read_for_a_policy_that_goes_by_sessions(directory: Path) -> None:
    """And only of a prompt without a session."""
    reader = reading(Reads.SESSION, directory)
    bare = read(chat(), reader=reader)
    assert bare.text is not None
    assert bare.text.keys == text_keys(chat())[:8]
    assert not bare.tokens
    headers = ((b"x-session-id", b"s"),)
    assert read(chat(), reader=reader, headers=headers).text is None


@pytest.mark.parametrize("reads", list(Reads))
def test_the_session_is_read_for_a_policy_that_goes_by_it(reads: Reads) -> None:
    """For no other; also where there is no body, or none that can be read."""
    expected = "-/s" if reads is Reads.SESSION else None
    for body in (b"", b"{", json.dumps(chat(user="u")).encode()):
        prompt = read(body, reader=reading(reads), headers=((b"x-session-id", b"s"),))
        assert prompt.session == expected


def test_the_first_of_headers_that_are_sent_twice_says_the_session() -> None:
    """Whatever its case, and before headers that are named later."""
    reader = PromptReader(session_headers=("X-One", "x-two"))
    headers = [(b"X-TWO", b"b"), (b"x-one", b" a "), (b"X-One", b"c"), (b"other", b"d")]
    assert read(chat(), reader=reader, headers=headers).session == "-/a"
    assert read(chat(), reader=reader, headers=[(b"x-one", b" "), headers[0]]).session == "-/b"


@pytest.mark.parametrize("length", [0, 100, 127, 128, 8_100, 8_192, 8_193, 9_000, 20_000])
def test_short_and_long_texts_have_the_same_keys(length: int) -> None:
    """Whether or not beginnings are remembered: a conversation grows from one into the other."""
    rng = Random(length)
    prompt = "".join(rng.choices("abcdefgh", k=length))
    body = {"model": "m", "prompt": prompt}
    text = ('"' + prompt).encode()
    units = [text[at : at + 128] for at in range(0, len(text) - 127, 128)]
    expected: list[int] = []
    extend_keys(expected, root_key("m", None, None), units)
    reader = PromptReader()
    for _ in range(2):
        assert text_keys(body, "/v1/completions", reader=reader) == expected
    more = text_keys({**body, "prompt": prompt + "x" * 300}, "/v1/completions", reader=reader)
    assert more[: len(expected)] == expected


def test_many_models_and_salts_take_little_memory() -> None:
    """Their roots are remembered up to a number, and none that is long."""
    reader = PromptReader()
    for number in range(2_000):
        read(chat(), reader=reader, salt=f"s{number}")
    assert len(reader._roots) <= 1024
    reader._roots.clear()
    read(chat(), reader=reader, salt="s" * 1000)
    assert not reader._roots
