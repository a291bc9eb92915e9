"""The middleware in real agents of LangChain, on the real clients, against a server of ours."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

for needed in ("langchain", "langchain_anthropic", "langchain_openai"):
    pytest.importorskip(needed, reason=f"needs {needed}; see scripts/test-peers")

from langchain.agents import create_agent  # noqa: E402
from langchain_anthropic import ChatAnthropic  # noqa: E402
from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware  # noqa: E402
from langchain_core.language_models import FakeListChatModel  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402

from stemcache.errors import UsageError  # noqa: E402
from stemcache.integrations.langchain_middleware import PrefixCacheMiddleware  # noqa: E402
from stemcache.integrations.live_tell import CacheWarning  # noqa: E402
from stemcache.lint.finding import Finding  # noqa: E402
from stemcache.prompt.volatile.check import VolatileError  # noqa: E402
from tests.integrations.asked import CLOCKS, KEY, RULES  # noqa: E402
from tests.integrations.fake_models import FakeModels  # noqa: E402
from tests.integrations.marks import marks_of  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # langchain's own


@pytest.fixture
def ours() -> Iterator[PrefixCacheMiddleware]:
    """A middleware of this test's own."""
    made = PrefixCacheMiddleware()
    yield made
    made.close()


def claude(models: FakeModels) -> Any:
    """A model that sends Messages."""
    return ChatAnthropic(model="claude-opus-5", base_url=models.url, api_key=KEY, max_tokens=9)


def gpt(models: FakeModels) -> Any:
    """A model that sends chats."""
    return ChatOpenAI(model="gpt-5.6", base_url=f"{models.url}/v1", api_key=KEY)


def agent(model: Any, *middleware: Any, system: str = RULES) -> Any:
    """An agent without tools."""
    return create_agent(model=model, tools=[], system_prompt=system, middleware=list(middleware))


def asked_for(number: int) -> Any:
    """What an agent is asked."""
    return {"messages": [{"role": "user", "content": f"Question {number}"}]}


def ask(made: Any, number: int, way: str = "plain") -> None:
    """One question."""
    asked = asked_for(number)
    if way == "stream":
        assert list(made.stream(asked, stream_mode="messages"))
    else:
        made.invoke(asked)


@pytest.mark.parametrize("way", ["plain", "async", "stream"])
@pytest.mark.parametrize(
    ("make", "marks"),
    [
        (claude, {"/system/0", "/messages/0/content/0"}),
        (gpt, {"/messages/0/content/0"}),
    ],
)
def test_marks_are_placed_and_calls_added_up(
    models: FakeModels, ours: PrefixCacheMiddleware, make: Any, marks: set[str], way: str
) -> None:
    """In the body as it is sent; usage as the provider reports it."""
    made = agent(make(models), ours)

    async def main() -> None:
        for number in range(3):
            await made.ainvoke(asked_for(number))

    if way == "async":
        asyncio.run(main())
    else:
        for number in range(3):
            ask(made, number, way)
    found = ours.summary()
    assert [set(marks_of(body)) for body in models.bodies] == [marks] * 3
    assert (found.calls, found.failed) == (3, 0)
    assert (found.hit_rate or 0) > 0.6


def test_models_beside_the_agent_are_not_marked(
    models: FakeModels, ours: PrefixCacheMiddleware
) -> None:
    """Though they share its HTTP client, which is LangChain's default."""
    model = claude(models)
    ask(agent(model, ours), 1)
    model.invoke([("system", RULES), ("user", "Hi")])
    assert [bool(marks_of(body)) for body in models.bodies] == [True, False]


def test_marks_of_others_stay(models: FakeModels, ours: PrefixCacheMiddleware) -> None:
    """LangChain's own caching places its marks, and we none."""
    ask(agent(claude(models), AnthropicPromptCachingMiddleware(), ours), 1)
    ask(agent(claude(models), AnthropicPromptCachingMiddleware()), 1)
    one, other = models.bodies
    assert one == other
    assert marks_of(one)


def test_marks_may_be_left_out(models: FakeModels) -> None:
    """To look only."""
    ours = PrefixCacheMiddleware(marks=False)
    ask(agent(claude(models), ours), 1)
    assert marks_of(models.bodies[0]) == []
    assert ours.summary().calls == 1
    ours.close()
    ask(agent(claude(models), ours), 2)
    assert ours.summary().calls == 1


def test_a_clock_in_the_system_prompt_is_refused(models: FakeModels) -> None:
    """Before anything is sent, with its place and where it belongs."""
    ours = PrefixCacheMiddleware(volatile="refuse")
    with pytest.raises(VolatileError, match="has an ISO time with seconds at character 6"):
        ask(agent(claude(models), ours, system=f"It is {CLOCKS[1]}. {RULES}"), 1)
    assert models.bodies == []
    ours.close()


def test_a_clock_in_the_system_prompt_is_warned_of_once(models: FakeModels) -> None:
    """And what it costs is found as calls are judged."""
    told: list[Finding] = []
    ours = PrefixCacheMiddleware(tell=told.append)
    agents = [
        agent(claude(models), ours, system=f"It is {CLOCKS[number]}. {RULES}")
        for number in range(3)
    ]
    with pytest.warns(CacheWarning) as warned:
        list(map(ask, agents, range(3)))
    assert len([one for one in warned if one.category is CacheWarning]) == 1
    assert CLOCKS[0] not in str(warned[0].message)
    assert ours.summary().calls == 3
    assert told
    ours.close()


def test_what_is_meant_to_be_there_is_allowed(models: FakeModels) -> None:
    """By its family."""
    ours = PrefixCacheMiddleware(volatile="refuse", allow=["clock"])
    ask(agent(claude(models), ours, system=f"It is {CLOCKS[1]}. {RULES}"), 1)
    assert ours.summary().calls == 1
    ours.close()


def test_models_of_another_make_are_left_alone(ours: PrefixCacheMiddleware) -> None:
    """They answer as ever."""
    made = agent(FakeListChatModel(responses=["Very well."]), ours)
    answer = made.invoke({"messages": [{"role": "user", "content": "Hi"}]})
    assert answer["messages"][-1].content == "Very well."
    assert ours.summary().calls == 0


def test_a_policy_that_there_is_not_is_an_error() -> None:
    """With those that there are."""
    with pytest.raises(UsageError, match="refuse"):
        PrefixCacheMiddleware(volatile="refuze")
