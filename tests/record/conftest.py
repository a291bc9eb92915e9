from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.record.fake_provider import FakeProvider, provider
from tests.record.live_proxy import NearProxy, near_proxy


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    """A provider of this test's own."""
    with provider() as running:
        yield running


@pytest.fixture
def live(fake: FakeProvider, tmp_path: Path) -> Iterator[NearProxy]:
    """A proxy in front of it."""
    with near_proxy(fake.url, tmp_path / "calls.jsonl") as running:
        yield running
