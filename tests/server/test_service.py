"""What handlers share: names, texts, and where long ones are dealt with."""

import asyncio
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec
import pytest

from stemcache.errors import ContextOverflowError
from stemcache.server.refusal import HttpError
from stemcache.server.service import ServiceSettings
from stemcache.server.source import TextSide
from stemcache.text.chat_template import PlainTemplate
from stemcache.text.tokenizer import ByteTokenizer
from tests.server.stage import Stage, play

MAIN = threading.get_ident()


class Watched(ByteTokenizer):
    """Notes in which thread it works."""

    def __init__(self) -> None:
        self.threads: list[bool] = []

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        self.threads.append(threading.get_ident() == MAIN)
        return super().encode(text, add_special_tokens=add_special_tokens)

    def decode(self, tokens: Sequence[int]) -> str:
        self.threads.append(threading.get_ident() == MAIN)
        return super().decode(tokens)


class Unbounded(ByteTokenizer):
    """Nothing is known of how much a token stands for."""

    @property
    def longest_token_bytes(self) -> None:  # type: ignore[override]  # as some tokenizers' is
        return None


class WatchedTemplate(PlainTemplate):
    """Notes in which thread it works."""

    def __init__(self) -> None:
        self.threads: list[bool] = []

    def render(
        self,
        messages: Sequence[Mapping[str, object]],
        *,
        tools: Sequence[Mapping[str, object]] = (),
        add_generation_prompt: bool = True,
        values: Mapping[str, object] | None = None,
    ) -> str:
        self.threads.append(threading.get_ident() == MAIN)
        return super().render(
            messages, tools=tools, add_generation_prompt=add_generation_prompt, values=values
        )


def test_settings_ask_for_no_key_and_take_sixteen_mebibytes() -> None:
    """Unless the user says otherwise."""
    settings = ServiceSettings(model_name="m")

    assert (None, 16 * 2**20) == (settings.api_key, settings.max_body_bytes)


def test_the_fingerprint_is_that_of_the_weights() -> None:
    """Twelve characters of their digest are enough."""

    async def body(stage: Stage) -> None:
        client = stage.service.client
        client.info = replace(client.info, revision="0123456789abcdef")

        assert "fp_0123456789ab" == stage.service.fingerprint

    play(body)


def test_another_models_name_is_refused() -> None:
    """No name, or the served one, is what is served."""

    async def body(stage: Stage) -> None:
        stage.service.check_model(None)
        stage.service.check_model("toy")
        with pytest.raises(HttpError) as caught:
            stage.service.check_model("gpt-9")

        assert "the model 'gpt-9' is not served here; use 'toy'" == str(caught.value)
        assert (404, "model_not_found", "model") == (
            caught.value.status,
            caught.value.code,
            caught.value.param,
        )

    play(body)


def test_a_text_that_cannot_fit_is_refused_before_it_is_tokenized() -> None:
    """Its length alone says so, where the longest token is known."""
    watched = Watched()

    async def body(stage: Stage) -> None:
        async def ask(text: str) -> list[int]:
            (tokens,) = await stage.service.tokenize_prompts(
                [text], add_special_tokens=True, param="prompt"
            )
            return tokens

        with pytest.raises(ContextOverflowError) as caught:
            await ask("x" * 4097)

        assert (
            "the text has 4097 characters, which are at least 4097 tokens, and prompt and answer "
            "may have 4096 together; shorten it"
        ) == str(caught.value)
        assert "prompt" == caught.value.param
        assert [] == watched.threads
        assert 4096 == len(await ask("x" * 4096))
        assert 1 == len(watched.threads)

    play(body, text=TextSide(watched, PlainTemplate()))


def test_without_a_bound_any_text_is_tokenized() -> None:
    """The number of its tokens is looked at later."""

    async def body(stage: Stage) -> None:
        (tokens,) = await stage.service.tokenize_prompts(
            ["x" * 9000], add_special_tokens=True, param="prompt"
        )

        assert 9000 == len(tokens)

    play(body, text=TextSide(Unbounded(), PlainTemplate()))


