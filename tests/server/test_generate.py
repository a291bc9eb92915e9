"""From a plan to an answer: what goes out, what is measured, what the log says."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stemcache.engine.model import Logits, Model, ModelInfo, Step
from stemcache.engine.request import GenerationRequest
from stemcache.errors import QueueFullError
from stemcache.server.source import ToySource
from tests.server.stage import Answered, Stage, play


class Reciting:
    """The toy model, saying always the same text, then its end."""

    def __init__(self, text: bytes) -> None:
        self._model: Model = ToySource().load_model()
        self._text = text
        self._prompts: dict[int, int] = {}

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    def allocate(self, pages: int, block_size: int) -> None:
        self._model.allocate(pages, block_size)

    def forward(self, steps: Sequence[Step]) -> Logits:
        logits = self._model.forward(steps)
        for row, step in zip(logits, [step for step in steps if step.sample], strict=True):
            end = step.start + len(step.tokens)
            page = int(step.pages[0])
            if step.start == 0:
                self._prompts[page] = end
            said = end - self._prompts[page]
            row[:] = 0.0
            row[self._text[said] if said < len(self._text) else 256] = 50.0
        return np.asarray(logits, np.float32)


def recite(body: Any, text: str, **options: Any) -> None:
    """Run with a model that recites, and keeps nothing."""
    play(body, model=Reciting(text.encode()), prefix_caching=False, **options)


def texts(answered: Answered) -> list[str]:
    """What each event of a stream of completions adds."""
    *chunks, done = answered.events()
    assert done == "[DONE]"
    return [chunk["choices"][0]["text"] for chunk in chunks if chunk["choices"]]


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_ends_where_the_model_ends_it(stream: object) -> None:
    """The end itself is neither shown nor counted."""

    async def body(stage: Stage) -> None:
        options = {"stream_options": {"include_usage": True}} if stream else {}
        answered = await stage.complete(
            ignore_eos=False, max_tokens=50, stream=stream, temperature=0, **options
        )
        said = "".join(texts(answered)) if stream else answered.json()["choices"][0]["text"]
        last = answered.events()[-2] if stream else answered.json()

        assert "Grüße" == said
        assert {
            "prompt_tokens": 2,
            "completion_tokens": 7,
            "total_tokens": 9,
            "prompt_tokens_details": {"cached_tokens": 0},
        } == last["usage"]

    recite(body, "Grüße")


def test_a_character_goes_out_when_it_is_whole() -> None:
    """The first half of one is no event; the end of the answer is."""

    async def body(stage: Stage) -> None:
        answered = await stage.complete(ignore_eos=False, max_tokens=50, stream=True, temperature=0)

        assert ["G", "r", "ü", "ß", "e", ""] == texts(answered)

    recite(body, "Grüße")


@pytest.mark.parametrize("stream", [False, True])
def test_a_stop_string_ends_the_engines_work_too(stream: object) -> None:
    """Its tokens count as generated; the engine is told to stop, and the log agrees."""

    async def body(stage: Stage) -> None:
        answered = await stage.complete(stop=["E#F"], max_tokens=2000, stream=stream, temperature=0)
        await stage.settle()
        said = "".join(texts(answered)) if stream else answered.json()["choices"][0]["text"]
        reasons = [
            event["choices"][0]["finish_reason"]
            for event in (answered.events()[:-1] if stream else [answered.json()])
        ]
        (line,) = stage.lines()

        assert "ABCD" == said
        assert "stop" == reasons[-1]
        assert {None} >= set(reasons[:-1])
        assert 7 == line["completion_tokens"]
        assert 1 == stage.service.client.stats.cancelled

    recite(body, "ABCDE#FGH" + "x" * 2000)


def test_a_stream_of_chat_opens_each_choice_with_its_role() -> None:
    """Once, before any of its text, and closes it with a reason."""

    async def body(stage: Stage) -> None:
        given = {
            "model": "toy",
            "messages": [{"role": "user", "content": "hi"}],
            "n": 3,
            "stream": True,
            "max_tokens": 4,
            "ignore_eos": True,
        }
        answered = await stage.ask("POST", "/v1/chat/completions", given)
        *chunks, done = answered.events()
        by_choice: dict[int, list[Any]] = {0: [], 1: [], 2: []}
        for chunk in chunks:
            (choice,) = chunk["choices"]
            by_choice[choice["index"]].append(choice)

        assert "[DONE]" == done
        for choices in by_choice.values():
            assert {"role": "assistant", "content": ""} == choices[0]["delta"]
            assert not any("role" in choice["delta"] for choice in choices[1:])
            assert [None] * (len(choices) - 1) + ["length"] == [
                choice["finish_reason"] for choice in choices
            ]
            assert {} == choices[-1]["delta"]

    play(body)


@pytest.mark.parametrize("stream", [False, True])
def test_what_the_engine_refuses_has_a_status_of_its_own(stream: object) -> None:
    """A stream does not begin before the engine took its requests."""

    async def body(stage: Stage) -> None:
        # What the server knows of the vocabulary is more than the engine does.
        client = stage.service.client
        client.info = replace(client.info, vocabulary=10_000)
        answered = await stage.complete(prompt=[999], stream=stream)

        assert 400 == answered.status
        assert (
            "token id 999 in the prompt is outside the vocabulary; use 0 to 256"
        ) == answered.error()["message"]

    play(body)


@pytest.mark.parametrize("stream", [False, True])
def test_a_queue_that_fills_on_the_way_is_a_503(stream: object) -> None:
    """The engine has the last word; the answer says when to come back, in whole seconds."""

    async def body(stage: Stage) -> None:
        def full(requests: Sequence[GenerationRequest]) -> None:
            raise QueueFullError(f"{len(requests)} too many; try again later", retry_after_s=2.4)

        stage.service.client.submit = full  # type: ignore[method-assign,assignment]  # as if full
        answered = await stage.complete(stream=stream, n=2)
        (line,) = stage.lines()

        assert (503, "2") == (answered.status, answered.headers["retry-after"])
        assert "2 too many; try again later" == answered.error()["message"]
        assert (503, "queue_full") == (line["status"], line["error"])
        assert (2, 0, 0) == (
            line["prompt_tokens"],
            line["cached_tokens"],
            line["completion_tokens"],
        )
        assert "ttft_s" not in line

    play(body)


def test_each_prompt_counts_once_and_each_choice_whole() -> None:
    """In usage, in the log and in the share of what was cached."""

    async def body(stage: Stage) -> None:
        prompts = [[65] * 33, [66] * 50]
        await stage.complete(prompt=prompts[0])
        answered = await stage.complete(prompt=prompts, n=3, max_tokens=4)
        usage = answered.json()["usage"]
        metrics = stage.metrics()
        line = stage.lines()[-1]

        assert {
            "prompt_tokens": 83,
            "completion_tokens": 24,
            "total_tokens": 107,
            "prompt_tokens_details": {"cached_tokens": 32},
        } == usage
        assert (83, 32, 24) == (
            line["prompt_tokens"],
            line["cached_tokens"],
            line["completion_tokens"],
        )
        assert 3 == metrics["cached_share_count"]
        assert pytest.approx(32 / 33) == metrics["cached_share_sum"]

    play(body)


def test_times_are_the_clocks() -> None:
    """From arrival to the first token of any choice; between the tokens of each choice."""

    async def body(stage: Stage) -> None:
        client = stage.service.client
        submit, take = client.submit, client._take

        def late(requests: Sequence[GenerationRequest]) -> Any:
            stage.clock.advance(0.5)
            return submit(requests)

        def slow(report: Any) -> None:
            take(report)
            stage.clock.advance(0.25 if any(one.tokens for one in report.progress) else 0.0)

        client.submit = late  # type: ignore[method-assign]  # the clock goes on in it
        client._take = slow  # type: ignore[method-assign]  # the clock goes on in it
        await stage.complete(n=2, max_tokens=1)
        metrics = stage.metrics()
        line = stage.lines()[-1]

        assert 1 == metrics["time_to_first_token_seconds_count"]
        assert metrics["time_to_first_token_seconds_sum"] == line["ttft_s"]
        assert line["ttft_s"] >= 0.75
        assert line["duration_s"] >= line["ttft_s"]
        assert 0 == metrics["inter_token_seconds_count"]

        await stage.complete(n=2, max_tokens=5)

        assert 2 * 4 == stage.metrics()["inter_token_seconds_count"]

    play(body)


def test_seeds_make_streams_and_whole_answers_equal() -> None:
    """For each choice of each prompt."""

    async def body(stage: Stage) -> None:
        given: dict[str, Any] = {"prompt": ["a", "b"], "n": 2, "seed": 5, "max_tokens": 9}
        whole = (await stage.complete(**given)).json()
        streamed = ["", "", "", ""]
        for event in (await stage.complete(**given, stream=True)).events()[:-1]:
            for choice in event["choices"]:
                streamed[choice["index"]] += choice["text"]

        assert [choice["text"] for choice in whole["choices"]] == streamed
        assert 4 == len(set(streamed))

    play(body)


def test_an_engine_that_dies_fails_what_runs() -> None:
    """Whole answers are a 500 that says so; the next request is one at once."""

    async def body(stage: Stage) -> None:
        stage.engine.die()
        first = await stage.complete(max_tokens=100)
        second = await stage.complete()

        for answered in (first, second):
            assert 500 == answered.status
            assert {
                "message": (
                    "the engine's process has ended; restart the server (its log says why)"
                ),
                "type": "server_error",
                "param": None,
                "code": "engine_error",
            } == answered.error()

    play(body)
