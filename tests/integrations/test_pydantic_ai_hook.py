"""The capability in real agents of pydantic-ai, on the real clients, against a server of ours."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="needs pydantic-ai; see scripts/test-peers")

from pydantic_ai import Agent, CachePoint
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from stemcache.integrations.live_tell import CacheWarning
from stemcache.integrations.pydantic_ai_hook import PrefixCache
from stemcache.prompt.volatile.check import VolatileError
from tests.integrations.asked import CLOCKS, KEY, RULES
from tests.integrations.fake_models import FakeModels
from tests.integrations.marks import marks_of

pytestmark = pytest.mark.filterwarnings("ignore")  # pydantic-ai's own


@pytest.fixture
def ours() -> Iterator[PrefixCache]:
    """A capability of this test's own."""
    made = PrefixCache()
    yield made
    made.close()


def claude(models: FakeModels) -> Any:
    """A model that sends Messages."""
    provider = AnthropicProvider(api_key=KEY, base_url=models.url)
    return AnthropicModel("claude-opus-5", provider=provider)


def gpt(models: FakeModels) -> Any:
    """A model that sends chats."""
    provider = OpenAIProvider(api_key=KEY, base_url=f"{models.url}/v1")
    return OpenAIChatModel("gpt-5.6", provider=provider)


def ask(made: Any, *prompts: Any, stream: bool = False) -> None:
    """Questions, one run each."""

    async def main() -> None:
        for prompt in prompts:
            if stream:
                async with made.run_stream(prompt) as answer:
                    assert await answer.get_output() == "Very well."
            else:
                assert (await made.run(prompt)).output == "Very well."

    asyncio.run(main())


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize(
    ("make", "marks"),
    [
        (claude, {"/system/0", "/messages/0/content/0"}),
        (gpt, {"/messages/0/content/0"}),
    ],
)
def test_marks_are_placed_and_calls_added_up(
    models: FakeModels, ours: PrefixCache, make: Any, marks: set[str], *, stream: bool
) -> None:
    """In the body as it is sent; usage as the provider reports it."""
    ask(Agent(make(models), instructions=RULES, capabilities=[ours]), "1", "2", "3", stream=stream)
    found = ours.summary()
    assert [set(marks_of(body)) for body in models.bodies] == [marks] * 3
    assert (found.calls, found.failed) == (3, 0)
    assert (found.hit_rate or 0) > 0.6


def test_agents_beside_it_are_not_marked(models: FakeModels, ours: PrefixCache) -> None:
    """Though they share the model."""
    model = gpt(models)
    ask(Agent(model, instructions=RULES, capabilities=[ours]), "1")
    ask(Agent(model, instructions=RULES), "2")
    assert [bool(marks_of(body)) for body in models.bodies] == [True, False]


def test_marks_of_others_stay(models: FakeModels, ours: PrefixCache) -> None:
    """A point that the prompt has is what is sent."""
    ask(
        Agent(claude(models), instructions=RULES, capabilities=[ours]), ["One", CachePoint(), "two"]
    )
    assert marks_of(models.bodies[0]) == ["/messages/0/content/0"]


def test_marks_may_be_left_out(models: FakeModels) -> None:
    """To look only."""
    ours = PrefixCache(marks=False)
    ask(Agent(claude(models), instructions=RULES, capabilities=[ours]), "1")
    assert marks_of(models.bodies[0]) == []
    assert ours.summary().calls == 1
    ours.close()


def test_a_clock_in_the_instructions_is_refused(models: FakeModels) -> None:
    """Before anything is sent, with its place and where it belongs."""
    ours = PrefixCache(volatile="refuse")
    clock = f"It is {CLOCKS[1]}. {RULES}"
    for made in (
        Agent(claude(models), instructions=clock, capabilities=[ours]),
        Agent(claude(models), system_prompt=clock, capabilities=[ours]),
        Agent(TestModel(), instructions=clock, capabilities=[ours]),
    ):
        with pytest.raises(VolatileError, match="has an ISO time with seconds at character 6"):
            ask(made, "1")
    assert models.bodies == []
    ours.close()


def test_a_clock_in_the_instructions_is_warned_of_once(
    models: FakeModels, ours: PrefixCache
) -> None:
    """However often it is sent."""
    made = Agent(claude(models), instructions=f"It is {CLOCKS[1]}. {RULES}", capabilities=[ours])
    with pytest.warns(CacheWarning) as warned:
        ask(made, "1", "2")
    assert len([one for one in warned if one.category is CacheWarning]) == 1
    assert ours.summary().calls == 2


def test_models_of_another_make_are_left_alone(ours: PrefixCache) -> None:
    """They answer as ever."""
    made = Agent(TestModel(custom_output_text="Very well."), capabilities=[ours])
    ask(made, "1")
    assert ours.summary().calls == 0
