"""The callback in a real LiteLLM, which sends to a server of ours."""

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it looks on the network for prices otherwise
litellm = pytest.importorskip("litellm", reason="needs litellm; see scripts/test-peers")

from stemcache.integrations.litellm_callback import StemcacheCallback  # noqa: E402
from stemcache.lint.finding import Finding  # noqa: E402
from tests.integrations.asked import KEY, chat  # noqa: E402
from tests.integrations.fake_models import FakeModels  # noqa: E402
from tests.integrations.marks import marks_of  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # litellm's own


@pytest.fixture
def told() -> list[Finding]:
    """What was told."""
    return []


@pytest.fixture
def ours(told: list[Finding]) -> Iterator[StemcacheCallback]:
    """The callback, with marks, in place."""
    made = StemcacheCallback(marks=True, tell=told.append)
    with in_place(made):
        yield made


@contextmanager
def in_place(made: StemcacheCallback) -> Iterator[None]:
    """LiteLLM copies its callbacks into lists of its own, from where they have to be taken too."""
    litellm.callbacks = [made]
    try:
        yield
    finally:
        litellm.logging_callback_manager._reset_all_callbacks()
        made.close()


def call(models: FakeModels, number: int, *, model: str = "anthropic/claude-opus-5") -> Any:
    """Keywords of a call."""
    path = "/v1/messages" if model.startswith("anthropic/") else "/v1"
    return {
        "model": model,
        "messages": chat(number)["messages"],
        "api_base": models.url + path,
        "api_key": KEY,
        "max_tokens": 9,
        "num_retries": 0,
    }


def run(*calls: dict[str, Any]) -> None:
    """Send them one by one, and let LiteLLM say so to its callbacks."""

    async def main() -> None:
        for one in calls:
            answer = await litellm.acompletion(**one)
            if one.get("stream"):
                async for _ in answer:
                    pass
        await asyncio.sleep(0.5)

    asyncio.run(main())


def test_marks_are_placed_and_calls_added_up(ours: StemcacheCallback, models: FakeModels) -> None:
    """Behind the rules and at the end, as LiteLLM translates them; reads and writes as reported."""
    run(*(call(models, number) for number in range(3)))
    found = ours.summary()
    assert [marks_of(body) for body in models.bodies] == [
        ["/messages/0/content/0", "/system/0"]
    ] * 3
    assert (found.calls, found.failed, found.findings) == (3, 0, ())
    assert found.prompt_tokens == sum(len(one) // 4 for one in models.texts)
    assert found.written_tokens
    assert (found.hit_rate or 0) > 0.6
    assert found.cost_usd


def test_openais_breakpoints_are_placed(ours: StemcacheCallback, models: FakeModels) -> None:
    """In a chat, streamed too."""
    stream = {"stream": True, "stream_options": {"include_usage": True}}
    run(*(call(models, number, model="openai/gpt-5.6") | stream for number in range(2)))
    assert [marks_of(body) for body in models.bodies] == [["/messages/0/content/0"]] * 2
    assert '"prompt_cache_breakpoint"' in models.raw[0].decode()
    found = ours.summary()
    assert (found.calls, found.report.total.rules) == (2, {"openai-5.6": 2})
    assert found.cached_tokens


def test_where_the_caller_marks_we_stand_down(ours: StemcacheCallback, models: FakeModels) -> None:
    """Marks in the messages, and LiteLLM's own points."""
    marked = call(models, 1)
    marked["messages"][1]["cache_control"] = {"type": "ephemeral"}
    points = call(models, 2)
    points["cache_control_injection_points"] = [{"location": "message", "role": "system"}]
    run(marked, points)
    assert [marks_of(body) for body in models.bodies] == [
        ["/messages/0/content/0"],
        ["/system/0"],
    ]
    assert ours.summary().calls == 2


def test_a_clock_is_told_once(
    ours: StemcacheCallback, models: FakeModels, told: list[Finding]
) -> None:
    """And nothing behind it is marked."""
    calls = []
    for number in range(3):
        one = call(models, number, model="openai/gpt-5.5")
        one["messages"] = chat(number, clock=True)["messages"]
        calls.append(one)
    run(*calls)
    assert ours.summary().calls == 3
    assert [one.code for one in told] == ["STM101"]


def test_sync_calls_are_seen_and_can_be_marked(ours: StemcacheCallback, models: FakeModels) -> None:
    """LiteLLM has no hook there, so the caller passes the keywords through ours."""
    litellm.completion(**call(models, 1))
    litellm.completion(**ours.placed(**call(models, 2)))
    litellm.utils.executor.submit(lambda: None).result(10)
    for _ in range(100):
        if ours.summary().calls == 2:
            break
    assert ours.summary().calls == 2
    assert [len(marks_of(body)) for body in models.bodies] == [0, 2]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("anthropic/claude-opus-5", {"cache_control": {"type": "ephemeral"}}),
        ("openai/gpt-5.6", {"prompt_cache_options": {"mode": "explicit"}}),
        ("openai/gpt-5.6", {"prompt_cache_options": {"mode": "implicit", "ttl": "12h"}}),
    ],
)
def test_what_a_call_says_of_the_cache_stays(
    ours: StemcacheCallback, model: str, said: dict[str, Any]
) -> None:
    """Beside its messages too: who asks for automatic marks, or for none, sees to them."""
    given = {"model": model, "messages": chat(1)["messages"], **said}
    assert ours.placed(**given) == given


def test_a_lifetime_alone_leaves_marks_to_us(ours: StemcacheCallback) -> None:
    """And is kept."""
    options = {"ttl": "12h"}
    made = ours.placed(
        model="openai/gpt-5.6", messages=chat(1)["messages"], prompt_cache_options=options
    )
    assert marks_of(made) == ["/messages/0/content/0"]
    assert made["prompt_cache_options"]["ttl"] == "12h"


def test_a_refusal_is_a_failed_call(ours: StemcacheCallback, models: FakeModels) -> None:
    """LiteLLM raises what it always does."""
    with pytest.raises(litellm.BadRequestError):
        run(call(models, 1, model="openai/gpt-5.5-refused"))

    async def later() -> None:
        await asyncio.sleep(0.5)

    asyncio.run(later())
    found = ours.summary()
    assert (found.calls, found.failed) == (1, 1)


def test_calls_are_recorded(models: FakeModels, tmp_path: Path) -> None:
    """What LiteLLM made for the provider, without a credential."""
    made = StemcacheCallback(output=tmp_path / "calls.jsonl")
    with in_place(made):
        run(call(models, 1), call(models, 2))
    lines = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
    assert [json.loads(line["request"]) for line in lines] == models.bodies
    assert all(line["scope"] and line["response"]["usage"] for line in lines)
    assert KEY not in (tmp_path / "calls.jsonl").read_text()


@pytest.mark.parametrize("kwargs", [{}, {"additional_args": 3}, {"messages": object()}])
def test_whatever_comes_breaks_nothing(ours: StemcacheCallback, kwargs: Any) -> None:
    """Callbacks of another version may be given anything."""
    ours.log_success_event(kwargs, object(), None, "yesterday")
    ours.log_failure_event(kwargs, None, None, None)
    assert asyncio.run(ours.async_pre_call_deployment_hook(kwargs, "acompletion")) in (
        {},
        None,
        kwargs,
    )
    assert ours.summary().calls == 0
