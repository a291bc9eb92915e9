"""What all frameworks' classes share, in a made-up framework, on a real client."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic

from stemcache.errors import UsageError
from stemcache.integrations.live_tell import CacheWarning
from stemcache.integrations.prompt_watch import PromptWatch
from stemcache.lint.finding import Finding
from stemcache.prompt.volatile.check import VolatileError
from tests.integrations.asked import CLOCKS, KEY, RULES
from tests.integrations.fake_models import FakeModels
from tests.integrations.marks import marks_of


class Middleware:
    """The framework's own class, which wants to be made too."""

    def __init__(self) -> None:
        self.made_by_the_framework = True


class Watching(PromptWatch, Middleware):
    """Ours, in that framework."""

    def call(self, client: Anthropic, system: str = RULES) -> None:
        """What the framework does with each request."""
        self._prepare([system], [client, None, object()])
        with self._marking():
            _send(client, system)


def _send(client: Anthropic, system: str) -> None:
    client.messages.create(
        model="claude-opus-5",
        max_tokens=9,
        system=system,
        messages=[{"role": "user", "content": "Hello"}],
    )


@pytest.fixture
def client(models: FakeModels) -> Iterator[Anthropic]:
    """A client of this test's own."""
    with Anthropic(base_url=models.url, api_key=KEY, max_retries=0) as made:
        yield made


@pytest.fixture
def made() -> Iterator[list[Watching]]:
    """Those that a test made; closed behind it."""
    every: list[Watching] = []
    yield every
    for one in every:
        one.close()


def _watching(made: list[Watching], **options: Any) -> Watching:
    made.append(Watching(**options))
    return made[-1]


def test_marks_are_placed_only_while_it_is_called(
    models: FakeModels, client: Anthropic, made: list[Watching]
) -> None:
    """The same client marks nothing elsewhere, and all calls are added up."""
    ours = _watching(made)
    assert ours.made_by_the_framework
    ours.call(client)
    _send(client, RULES)

    assert [bool(marks_of(body)) for body in models.bodies] == [True, False]
    assert ours.summary().calls == 2


def test_marks_may_be_left_out(models: FakeModels, client: Anthropic, made: list[Watching]) -> None:
    """To look only."""
    ours = _watching(made, marks=False)
    ours.call(client)

    assert marks_of(models.bodies[0]) == []
    assert ours.summary().calls == 1


def test_a_clock_is_refused_before_anything_is_sent(
    models: FakeModels, client: Anthropic, made: list[Watching]
) -> None:
    """Unless it is meant to be there."""
    clocked = f"It is {CLOCKS[1]}. {RULES}"
    with pytest.raises(VolatileError, match="an ISO time"):
        _watching(made, volatile="refuse").call(client, clocked)
    assert models.bodies == []

    _watching(made, volatile="refuse", allow=["clock"]).call(client, clocked)
    assert len(models.bodies) == 1


def test_a_clock_is_warned_of_once(client: Anthropic, made: list[Watching]) -> None:
    """By default; and not at all where that is asked for."""
    ours = _watching(made)
    with pytest.warns(CacheWarning, match="an ISO time"):
        ours.call(client, f"It is {CLOCKS[0]}. {RULES}")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours.call(client, f"It is {CLOCKS[1]}. {RULES}")
        _watching(made, volatile="allow").call(client, f"It is {CLOCKS[3]}. {RULES}")


def test_findings_are_told_and_calls_written(
    client: Anthropic, made: list[Watching], tmp_path: Path
) -> None:
    """As by `watch` of the clients, with the same options."""
    told: list[Finding] = []
    log = tmp_path / "calls.jsonl"
    ours = _watching(made, tell=told.append, output=log, volatile="allow")
    for clock in CLOCKS[:3]:
        ours.call(client, f"It is {clock}. {RULES}")

    assert ours.summary().calls == 3
    assert told
    ours.close()
    assert len(log.read_text(encoding="utf-8").splitlines()) == 3


def test_what_is_closed_listens_no_more(
    models: FakeModels, client: Anthropic, made: list[Watching]
) -> None:
    """Requests go out as the program made them."""
    ours = _watching(made)
    ours.call(client)
    ours.close()
    ours.call(client)

    assert [bool(marks_of(body)) for body in models.bodies] == [True, False]
    assert ours.summary().calls == 1
    assert ours.live.recorder.closed


def test_options_that_cannot_be_are_refused_when_it_is_made(tmp_path: Path) -> None:
    """With what there is."""
    with pytest.raises(UsageError, match="unknown policy 'refuze' from volatile; did you mean"):
        Watching(volatile="refuze")
    with pytest.raises(UsageError, match="nowhere"):
        Watching(output=tmp_path / "nowhere" / "calls.jsonl")