@pytest.mark.parametrize(("length", "inline"), [(0, True), (4096, True), (4097, False)])
def test_long_texts_hold_up_nobodys_stream(length: int, *, inline: bool) -> None:
    """Short ones are dealt with at once; long ones in a thread."""
    watched, template = Watched(), WatchedTemplate()

    async def body(stage: Stage) -> None:
        await stage.service.tokenize("x" * length, add_special_tokens=True)
        await stage.service.render(
            [{"role": "user", "content": "x" * length}],
            tools=(),
            add_generation_prompt=True,
            values={},
            body_bytes=length,
        )

        assert [inline] == watched.threads == template.threads

    play(body, text=TextSide(watched, template))


@pytest.mark.parametrize(("count", "inline"), [(10, True), (4000, False)])
def test_long_lists_of_tokens_hold_up_nobodys_stream(count: int, *, inline: bool) -> None:
    """To become text, or to be shown as texts, they go to a thread as well."""
    watched = Watched()

    async def body(stage: Stage) -> None:
        back = await stage.ask("POST", "/detokenize", {"tokens": [97] * count})
        shown = await stage.ask(
            "POST", "/tokenize", {"prompt": "a" * count * 2, "return_token_strs": True}
        )

        assert {"prompt": "a" * count} == back.json()
        assert ["a"] * count * 2 == shown.json()["token_strs"]
        assert {inline} == set(watched.threads)

    play(body, text=TextSide(watched, PlainTemplate()))


def test_many_short_prompts_hold_up_nobodys_stream() -> None:
    """Together they are as long as one long text, so they go to a thread as well."""
    watched = Watched()

    async def body(stage: Stage) -> None:
        await stage.service.tokenize_prompts(
            ["x" * 3000, [1], "y" * 3000], add_special_tokens=True, param="prompt"
        )

        assert [False, False] == watched.threads

    play(body, text=TextSide(watched, PlainTemplate()))


def test_long_tools_hold_up_nobodys_stream() -> None:
    """A template writes tools and calls too, so the whole body says how long it takes."""
    template = WatchedTemplate()
    call = {"type": "function", "function": {"name": "f", "arguments": "x" * 5000}}
    talk = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "content": "x"},
    ]

    async def body(stage: Stage) -> None:
        answered = await stage.ask("POST", "/tokenize", {"messages": talk})

        assert 200 == answered.status
        assert [False] == template.threads

    play(body, text=TextSide(ByteTokenizer(), template))


def test_too_many_answers_are_refused_before_anything_is_tokenized() -> None:
    """Ten kilobytes may ask for 262,144 answers, which would take seconds to plan."""
    watched = Watched()

    async def body(stage: Stage) -> None:
        answered = await stage.complete(prompt=["a"] * 2048, n=128)

        assert 400 == answered.status
        assert "asks for 262144 answers, and the queue takes 1024" in answered.error()["message"]
        assert [] == watched.threads

    play(body, text=TextSide(watched, PlainTemplate()))


def test_the_longest_answer_of_tokenize_is_written_in_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ten megabytes of tokens take long to become JSON."""
    inline: list[bool] = []
    encode = msgspec.json.encode

    def watched(value: object) -> bytes:
        inline.append(threading.get_ident() == MAIN)
        return encode(value)

    async def body(stage: Stage) -> None:
        monkeypatch.setattr("stemcache.server.endpoints.msgspec.json.encode", watched)
        await stage.ask("POST", "/tokenize", {"prompt": "a" * 5000})
        await stage.ask("POST", "/detokenize", {"tokens": [97] * 5000})
        monkeypatch.undo()

        assert [False, False] == inline

    play(body, text=TextSide(ByteTokenizer(), PlainTemplate()))


def test_what_goes_wrong_aside_comes_back() -> None:
    """An error in the thread is the caller's."""

    async def body(stage: Stage) -> None:
        def fail() -> int:
            raise LookupError("lost")

        for size in (1, 10_000):
            with pytest.raises(LookupError, match="lost"):
                await stage.service.aside(size, fail)
        assert asyncio.get_running_loop().is_running()

    play(body)
