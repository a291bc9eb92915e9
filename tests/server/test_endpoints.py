"""Each endpoint, from its body to its answer."""

from collections.abc import Mapping, Sequence

import pytest

from stemcache.server.source import TextSide
from stemcache.text.chat_template import PlainTemplate
from stemcache.text.tokenizer import ByteTokenizer
from tests.server.stage import Stage, play

HELLO = [{"role": "user", "content": "hi"}]


class Marked(ByteTokenizer):
    """Begins a text with a special token, where asked to."""

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        return [*([256] if add_special_tokens else []), *text.encode()]


class Telling(PlainTemplate):
    """Writes down all that it is given."""

    def render(
        self,
        messages: Sequence[Mapping[str, object]],
        *,
        tools: Sequence[Mapping[str, object]] = (),
        add_generation_prompt: bool = True,
        values: Mapping[str, object] | None = None,
    ) -> str:
        names = [str(message["role"]) for message in messages]
        return f"{names} {len(tools)} {add_generation_prompt} {dict(values or {})}"


TEXT = TextSide(Marked(), Telling())


@pytest.mark.parametrize(
    ("path", "fields", "expected"),
    [
        ("/v1/completions", {"prompt": "ab"}, 3),
        ("/v1/completions", {"prompt": [97, 98]}, 2),
        ("/v1/chat/completions", {"messages": HELLO}, len("['user'] 0 True {}")),
    ],
)
def test_special_tokens_are_added_to_plain_text_alone(
    path: str, fields: dict[str, object], expected: int
) -> None:
    """A template has written those that the model expects, and ids are taken as they are."""

    async def body(stage: Stage) -> None:
        answered = await stage.ask("POST", path, {"model": "toy", "max_tokens": 1, **fields})

        assert expected == answered.json()["usage"]["prompt_tokens"]

    play(body, text=TEXT)


def test_a_template_gets_tools_and_values() -> None:
    """With the beginning of the answer, which chat always asks for."""
    tool = {"type": "function", "function": {"name": "f"}}

    async def body(stage: Stage) -> None:
        answered = await stage.ask(
            "POST",
            "/v1/chat/completions",
            {
                "model": "toy",
                "messages": HELLO,
                "tools": [tool],
                "chat_template_kwargs": {"think": False},
                "max_tokens": 1,
            },
        )

        expected = len("['user'] 1 True {'think': False}")
        assert expected == answered.json()["usage"]["prompt_tokens"]

    play(body, text=TEXT)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"prompt": "ab"}, [256, 97, 98]),
        ({"prompt": "ab", "add_special_tokens": False}, [97, 98]),
        ({"messages": HELLO}, list(b"['user'] 0 True {}")),
        ({"messages": HELLO, "add_special_tokens": True}, [256, *b"['user'] 0 True {}"]),
        ({"messages": HELLO, "add_generation_prompt": False}, list(b"['user'] 0 False {}")),
        (
            {"messages": HELLO, "chat_template_kwargs": {"a": 1}},
            list(b"['user'] 0 True {'a': 1}"),
        ),
        ({"prompt": ""}, [256]),
        ({"prompt": "", "add_special_tokens": False}, []),
    ],
)
def test_tokenize_does_what_was_asked(fields: dict[str, object], expected: list[int]) -> None:
    """Count and ids agree, and nothing else is said unasked."""

    async def body(stage: Stage) -> None:
        answered = await stage.ask("POST", "/tokenize", fields)

        assert {
            "tokens": expected,
            "count": len(expected),
            "max_model_len": 4096,
            "token_strs": None,
        } == answered.json()

    play(body, text=TEXT)


def test_tokens_are_spelled_where_asked() -> None:
    """Each on its own, so half a character is what one can show of it."""

    async def body(stage: Stage) -> None:
        answered = await stage.ask("POST", "/tokenize", {"prompt": "aé", "return_token_strs": True})

        assert ["a", "\ufffd", "\ufffd"] == answered.json()["token_strs"]

    play(body)


def test_no_tokens_are_no_text() -> None:
    """An empty list is a list."""

    async def body(stage: Stage) -> None:
        answered = await stage.ask("POST", "/detokenize", {"tokens": []})

        assert (200, {"prompt": ""}) == (answered.status, answered.json())

    play(body)


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/tokenize", {"model": "gpt-9", "prompt": "a"}),
        ("/detokenize", {"model": "gpt-9", "tokens": [1]}),
        ("/v1/completions", {"model": "gpt-9", "prompt": "a"}),
        ("/v1/chat/completions", {"model": "gpt-9", "messages": HELLO}),
    ],
)
def test_every_endpoint_refuses_another_model(path: str, fields: dict[str, object]) -> None:
    """The tokens of one model are not another's."""

    async def body(stage: Stage) -> None:
        answered = await stage.ask("POST", path, fields)

        assert 404 == answered.status
        assert {
            "message": "the model 'gpt-9' is not served here; use 'toy'",
            "type": "invalid_request_error",
            "param": "model",
            "code": "model_not_found",
        } == answered.error()

    play(body)


