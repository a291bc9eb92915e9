"""Anthropic's client, watched, with its forms for platforms."""

import asyncio
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic, AnthropicBedrock, AsyncAnthropic

from stemcache.errors import UsageError
from stemcache.integrations.anthropic_client import watch
from stemcache.integrations.live import Live
from stemcache.lint.finding import Finding
from stemcache.provider.resolve import resolve
from tests.integrations.asked import KEY, messages
from tests.integrations.fake_models import FakeModels
from tests.integrations.marks import marks_of


@pytest.fixture
def client(models: FakeModels) -> Iterator[Anthropic]:
    """A client of this test's own."""
    with Anthropic(base_url=models.url, api_key=KEY, max_retries=0) as made:
        yield made
        watch(made).unwatch()


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_calls_are_added_up(client: Anthropic, *, stream: bool) -> None:
    """Reads and writes as reported; what is read is what was written."""
    watched = watch(client)
    for number in range(4):
        if stream:
            with client.messages.stream(**messages(number)) as events:
                assert "".join(events.text_stream) == "Very well."
        else:
            client.messages.create(**messages(number))
    found = watched.summary()
    assert (found.calls, found.failed, found.findings) == (4, 0, ())
    assert found.cached_tokens
    assert found.written_tokens
    assert found.cached_tokens + found.written_tokens == found.prompt_tokens
    assert (found.hit_rate or 0) > 0.7
    assert found.report.total.rules == {"anthropic": 4}


def test_what_breaks_a_prefix_is_told_once_for_each_kind_of_prompt(client: Anthropic) -> None:
    """Two agents with a clock each: two warnings, however often they ask."""
    told: list[Finding] = []
    watched = watch(client, tell=told.append)
    for number in range(4):
        client.messages.create(**messages(number, clock=True))
        other = messages(number, clock=True)
        other["system"][0]["text"] = f"You plan. {other['system'][0]['text'][::-1]}"
        other["system"][0]["text"] += f"\nIt is {number + 10}:04:07"
        client.messages.create(**other)
    assert watched.summary().calls == 8
    assert len(told) == len({(one.code, one.location.pointer, one.location.char) for one in told})
    assert {one.code for one in told} >= {"STM101"}
    assert len(told) <= 3


def test_an_error_that_the_api_answers_is_a_failed_call(client: Anthropic) -> None:
    """The client raises what it always does."""
    watched = watch(client)
    with pytest.raises(anthropic.BadRequestError):
        client.messages.create(**messages(1, model="claude-opus-5-refused"))
    assert (watched.summary().calls, watched.summary().failed) == (1, 1)


def test_a_stream_that_is_left_counts(client: Anthropic) -> None:
    """Its prompt was written: usage of a prompt comes first."""
    watched = watch(client)
    with client.messages.stream(**messages(1, model="claude-opus-5-endless")) as events:
        next(iter(events.text_stream))
    found = watched.summary()
    assert (found.calls, found.failed) == (1, 0)
    assert found.written_tokens


def test_the_async_client_is_watched(models: FakeModels) -> None:
    """Plain and streamed."""

    async def main() -> Any:
        async with AsyncAnthropic(base_url=models.url, api_key=KEY) as client:
            watched = watch(client)
            await client.messages.create(**messages(1))
            async with client.messages.stream(**messages(2)) as events:
                await events.get_final_message()
            found = watched.summary()
            watched.unwatch()
            return found

    found = asyncio.run(main())
    assert found.calls == 2
    assert found.cached_tokens


def test_bedrocks_form_is_watched(models: FakeModels) -> None:
    """Signed, with the model in the path, and judged by Bedrock's rule where the host tells."""
    pytest.importorskip("botocore")
    client = AnthropicBedrock(
        base_url=models.url, aws_region="eu-west-1", aws_access_key="AKIA0", aws_secret_key="s3"
    )
    with client, watch(client) as watched:
        client.messages.create(**messages(1, model="anthropic.claude-opus-5-v1:0"))
        client.messages.create(**messages(2, model="anthropic.claude-opus-5-v1:0"))
    found = watched.summary()
    assert (found.calls, found.failed) == (2, 0)
    assert found.cached_tokens
    assert set(found.report.total.rules) == {
        _rule_name("anthropic.claude-opus-5-v1:0"),
    }


def _rule_name(model: str) -> str:
    book = Live()._book
    found = resolve(
        book, provider=None, host="127.0.0.1", model=model, api=None, marked=True, aliases={}
    )
    return "" if found.rule is None else found.rule.name


@pytest.mark.parametrize("value", [None, "client", anthropic])
def test_what_is_no_client_is_said_to_be_none(value: Any) -> None:
    """With its class, and what to give."""
    with pytest.raises(UsageError, match=r"is no client of anthropic; give an Anthropic"):
        watch(value)


def test_marks_are_placed_where_they_are_asked_for(models: FakeModels) -> None:
    """Behind the rules for an hour, and at the end; then the next call reads them."""
    with Anthropic(base_url=models.url, api_key=KEY) as client, watch(client, marks=True) as ours:
        for number in range(2):
            body = messages(number)
            del body["system"][0]["cache_control"]
            client.messages.create(**body)
        with_own = messages(3)
        client.messages.create(**with_own)
    assert [marks_of(body) for body in models.bodies] == [
        ["/messages/0/content/0", "/system/0"],
        ["/messages/0/content/0", "/system/0"],
        ["/system/0"],
    ]
    assert ours.summary().cached_tokens


def test_what_is_signed_is_not_changed(models: FakeModels) -> None:
    """A signature covers the body."""
    pytest.importorskip("botocore")
    client = AnthropicBedrock(
        base_url=models.url, aws_region="eu-west-1", aws_access_key="AKIA0", aws_secret_key="s3"
    )
    body = messages(1, model="anthropic.claude-opus-5-v1:0")
    del body["system"][0]["cache_control"]
    with client, watch(client, marks=True):
        client.messages.create(**body)
    assert marks_of(models.bodies[0]) == []