@pytest.mark.parametrize(
    ("path", "fields", "message", "param"),
    [
        (
            "/detokenize",
            {"tokens": [97, 257]},
            (
                "tokens holds token 257, and the vocabulary ends at 256; send ids of the served "
                "model's tokenizer"
            ),
            "tokens",
        ),
        (
            "/v1/completions",
            {"model": "toy", "prompt": [[97], [300]]},
            (
                "prompt holds token 300, and the vocabulary ends at 256; send ids of the served "
                "model's tokenizer"
            ),
            "prompt",
        ),
        (
            "/v1/completions",
            {"model": "toy", "prompt": ["a", ""]},
            "prompt is empty; send at least one token",
            "prompt",
        ),
        (
            "/v1/completions",
            {"model": "toy", "prompt": [97] * 4000, "max_tokens": 97},
            (
                "the prompt has 4000 tokens and max_tokens is 97, and both may have 4096 "
                "together; lower max_tokens to 96 or shorten the prompt"
            ),
            "max_tokens",
        ),
        (
            "/v1/completions",
            {"model": "toy", "prompt": [97] * 4096},
            (
                "the prompt has 4096 tokens, and prompt and answer may have 4096 together; "
                "shorten it"
            ),
            "prompt",
        ),
        (
            "/v1/completions",
            {"model": "toy", "prompt": ["a"] * 600, "n": 2},
            (
                "the request asks for 1200 answers, and the queue takes 1024; send fewer prompts "
                "or a smaller n"
            ),
            "n",
        ),
        (
            "/v1/completions",
            {"model": "toy", "prompt": "a", "temperature": 2.5},
            "temperature is 2.5; use a number from 0 to 2",
            "temperature",
        ),
        (
            "/v1/completions",
            {"model": "toy", "prompt": "a", "top_p": 0},
            "top_p is 0.0; use a number above 0 and up to 1",
            "top_p",
        ),
        (
            "/v1/completions",
            {"model": "toy", "prompt": "a", "top_k": -2},
            "top_k is -2; use 0 (all) or more",
            "top_k",
        ),
        (
            "/v1/completions",
            {"model": "toy", "prompt": "a", "seed": -(2**63) - 1},
            "seed does not fit 64 bits; use a smaller one",
            "seed",
        ),
    ],
)
def test_what_only_the_server_can_know_is_refused_here(
    path: str, fields: dict[str, object], message: str, param: str
) -> None:
    """Vocabulary, capacity and ranges, each with its field."""

    async def body(stage: Stage) -> None:
        answered = await stage.ask("POST", path, fields)

        assert 400 == answered.status
        assert (message, param) == (answered.error()["message"], answered.error()["param"])

    play(body)


def test_the_served_model_has_a_card() -> None:
    """Alone and in the list, with the length of its context."""
    card = {
        "id": "toy",
        "object": "model",
        "created": 1000,
        "owned_by": "stemcache",
        "max_model_len": 4096,
    }

    async def body(stage: Stage) -> None:
        alone = await stage.ask("GET", "/v1/models/toy")
        listed = await stage.ask("GET", "/v1/models")
        other = await stage.ask("GET", "/v1/models/org/other")

        assert card == alone.json()
        assert {"object": "list", "data": [card]} == listed.json()
        assert (404, "the model 'org/other' is not served here; use 'toy'") == (
            other.status,
            other.error()["message"],
        )

    play(body)


def test_health_follows_the_server() -> None:
    """Fine, then draining, then failed: who has lost its engine is not merely draining."""

    async def body(stage: Stage) -> None:
        found = []
        for change in ("none", "drain", "die"):
            if change == "drain":
                stage.service.draining = True
            if change == "die":
                stage.engine.die()
                await stage.service.client.ended.wait()
            answered = await stage.ask("GET", "/health")
            found.append((answered.status, answered.json()["status"]))

        assert [(200, "ok"), (503, "draining"), (503, "failed")] == found

    play(body)


def test_a_dead_engine_is_told_by_health_and_shown_as_it_last_was() -> None:
    """Metrics go on for whoever looks at what happened; the rest is a 500."""

    async def body(stage: Stage) -> None:
        await stage.complete(prompt=[65] * 40)
        stage.engine.die()
        await stage.service.client.ended.wait()
        health = await stage.ask("GET", "/health")
        metrics = await stage.ask("GET", "/metrics")
        reset = await stage.ask("POST", "/reset_prefix_cache")

        assert (503, {"status": "failed"}) == (health.status, health.json())
        assert 200 == metrics.status
        assert 40 == stage.metrics()["prompt_tokens_total"]
        assert 500 == reset.status
        assert (
            "the engine's process has ended; restart the server (its log says why)"
        ) == reset.error()["message"]

    play(body)


def test_metrics_say_what_they_are() -> None:
    """Prometheus asks for its own text format."""

    async def body(stage: Stage) -> None:
        answered = await stage.ask("GET", "/metrics")

        assert "text/plain; version=0.0.4; charset=utf-8" == answered.headers["content-type"]
        assert b"\nstemcache_pages_capacity 341.0\n" in answered.body

    play(body)


def test_a_reset_is_in_the_log() -> None:
    """With what it dropped."""

    async def body(stage: Stage) -> None:
        await stage.complete(prompt=[65] * 40)
        await stage.ask("POST", "/reset_prefix_cache")

        assert 2 == stage.lines()[-1]["dropped_blocks"]

    play(body)


def test_every_answer_has_the_heading_of_its_request() -> None:
    """Id, time, model and fingerprint are those of the server."""

    async def body(stage: Stage) -> None:
        answered = await stage.complete()
        found = answered.json()

        assert answered.headers["x-request-id"] == found["id"]
        assert (1234, "toy", "fp_1") == (
            found["created"],
            found["model"],
            found["system_fingerprint"],
        )

    play(body)


def test_the_longest_sequence_told_is_what_is_served() -> None:
    """Where the KV memory is smaller than the model's context, it decides."""

    async def body(stage: Stage) -> None:
        capacity = stage.service.client.capacity_tokens
        listed = await stage.ask("GET", "/v1/models")
        tokenized = await stage.ask("POST", "/tokenize", {"prompt": "a"})

        assert capacity < stage.service.client.info.context_tokens
        assert capacity == listed.json()["data"][0]["max_model_len"]
        assert capacity == tokenized.json()["max_model_len"]

    play(body, kv_memory_bytes=2**12)
